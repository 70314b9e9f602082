#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "search/synthesis/sampler.h"

namespace opsmith::synthesis {

/// Constants of the search, as in Syno's implementation.
struct TreeSearchOptions {
  uint64_t seed = 1;
  double exploration = 5.656854249492381;  ///< 4 * sqrt(2), before the tuned square root
  double widening = 0.8;                   ///< children revealed: visits to this power
  double virtual_loss = 0.3;               ///< off the mean for each evaluation under way
  double guided = 0.7;                     ///< share of guidance, against chance, in revealing
  double trust = 3;                        ///< visits at which a child's own mean counts as half
};

/// Monte Carlo tree search for operators with a high reward (Syno, section 7.2). Levels alternate
/// between the kind of primitive and its instance; both are chosen by UCB1-tuned. An instance is
/// revealed (progressive widening) by its own mean, by that of the same move anywhere in the
/// search (all moves as first) and by chance. States reached in two ways share their statistics.
///
/// `ask` and `tell` may be called by several threads: rewards are found outside of the lock, and
/// what is under way is held against its path (virtual loss).
class TreeSearch {
 public:
  TreeSearch(const Problem& problem, const Limits& limits, const TreeSearchOptions& options);
  ~TreeSearch();

  struct Ticket {
    Sample sample;
    uint64_t number = 0;
  };
  /// The next operator to evaluate; nothing once the space is exhausted or when this many
  /// descents in a row end dead. An operator is asked for once; meeting it again repeats its
  /// reward by itself.
  std::optional<Ticket> ask(int descents = 10000);
  /// Its reward, in [0, 1].
  void tell(const Ticket& ticket, double reward);

  /// Operators told so far with their rewards, in the order of `ask`.
  struct Evaluated {
    uint64_t hash = 0;
    double reward = 0;
  };
  std::vector<Evaluated> evaluated() const;
  uint64_t descents() const;

  /// All that the search has learnt, as JSON. What is under way is not in it: it would be asked
  /// for again. A search made with the same problem, limits and options goes on from there as
  /// the one that was saved would. Throws UserError when the text does not fit.
  std::string save() const;
  void load(const std::string& text);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// ((max(accuracy, low) - low) / (high - low))^4: what is barely better counts for little.
double accuracy_reward(double accuracy, double low, double high);

}  // namespace opsmith::synthesis
