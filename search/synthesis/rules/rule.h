#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/synthesis/rules/state_facts.h"
#include "search/synthesis/state.h"

namespace opsmith::synthesis {

/// A move that the enumerator is about to offer.
struct Proposal {
  Space& space;
  const State& state;
  const Move& move;
  const StateFacts& facts;

  bool is(Move::Kind kind) const { return move.kind == kind; }
};

/// A rule of the canonical form: forbids moves whose results are reached in another way.
struct Rule {
  /// What a search loses by a rule.
  enum class Loss : uint8_t {
    Nothing,      ///< an equal operator, of no more primitives, remains
    Approximate,  ///< one remains that is the same but for borders or the order of channels
    Quality,      ///< operators that discard or repeat data, or waste parameters, are dropped
  };
  std::string name;
  std::string reason;
  std::vector<Move::Kind> kinds;  ///< of the moves that it looks at
  Loss loss = Loss::Nothing;
  bool (*forbids)(const Proposal& proposal) = nullptr;
  /// Where `forbids` holds for every contraction that moves one of certain dimensions: those, so
  /// that the others alone are enumerated. Each is counted once for a state then.
  uint16_t (*never_moved)(const StateFacts& facts) = nullptr;
};

/// All rules, in the order in which they are asked. Adding a rule is a function and a line in the
/// file of its primitive.
const std::vector<Rule>& rules();

// The rules by the primitive that they forbid, one file each.
std::vector<Rule> general_rules();
std::vector<Rule> merge_rules();
std::vector<Rule> split_rules();
std::vector<Rule> unfold_rules();
std::vector<Rule> shift_rules();
std::vector<Rule> stride_rules();
std::vector<Rule> expand_rules();
std::vector<Rule> contraction_rules();

}  // namespace opsmith::synthesis
