#include <algorithm>
#include <cmath>

#include "runtime/schedule/register_tile.h"
#include "runtime/schedule/schedule.h"
#include "runtime/schedule/stage_analysis.h"

namespace opsmith::schedule {
namespace {

/// Work (element operations) below which starting threads costs more than it saves.
constexpr int64_t kWorthThreads = 32768;
/// Tasks enough to balance a few threads.
constexpr int64_t kEnoughTasks = 16;
/// Operations that make a task worth its start.
constexpr int64_t kTaskWork = 4096;
/// Multiply-adds in one unrolled loop body: bounded by the instruction cache and compile time.
constexpr int64_t kBodyBudget = 448;
/// Points of a tile that share nothing (depthwise convolution, pooling).
constexpr int64_t kUnsharedPoints = 8;
/// Outputs along each of two axes whose lane-wise sums are kept at once.
constexpr int64_t kReductionTile = 4;
/// Reductions are walked in blocks as long as those of blocked channels.
constexpr int64_t kReductionBlock = 16;

/// Writes the directives of one stage.
class StageRule {
 public:
  StageRule(const StageAnalysis& analysis, const Target& target, Schedule& schedule)
      : analysis_(analysis), target_(target), schedule_(schedule) {}

  void write() {
    if (analysis_.stage().scatters() || analysis_.output_volume() == 0) return;
    fuse_axes();
    choose_vector_axis();
    if (vector_ >= 0 && axis(vector_).reduction) {
      tile_reduction();
    } else {
      tile_outputs();
    }
    order_loops();
  }

  /// The weight in the order in which the written schedule walks through it.
  Layout packed(const StageAnalysis::Access& weight) const {
    const Layout plain = Layout::row_major(weight.shape.size());
    if (vector_ < 0 || axis(vector_).reduction || axis(vector_).parts.size() != 1) return plain;
    const auto dimension_of = [&](const std::string& name) {
      for (size_t d = 0; d < weight.indices.size(); ++d) {
        if (weight.indices[d] == expression::Index::iterator(name)) return static_cast<int>(d);
      }
      return -1;
    };
    const int vector_dimension = dimension_of(axis(vector_).name);
    if (vector_dimension < 0) return plain;
    Layout layout;
    layout.order.push_back({vector_dimension, 0});
    std::vector<bool> placed(weight.shape.size(), false);
    placed[static_cast<size_t>(vector_dimension)] = true;
    const auto place = [&](int dimension) {
      if (dimension < 0 || placed[static_cast<size_t>(dimension)]) return;
      placed[static_cast<size_t>(dimension)] = true;
      layout.order.push_back({dimension, 0});
    };
    int blocked = -1;
    if (longest_ >= 0 && axis(longest_).extent > kReductionBlock) {
      for (const LoopAxis::Part& part : axis(longest_).parts) place(dimension_of(part.name));
      if (axis(longest_).parts.size() == 1) blocked = dimension_of(axis(longest_).name);
    }
    for (const LoopAxis& other : analysis_.axes()) {
      if (!other.reduction || (longest_ >= 0 && other.name == axis(longest_).name)) continue;
      for (const LoopAxis::Part& part : other.parts) place(dimension_of(part.name));
    }
    for (size_t d = 0; d < placed.size(); ++d) place(static_cast<int>(d));
    if (blocked >= 0) layout.order.push_back({blocked, kReductionBlock});
    const int64_t block =
        std::min(vector_block_, (axis(vector_).extent + lanes() - 1) / lanes() * lanes());
    layout.order.push_back({vector_dimension, block});
    return layout;
  }

 private:
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
  std::pair<std::string, std::string> split(const std::string& name, int64_t factor) {
    const std::pair<std::string, std::string> parts = {name + ".o", name + ".i"};
    add("split", {name, parts.first, parts.second}, factor);
    return parts;
  }

  /// Loops of one iteration go outside, where they part no neighbours.
  void fuse_axes() {
    if (!analysis_.unit_axes().empty() && analysis_.axes().size() > 1) {
      std::vector<std::string> order;
      for (const LoopAxis& unit : analysis_.unit_axes()) order.push_back(unit.name);
      for (const LoopAxis& other : analysis_.axes()) order.push_back(other.name);
      add("reorder", order);
    }
    for (size_t i = analysis_.axes().size(); i-- > 1;) {
      const LoopAxis& outer = analysis_.axes()[i - 1];
      const LoopAxis& inner = analysis_.axes()[i];
      if (!analysis_.fusable(outer, inner)) continue;
      add("fuse", {outer.name, inner.name}, 0, outer.name + "*" + inner.name);
      analysis_.fuse(i - 1);
    }
  }

  int64_t lanes() const {
    const size_t size = std::max<size_t>(
        {4, element_size(analysis_.stage().type), element_size(analysis_.stage().accumulation)});
    return target_.lanes(static_cast<int64_t>(size));
  }

  /// The axis whose lanes are used best and whose reads need the fewest single loads.
  void choose_vector_axis() {
    double best = 1.2;
    for (int i = 0; i < axis_count(); ++i) {
      const LoopAxis& candidate = axis(i);
      if (candidate.extent < 2) continue;
      const int64_t width = lanes();
      const int64_t vectors = (candidate.extent + width - 1) / width;
      double cost = 1;
      for (const StageAnalysis::Access& access : analysis_.accesses()) {
        const Movement movement = analysis_.movement(access, candidate, width);
        const double share =
            access.in_body ? 1.0 : 1.0 / static_cast<double>(analysis_.reduction_volume());
        if (access.write && candidate.reduction) continue;
        if (movement == Movement::Elsewhere) cost += 4 * share;
        if (movement == Movement::Still && access.write) cost += 4 * share;
      }
      if (candidate.reduction) {
        cost += 0.25 + 4.0 * static_cast<double>(width) /
                           static_cast<double>(analysis_.reduction_volume());
      }
      const double gain =
          static_cast<double>(candidate.extent) / static_cast<double>(vectors) / cost;
      if (gain > best * 1.001) {
        best = gain;
        vector_ = i;
      }
    }
  }

  /// Partial sums in lanes, for a tile of outputs that share loaded vectors, or several vectors of
  /// them for one output.
  void tile_reduction() {
    const int64_t width = lanes();
    std::vector<std::string> output_tiles;
    for (int i = axis_count(); i-- > 0;) {
      if (axis(i).reduction) continue;
      const bool shares = std::any_of(
          analysis_.accesses().begin(), analysis_.accesses().end(), [&](const auto& access) {
            return access.in_body && moves(access, vector_) && !moves(access, i);
          });
      const bool tiled = shares && axis(i).extent >= kReductionTile && output_tiles.size() < 2 &&
                         !is_guarded(axis(i));
      if (tiled) {
        const auto [outer, inner] = split(axis(i).name, kReductionTile);
        output_tiles.insert(output_tiles.begin(), inner);
        outer_loops_.insert(outer_loops_.begin(),
                            OuterLoop{outer, (axis(i).extent + kReductionTile - 1) / kReductionTile,
                                      axis(i).extent % kReductionTile == 0});
      } else {
        outer_loops_.insert(outer_loops_.begin(), OuterLoop{axis(i).name, axis(i).extent, true});
      }
    }
    const bool several = output_tiles.empty() && axis(vector_).extent >= 8 * width;
    const auto [outer, inner] = split(axis(vector_).name, width * (several ? 4 : 1));
    const auto [tiled, vector] = split(inner, width);
    for (int i = 0; i < axis_count(); ++i) {
      if (i != vector_ && axis(i).reduction) reduction_loops_.push_back(axis(i).name);
    }
    reduction_loops_.push_back(outer);
    tile_loops_ = output_tiles;
    tile_loops_.push_back(tiled);
    vector_loop_ = vector;
  }

  /// Whether a read that leaves its tensor depends on this axis: such reads need a test for each
  /// point of a tile, but none when the loop around them can be cut short.
  bool is_guarded(const LoopAxis& candidate) const {
    std::vector<std::string> guarded;
    for (const StageAnalysis::Access& access : analysis_.accesses()) {
      if (!access.write) analysis_.leaves(access, &guarded);
    }
    return std::any_of(candidate.parts.begin(), candidate.parts.end(), [&](const auto& part) {
      return std::find(guarded.begin(), guarded.end(), part.name) != guarded.end();
    });
  }

  void tile_outputs() {
    const int64_t width = lanes();
    const bool reduces = analysis_.stage().reduction != expression::Reduction::None;
    // Points: the innermost output axes beside the vector axis.
    int column = -1;
    int row = -1;
    for (int i = axis_count(); i-- > 0;) {
      if (i == vector_ || axis(i).reduction || axis(i).extent < 2 || is_guarded(axis(i))) continue;
      if (column < 0) {
        column = i;
      } else if (row < 0) {
        row = i;
      }
    }
    TileProblem problem;
    problem.registers = target_.vector_registers;
    problem.shares_vectors = false;
    problem.shares_scalars = vector_ < 0;
    if (vector_ >= 0) problem.vectors = (axis(vector_).extent + width - 1) / width;
    if (reduces && column >= 0) {
      // The column axis should be one along which vectors are used again.
      const auto shares = [&](int i) {
        return std::any_of(analysis_.accesses().begin(), analysis_.accesses().end(),
                           [&](const StageAnalysis::Access& access) {
                             return access.in_body && moves(access, vector_) && !moves(access, i);
                           });
      };
      for (int i = axis_count(); i-- > 0;) {
        if (i == vector_ || axis(i).reduction || axis(i).extent < 2 || is_guarded(axis(i)))
          continue;
        if (shares(i) && (!shares(column) || (axis(column).extent < 4 && axis(i).extent > 4))) {
          column = i;
        }
      }
      if (row == column) row = -1;
      if (row >= 0 && !shares(row)) row = -1;
      problem.shares_vectors = shares(column);
      problem.shares_scalars = true;
      for (const StageAnalysis::Access& access : analysis_.accesses()) {
        if (access.in_body && moves(access, vector_) && moves(access, column)) {
          problem.shares_scalars = false;
        }
      }
      // Reads put together from several places keep what they are made of in registers too.
      const bool gathers = std::any_of(
          analysis_.accesses().begin(), analysis_.accesses().end(), [&](const auto& access) {
            return access.in_body && vector_ >= 0 &&
                   analysis_.movement(access, axis(vector_), width) == Movement::Elsewhere;
          });
      if (gathers) problem.registers = problem.registers / 2 - 2;
      problem.columns = axis(column).extent;
      if (row >= 0) problem.rows = axis(row).extent;
    }
    RegisterTile tile;
    if (reduces) {
      if (column >= 0 && !problem.shares_vectors) {
        // More points only hide latency, more vectors only add loads.
        problem.vectors = 1;
        problem.registers = std::min<int64_t>(problem.registers, kUnsharedPoints + 2);
      }
      tile = choose_tile(problem);
    } else {
      for (const int64_t vectors : {4, 2}) {
        if (vector_ < 0 || axis(vector_).extent % (vectors * width) != 0 || tile.vectors > 1) {
          continue;
        }
        // Only where the next vector lies behind this one, not in another block.
        if (analysis_.movement(analysis_.write(), axis(vector_), vectors * width) ==
            Movement::NextElement) {
          tile.vectors = vectors;
        }
      }
    }
    write_output_tile(tile, row, column);
    write_reduction(tile.rows * tile.columns * tile.vectors);
  }

  bool moves(const StageAnalysis::Access& access, int i) const {
    return i >= 0 && analysis_.movement(access, axis(i), lanes()) != Movement::Still;
  }

  void write_output_tile(const RegisterTile& tile, int row, int column) {
    const int64_t width = lanes();
    std::string column_tile;
    std::string row_tile;
    std::string vector_tile;
    for (int i = 0; i < axis_count(); ++i) {
      if (axis(i).reduction) continue;
      const int64_t extent = axis(i).extent;
      if (i == vector_) {
        const auto [outer, inner] = split(axis(i).name, width * tile.vectors);
        const int64_t block = std::min(extent, width * tile.vectors);
        vector_block_ = width * tile.vectors;
        vector_loop_ = inner;
        if (tile.vectors > 1) {
          const auto [tiled, vector] = split(inner, width);
          vector_tile = tiled;
          vector_loop_ = vector;
        }
        vector_outer_ = outer_loops_.size();
        outer_loops_.push_back({outer, (extent + block - 1) / block, extent % block == 0});
      } else if ((i == column && tile.columns > 1) || (i == row && tile.rows > 1)) {
        const int64_t factor = i == column ? tile.columns : tile.rows;
        const auto [outer, inner] = split(axis(i).name, factor);
        (i == column ? column_tile : row_tile) = inner;
        outer_loops_.push_back({outer, (extent + factor - 1) / factor, extent % factor == 0});
      } else {
        outer_loops_.push_back({axis(i).name, extent, true});
      }
    }
    for (const std::string& name : {row_tile, column_tile, vector_tile}) {
      if (!name.empty()) tile_loops_.push_back(name);
    }
  }

  /// The longest reduction axis is unrolled as far as the body may grow, innermost; loops that
  /// boundary tests can cut short stay loops.
  void write_reduction(int64_t points) {
    int& longest = longest_;
    for (int i = 0; i < axis_count(); ++i) {
      if (!axis(i).reduction || is_guarded(axis(i))) continue;
      if (longest < 0 || axis(i).extent > axis(longest).extent) longest = i;
    }
    int64_t budget = std::max<int64_t>(kBodyBudget / points, 1);
    std::vector<std::string> inner;
    for (int i = 0; i < axis_count(); ++i) {
      if (!axis(i).reduction) continue;
      if (i != longest) {
        reduction_loops_.push_back(axis(i).name);
        continue;
      }
      std::string name = axis(i).name;
      int64_t extent = axis(i).extent;
      if (extent > kReductionBlock) {
        const auto [outer, rest] = split(name, kReductionBlock);
        reduction_loops_.insert(reduction_loops_.begin(), outer);
        name = rest;
        extent = kReductionBlock;
      }
      int64_t copies = 1;
      while (copies * 2 <= budget && copies < extent) copies *= 2;
      if (copies >= extent) {
        inner.push_back(name);
      } else if (copies > 1) {
        const auto [outer, rest] = split(name, copies);
        inner.push_back(outer);
        inner.push_back(rest);
      } else {
        inner.push_back(name);
      }
      if (copies > 1) unrolled_.push_back(inner.back());
      budget /= std::max<int64_t>(std::min(copies, extent), 1);
    }
    // Short loops that are left (windows) are unrolled too where that still fits.
    for (size_t i = reduction_loops_.size(); i-- > 0;) {
      for (int a = 0; a < axis_count(); ++a) {
        if (axis(a).name != reduction_loops_[i] || is_guarded(axis(a)) || a == longest) continue;
        if (axis(a).extent <= budget && axis(a).extent > 1 && inner.empty() == false) {
          unrolled_.push_back(axis(a).name);
          budget /= axis(a).extent;
        }
      }
    }
    reduction_loops_.insert(reduction_loops_.end(), inner.begin(), inner.end());
  }

  /// The outer loops whose iterations are tasks; a long one whose iterations are too small for
  /// tasks of their own is split.
  std::vector<std::string> choose_tasks() {
    std::vector<std::string> parallel;
    int64_t work = analysis_.output_volume() * analysis_.reduction_volume();
    if (work < kWorthThreads) return parallel;
    int64_t tasks = 1;
    for (size_t i = 0; i < outer_loops_.size() && tasks < kEnoughTasks; ++i) {
      const OuterLoop loop = outer_loops_[i];
      const int64_t wanted = (2 * kEnoughTasks + tasks - 1) / tasks;
      work /= std::max<int64_t>(loop.extent, 1);
      if (loop.divisible && loop.extent > 2 * wanted && work < kTaskWork) {
        const int64_t factor = (loop.extent + wanted - 1) / wanted;
        const auto [outer, inner] = split(loop.name, factor);
        outer_loops_[i] = {outer, wanted, false};
        outer_loops_.insert(outer_loops_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                            OuterLoop{inner, factor, false});
        parallel.push_back(outer);
        return parallel;
      }
      parallel.push_back(loop.name);
      tasks *= loop.extent;
    }
    return parallel;
  }

  /// Output loops outside, then the reduction, then the tile. Blocks of the vector axis go outside
  /// the points when a read over them is too large to stay in the second-level cache.
  void order_loops() {
    if (vector_ >= 0 && !axis(vector_).reduction) {
      int64_t bytes = 0;
      for (const StageAnalysis::Access& access : analysis_.accesses()) {
        if (!access.in_body || !moves(access, vector_)) continue;
        bytes = std::max(bytes, element_count(access.shape) * 4);
      }
      const int64_t level2 = target_.cache_bytes.size() > 1 ? target_.cache_bytes[1] : 512 << 10;
      const auto block = outer_loops_[vector_outer_];
      outer_loops_.erase(outer_loops_.begin() + static_cast<std::ptrdiff_t>(vector_outer_));
      const bool reduces = analysis_.stage().reduction != expression::Reduction::None;
      if (!reduces || bytes > level2 / 2) {
        // Keep the stage's order, behind a leading axis such as the batch.
        const size_t place = std::min(vector_outer_, outer_loops_.size());
        outer_loops_.insert(outer_loops_.begin() + static_cast<std::ptrdiff_t>(place), block);
      } else {
        outer_loops_.push_back(block);
      }
    }
    const std::vector<std::string> parallel = choose_tasks();
    std::vector<std::string> order;
    for (const OuterLoop& loop : outer_loops_) order.push_back(loop.name);
    for (const bool reduction : {false, true}) {
      for (const LoopAxis& unit : analysis_.unit_axes()) {
        if (unit.reduction == reduction) order.push_back(unit.name);
      }
    }
    order.insert(order.end(), reduction_loops_.begin(), reduction_loops_.end());
    order.insert(order.end(), tile_loops_.begin(), tile_loops_.end());
    if (!vector_loop_.empty()) order.push_back(vector_loop_);
    if (order.size() > 1) add("reorder", order);
    if (!parallel.empty()) add("parallel", parallel);
    if (!unrolled_.empty()) add("unroll", unrolled_);
    if (!tile_loops_.empty()) add("tile", tile_loops_);
    if (!vector_loop_.empty()) add("vectorize", {vector_loop_});
  }

  StageAnalysis analysis_;
  const Target& target_;
  Schedule& schedule_;
  int vector_ = -1;   ///< number of the vectorized axis
  int longest_ = -1;  ///< number of the reduction axis that is unrolled
  int64_t vector_block_ = 1;
  std::vector<OuterLoop> outer_loops_;
  size_t vector_outer_ = 0;  ///< place of the vector axis' blocks in outer_loops_
  std::vector<std::string> reduction_loops_;
  std::vector<std::string> unrolled_;
  std::vector<std::string> tile_loops_;
  std::string vector_loop_;
};

}  // namespace

Schedule default_schedule(const expression::Program& program,
                          const std::map<std::string, Layout>& layouts, const Target& target) {
  Schedule schedule;
  for (const expression::Stage& stage : program.stages) {
    const StageAnalysis analysis(program, stage, layouts);
    StageRule(analysis, target, schedule).write();
  }
  return schedule;
}

std::map<std::string, Layout> preferred_weight_layouts(
    const expression::Program& program, const std::map<std::string, Layout>& data_layouts,
    const Target& target) {
  std::map<std::string, Layout> layouts;
  for (const expression::TensorDeclaration& weight : program.weights) {
    layouts[weight.name] = Layout::row_major(weight.shape.size());
  }
  for (const expression::Stage& stage : program.stages) {
    StageAnalysis analysis(program, stage, data_layouts);
    if (stage.reduction == expression::Reduction::None) continue;
    for (const expression::TensorDeclaration& weight : program.weights) {
      if (weight.shape.size() > 1) analysis.mark_packable(weight.name);
    }
    Schedule unused;
    StageRule rule(analysis, target, unused);
    rule.write();
    for (const StageAnalysis::Access& access : analysis.accesses()) {
      if (access.packable) layouts[access.tensor] = rule.packed(access);
    }
  }
  return layouts;
}

}  // namespace opsmith::schedule
