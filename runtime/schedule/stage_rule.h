#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/schedule/register_tile.h"
#include "runtime/schedule/rule_knobs.h"
#include "runtime/schedule/schedule.h"
#include "runtime/schedule/stage_analysis.h"

namespace opsmith::schedule {

/// Writes the default directives of one stage; the rules are in docs/schedules.md.
class StageRule {
 public:
  StageRule(const StageAnalysis& analysis, const Target& target, Schedule& schedule,
            const RuleKnobs& knobs = {})
      : analysis_(analysis), target_(target), schedule_(schedule), knobs_(knobs) {}

  void write();

  /// The weight in the order in which the written schedule walks through it.
  Layout packed(const StageAnalysis::Access& weight) const;

 private:
  /// Reductions are walked in blocks as long as those of blocked channels.
  int64_t reduction_block() const {
    return knobs_.reduction_block > 0 ? knobs_.reduction_block : 16;
  }
  /// Multiply-adds in one unrolled loop body: bounded by the instruction cache and compile time.
  int64_t body_budget() const { return knobs_.body > 0 ? knobs_.body : 448; }
  /// The tile with what the knobs say of it, as far as registers allow.
  void turn_knobs(const TileProblem& problem, RegisterTile& tile) const;

  /// An output loop outside the reduction.
  struct OuterLoop {
    std::string name;
    int64_t extent = 1;
    bool divisible = true;  ///< may be split again: no shorter last iteration hangs on it
  };

  const LoopAxis& axis(int i) const { return analysis_.axes()[static_cast<size_t>(i)]; }
  int axis_count() const { return static_cast<int>(analysis_.axes().size()); }

  void add(const std::string& kind, std::vector<std::string> axes, int64_t factor = 0,
           const std::string& argument = "") {
    schedule_.directives.push_back(
        {kind, analysis_.stage().name, std::move(axes), factor, argument});
  }

  /// Splits a loop and returns the names of its parts.
  std::pair<std::string, std::string> split(const std::string& name, int64_t factor);

  /// Loops of one iteration go outside, where they part no neighbours.
  void fuse_axes();

  int64_t lanes() const {
    const size_t size = std::max<size_t>(
        {4, element_size(analysis_.stage().type), element_size(analysis_.stage().accumulation)});
    return target_.lanes(static_cast<int64_t>(size));
  }

  /// The axis whose lanes are used best and whose reads need the fewest single loads.
  void choose_vector_axis();

  /// Partial sums in lanes, for a tile of outputs that share loaded vectors, or several vectors of
  /// them for one output.
  void tile_reduction();

  /// Whether a read that leaves its tensor depends on this axis: such reads need a test for each
  /// point of a tile, but none when the loop around them can be cut short.
  bool is_guarded(const LoopAxis& candidate) const;

  void tile_outputs();

  /// How many vectors, up to `most`, may be tiled together so that no tile reaches from one group
  /// of a grouped convolution into the next.
  std::vector<int64_t> vectors_of_one_group(int64_t most) const;

  bool moves(const StageAnalysis::Access& access, int i) const {
    return i >= 0 && analysis_.movement(access, axis(i), lanes()) != Movement::Still;
  }

  void write_output_tile(const RegisterTile& tile, int row, int column);

  /// The longest reduction axis is unrolled as far as the body may grow, innermost; loops that
  /// boundary tests can cut short stay loops.
  void write_reduction(int64_t points);

  /// The outer loops whose iterations are tasks; a long one whose iterations are too small for
  /// tasks of their own is split.
  std::vector<std::string> choose_tasks();

  /// Whether some output axis finds the same elements of this read again.
  bool is_used_again(const StageAnalysis::Access& access) const;

  /// Blocks of the vector axis go outside the points when what they read again and again (weights)
  /// is too large to stay in the second-level cache, else inside. Where they read elements of their
  /// own (depthwise, pooling, element-wise), they go between rows: the next stage finds each row on
  /// the core that made it, and each block still walks through memory evenly.
  void place_vector_blocks();

  /// Output loops outside, then the reduction, then the tile.
  void order_loops();

  StageAnalysis analysis_;
  const Target& target_;
  Schedule& schedule_;
  RuleKnobs knobs_;
  int vector_ = -1;   ///< number of the vectorized axis
  int longest_ = -1;  ///< number of the reduction axis that is unrolled
  /// Taps of the window are walked through innermost, so that they share what is loaded.
  bool taps_inside_ = false;
  int64_t vector_block_ = 1;
  std::vector<OuterLoop> outer_loops_;
  size_t vector_outer_ = 0;  ///< place of the vector axis' blocks in outer_loops_
  std::vector<std::string> reduction_loops_;
  std::vector<std::string> unrolled_;
  std::vector<std::string> tile_loops_;
  std::string vector_loop_;
};

}  // namespace opsmith::schedule
