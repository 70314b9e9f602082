#include "runtime/schedule/stage_rule.h"

// Which axes are fused, vectorized and tiled.

namespace opsmith::schedule {
namespace {

/// Vectors that a tile may have.
constexpr int64_t kMostVectors = 8;
/// Points of a tile that share nothing (depthwise convolution, pooling).
constexpr int64_t kUnsharedPoints = 8;
/// Outputs along each of two axes whose lane-wise sums are kept at once.
constexpr int64_t kReductionTile = 4;

}  // namespace

void StageRule::fuse_axes() {
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

void StageRule::choose_vector_axis() {
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
      cost += 0.25 +
              4.0 * static_cast<double>(width) / static_cast<double>(analysis_.reduction_volume());
    }
    const double gain = static_cast<double>(candidate.extent) / static_cast<double>(vectors) / cost;
    if (gain > best * 1.001) {
      best = gain;
      vector_ = i;
    }
  }
}

void StageRule::tile_reduction() {
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

bool StageRule::is_guarded(const LoopAxis& candidate) const {
  std::vector<std::string> guarded;
  for (const StageAnalysis::Access& access : analysis_.accesses()) {
    if (!access.write) analysis_.leaves(access, &guarded);
  }
  return std::any_of(candidate.parts.begin(), candidate.parts.end(), [&](const auto& part) {
    return std::find(guarded.begin(), guarded.end(), part.name) != guarded.end();
  });
}

void StageRule::tile_outputs() {
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
      if (i == vector_ || axis(i).reduction || axis(i).extent < 2 || is_guarded(axis(i))) continue;
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
    // Depthwise: a pixel's vector serves several taps of the window, if it can stay that long.
    const bool depthwise = problem.shares_vectors && !problem.shares_scalars;
    if (gathers) problem.registers = problem.registers / 2 - 2;
    if (depthwise && !gathers) problem.registers /= 2;
    taps_inside_ = gathers || depthwise;
    if (vector_ >= 0)
      problem.vector_counts = vectors_of_one_group(std::min(problem.vectors, kMostVectors));
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
    turn_knobs(problem, tile);
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

std::vector<int64_t> StageRule::vectors_of_one_group(int64_t most) const {
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= most; ++count) {
    const bool uniform = std::all_of(
        analysis_.accesses().begin(), analysis_.accesses().end(), [&](const auto& access) {
          // A weight to be packed, or a read that is not even uniform over one vector.
          if (!access.in_body || access.packable) return true;
          const Movement one = analysis_.movement(access, axis(vector_), lanes());
          return one != Movement::Still ||
                 analysis_.movement(access, axis(vector_), lanes() * count) == Movement::Still;
        });
    if (uniform) counts.push_back(count);
  }
  return counts;
}

void StageRule::turn_knobs(const TileProblem& problem, RegisterTile& tile) const {
  if (knobs_.vectors > 0) tile.vectors = std::min(knobs_.vectors, problem.vectors);
  if (knobs_.columns > 0) {
    tile.rows = 1;
    tile.columns = std::min(knobs_.columns, problem.columns);
  }
}

void StageRule::write_output_tile(const RegisterTile& tile, int row, int column) {
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

}  // namespace opsmith::schedule
