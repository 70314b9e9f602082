#include "runtime/schedule/stage_rule.h"

// The order of loops, tasks, and the weight layouts that follow from it.

namespace opsmith::schedule {
namespace {

/// Work (element operations) below which starting threads costs more than it saves.
constexpr int64_t kWorthThreads = 32768;
/// Tasks enough to balance a few threads.
constexpr int64_t kEnoughTasks = 16;
/// Operations that make a task worth its start.
constexpr int64_t kTaskWork = 4096;

}  // namespace

void StageRule::write() {
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

std::pair<std::string, std::string> StageRule::split(const std::string& name, int64_t factor) {
  const std::pair<std::string, std::string> parts = {name + ".o", name + ".i"};
  add("split", {name, parts.first, parts.second}, factor);
  return parts;
}

void StageRule::write_reduction(int64_t points) {
  int& longest = longest_;
  for (int i = 0; i < axis_count(); ++i) {
    if (!axis(i).reduction || is_guarded(axis(i))) continue;
    if (longest < 0 || axis(i).extent > axis(longest).extent) longest = i;
  }
  int64_t budget = std::max<int64_t>(body_budget() / points, 1);
  std::vector<std::string> inner;
  for (int i = 0; i < axis_count(); ++i) {
    if (!axis(i).reduction) continue;
    if (i != longest) {
      reduction_loops_.push_back(axis(i).name);
      continue;
    }
    std::string name = axis(i).name;
    int64_t extent = axis(i).extent;
    if (extent > reduction_block()) {
      const auto [outer, rest] = split(name, reduction_block());
      reduction_loops_.insert(reduction_loops_.begin(), outer);
      name = rest;
      extent = reduction_block();
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
  if (taps_inside_) {
    // A shuffled vector, or a pixel's in a depthwise convolution, serves all taps of a row before
    // the next is made.
    std::vector<std::string> taps;
    std::erase_if(reduction_loops_, [&](const std::string& name) {
      const bool copied = std::find(unrolled_.begin(), unrolled_.end(), name) != unrolled_.end();
      if (copied) taps.push_back(name);
      return copied;
    });
    inner.insert(inner.end(), taps.begin(), taps.end());
  }
  reduction_loops_.insert(reduction_loops_.end(), inner.begin(), inner.end());
}

std::vector<std::string> StageRule::choose_tasks() {
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

bool StageRule::is_used_again(const StageAnalysis::Access& access) const {
  for (int i = 0; i < axis_count(); ++i) {
    if (i != vector_ && !axis(i).reduction && !moves(access, i)) return true;
  }
  return false;
}

void StageRule::place_vector_blocks() {
  const bool reduces = analysis_.stage().reduction != expression::Reduction::None;
  int64_t bytes = 0;
  bool streams = !reduces;
  for (const StageAnalysis::Access& access : analysis_.accesses()) {
    if (!access.in_body || !moves(access, vector_)) continue;
    if (is_used_again(access)) {
      bytes = std::max(bytes, element_count(access.shape) * 4);
    } else {
      streams = true;
    }
  }
  const int64_t level2 = target_.cache_bytes.size() > 1 ? target_.cache_bytes[1] : 512 << 10;
  const OuterLoop block = outer_loops_[vector_outer_];
  outer_loops_.erase(outer_loops_.begin() + static_cast<std::ptrdiff_t>(vector_outer_));
  size_t place = outer_loops_.size();
  if (bytes > level2 / 2) {
    // Keep the stage's order, behind a leading axis such as the batch.
    place = std::min(vector_outer_, place);
  } else if (streams && place > 0) {
    OuterLoop& last = outer_loops_.back();
    if (place == 1 && last.divisible && last.extent >= 4 * kEnoughTasks) {
      const int64_t factor = (last.extent + 2 * kEnoughTasks - 1) / (2 * kEnoughTasks);
      const auto [outer, inner] = split(last.name, factor);
      const int64_t extent = last.extent;
      last = {outer, (extent + factor - 1) / factor, false};
      outer_loops_.push_back({inner, factor, false});
      place = 2;
    }
    --place;
  }
  outer_loops_.insert(outer_loops_.begin() + static_cast<std::ptrdiff_t>(place), block);
}

void StageRule::order_loops() {
  if (vector_ >= 0 && !axis(vector_).reduction) place_vector_blocks();
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

Layout StageRule::packed(const StageAnalysis::Access& weight) const {
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
  if (longest_ >= 0 && axis(longest_).extent > reduction_block()) {
    for (const LoopAxis::Part& part : axis(longest_).parts) place(dimension_of(part.name));
    if (axis(longest_).parts.size() == 1) blocked = dimension_of(axis(longest_).name);
  }
  for (const LoopAxis& other : analysis_.axes()) {
    if (!other.reduction || (longest_ >= 0 && other.name == axis(longest_).name)) continue;
    for (const LoopAxis::Part& part : other.parts) place(dimension_of(part.name));
  }
  for (size_t d = 0; d < placed.size(); ++d) place(static_cast<int>(d));
  if (blocked >= 0) layout.order.push_back({blocked, reduction_block()});
  const int64_t block =
      std::min(vector_block_, (axis(vector_).extent + lanes() - 1) / lanes() * lanes());
  layout.order.push_back({vector_dimension, block});
  return layout;
}

}  // namespace opsmith::schedule
