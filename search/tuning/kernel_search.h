#pragma once

#include <map>
#include <string>

#include "search/tuning/candidate.h"
#include "search/tuning/kernel_bench.h"
#include "support/timing.h"

namespace opsmith::search {

/// The search for one kernel: the rule's choice, the other variants and transferred schedules, then
/// steps from the best to a neighbour.
class KernelSearch {
 public:
  KernelSearch(const schedule::KernelProblem& problem,
               std::shared_ptr<schedule::KernelProvider> provider,
               schedule::ScheduleDatabase& database, schedule::Target target,
               const schedule::ChoiceRules& rules, uint64_t seed);

  /// Goes on for about so long; stops early when many steps in a row were no better.
  void run(double seconds);

  /// Measures the best once more against the rule's choice, longer, and notes the result: chance
  /// must not have chosen it.
  void confirm();

  bool exhausted() const { return failures_ >= kMostFailures; }
  const std::string& rule_variant() const { return rule_.variant.name; }
  const std::string& best_variant() const { return best_choice_.variant.name; }
  double rule_seconds() const { return rule_seconds_; }
  double best_seconds() const { return best_seconds_; }
  int64_t measured() const { return measured_; }

 private:
  static constexpr int kMostFailures = 40;

  /// Where a candidate came from: a point of the space, or a schedule of other parameters.
  struct Candidate {
    schedule::KernelChoice choice;
    std::optional<TuningPoint> point;
  };
  /// Seconds of a candidate, from the database or measured; nullopt where it does not fit.
  std::optional<double> seconds_of(const schedule::KernelChoice& choice);
  bool consider(Candidate candidate);
  void note(const schedule::KernelChoice& choice, double seconds, const std::string& how);
  bool start();

  const schedule::KernelProblem& problem_;
  schedule::ScheduleDatabase& database_;
  schedule::Target target_;
  schedule::ChoiceRules rules_;
  KernelBench bench_;
  Random random_;
  schedule::ScheduleKey key_;
  std::string how_;  ///< how times were measured
  std::map<std::string, double> known_;
  schedule::KernelChoice rule_, best_choice_;
  std::function<void()> run_rule_;
  std::vector<Candidate> waiting_;  ///< to be tried before neighbours
  std::optional<TuningPoint> best_point_;
  double rule_seconds_ = 0, best_seconds_ = 0;
  int64_t measured_ = 0;
  int failures_ = 0;
};

}  // namespace opsmith::search
