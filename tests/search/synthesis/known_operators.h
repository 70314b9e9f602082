#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "search/synthesis/enumerator.h"
#include "search/synthesis/operator.h"

namespace opsmith::synthesis::testing {

/// Grows an operator step by step as a search would, and notes the first step that the enumerator
/// does not offer.
class Script {
 public:
  explicit Script(Space& space) : space_(space), enumerator_(space), state(space.root()) {}

  const Dimension* output(const std::string& name) {
    const auto& axes = space_.problem().output;
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i].name == name)
        return space_.dimensions().iterator(static_cast<int>(i), size(to_string(axes[i].size)),
                                            axes[i].ordered);
    return nullptr;
  }

  /// Reductions of these extents in the order in which the search makes them.
  std::map<std::string, std::vector<const Dimension*>> reduce(std::vector<std::string> extents) {
    const auto rank = [&](const std::string& text) {
      return std::find(space_.extents().begin(), space_.extents().end(), size(text));
    };
    std::stable_sort(extents.begin(), extents.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    std::map<std::string, std::vector<const Dimension*>> made;
    for (const std::string& extent : extents) {
      const int number = state.count(Move::Kind::Reduce);
      step({.kind = Move::Kind::Reduce, .size = size(extent)});
      made[extent].push_back(space_.dimensions().reduce(number, size(extent)));
    }
    return made;
  }

  const Dimension* split(const Dimension* outer, const Dimension* inner) {
    step({.kind = Move::Kind::Split, .first = outer, .second = inner});
    return space_.dimensions().split(outer, inner);
  }
  std::pair<const Dimension*, const Dimension*> merge(const Dimension* source,
                                                      const std::string& block) {
    step({.kind = Move::Kind::Merge, .first = source, .size = size(block)});
    return {space_.dimensions().merge_outer(source, size(block)),
            space_.dimensions().merge_inner(source, size(block))};
  }
  const Dimension* shift(const Dimension* source) {
    step({.kind = Move::Kind::Shift, .first = source});
    return space_.dimensions().shift(source);
  }
  const Dimension* unfold(const Dimension* position, const Dimension* window) {
    step({.kind = Move::Kind::Unfold, .first = position, .second = window});
    return space_.dimensions().unfold(position, window);
  }
  const Dimension* stride(const Dimension* source, const std::string& by) {
    step({.kind = Move::Kind::Stride, .first = source, .size = size(by)});
    return space_.dimensions().stride(source, size(by));
  }
  /// The shared dimensions as the data goes on with them.
  std::vector<const Dimension*> contract(const std::vector<const Dimension*>& shared,
                                         const std::vector<const Dimension*>& moved) {
    Move move{.kind = Move::Kind::Contract};
    for (const Dimension* d : shared)
      move.shared = static_cast<uint16_t>(move.shared | 1u << state.data.find(d));
    for (const Dimension* d : moved)
      move.moved = static_cast<uint16_t>(move.moved | 1u << state.data.find(d));
    const int weight = state.weight_count;
    step(move);
    std::vector<const Dimension*> on;
    for (const Dimension* d : shared) on.push_back(space_.dimensions().share(d, weight));
    return on;
  }

  /// The finished operator; the first match to the input.
  FoundOperator finish() {
    const auto found = matches(space_, state);
    if (found.empty()) {
      refused = refused.empty() ? "the end" : refused;
      return {};
    }
    return synthesis::finish(space_, state, found[0]);
  }

  const SizeInfo* size(const std::string& text) {
    return space_.sizes().find(substitute::parse_size(text));
  }

 private:
  void step(const Move& move) {
    const auto offered = enumerator_.moves(state, move.kind);
    if (std::find(offered.begin(), offered.end(), move) == offered.end() && refused.empty()) {
      refused = "step " + std::to_string(state.depth + 1) + ", " + to_string(move.kind);
      for (const Rule* rule : enumerator_.broken_rules(state, move)) refused += ", " + rule->name;
    }
    moves.push_back(move);
    state = space_.apply(state, move);
  }

  Space& space_;
  Enumerator enumerator_;

 public:
  State state;
  std::vector<Move> moves;
  std::string refused;  ///< empty while every step was offered
};

inline FoundOperator convolution(Script& script) {
  auto r = script.reduce({"C_in", "k", "k"});
  const auto on = script.contract({r["C_in"][0], r["k"][0], r["k"][1]}, {script.output("o")});
  script.unfold(script.output("h"), on[1]);
  script.unfold(script.output("w"), on[2]);
  return script.finish();
}

inline FoundOperator grouped_convolution(Script& script) {
  auto r = script.reduce({"C_in/g", "k", "k"});
  const auto [group, rest] = script.merge(script.output("o"), "C_out/g");
  const Dimension* channel = script.split(group, r["C_in/g"][0]);
  const auto on = script.contract({channel, r["k"][0], r["k"][1]}, {rest});
  script.unfold(script.output("h"), on[1]);
  script.unfold(script.output("w"), on[2]);
  return script.finish();
}

/// Syno, section 9.2.
inline FoundOperator syno_operator_1(Script& script) {
  auto r = script.reduce({"g", "k", "k", "C_out/(g*s)", "C_in/g"});
  const auto on =
      script.contract({r["g"][0], r["k"][0], r["k"][1], r["C_out/(g*s)"][0]}, {script.output("o")});
  const Dimension* channel = script.split(on[0], r["C_in/g"][0]);
  script.unfold(script.output("h"), on[1]);
  const auto again = script.contract({channel, on[2]}, {on[3]});
  script.unfold(script.output("w"), again[1]);
  return script.finish();
}

/// Syno, section 9.2.
inline FoundOperator syno_operator_2(Script& script) {
  auto r = script.reduce({"g", "k", "k", "C_out/(g*s)", "C_in/g"});
  const auto on =
      script.contract({r["g"][0], r["k"][0], r["C_out/(g*s)"][0]}, {script.output("o")});
  const Dimension* channel = script.split(on[0], r["C_in/g"][0]);
  script.shift(script.unfold(script.output("h"), on[1]));
  const auto again = script.contract({channel, r["k"][1]}, {on[2]});
  script.unfold(script.output("w"), again[1]);
  return script.finish();
}

}  // namespace opsmith::synthesis::testing
