#include "search/hold_out.h"

#include <algorithm>

namespace opsmith::search {

namespace {

/// One in so many calibration samples is held out.
constexpr int64_t kHeldOutShare = 8;
/// More samples than this only slow the layers' moments down; distillation uses all.
constexpr int64_t kMostRefitSamples = 4096;

}  // namespace

std::vector<bool> hold_out(int64_t samples, int64_t batch, int64_t most) {
  const int64_t groups = samples / batch;
  const int64_t wanted = std::max<int64_t>(1, std::min(groups / kHeldOutShare, most / batch));
  std::vector<bool> held_out(static_cast<size_t>(samples));
  if (groups < 2) return held_out;
  for (int64_t i = 0; i < wanted; ++i) {
    const int64_t group = (2 * i + 1) * groups / (2 * wanted);
    for (int64_t s = 0; s < batch; ++s) held_out[static_cast<size_t>(group * batch + s)] = true;
  }
  return held_out;
}

Split split_samples(const std::vector<bool>& held_out, int64_t batch) {
  Split split;
  for (size_t i = 0; i < held_out.size(); ++i) {
    (held_out[i] ? split.held_out : split.train).push_back(static_cast<int64_t>(i));
  }
  if (split.held_out.empty()) split.held_out = split.train;
  const int64_t groups = static_cast<int64_t>(split.train.size()) / batch;
  const int64_t wanted = std::min(groups, std::max<int64_t>(kMostRefitSamples / batch, 1));
  for (int64_t i = 0; i < wanted; ++i) {
    const auto begin = split.train.begin() + i * groups / wanted * batch;
    split.fit.insert(split.fit.end(), begin, begin + batch);
  }
  return split;
}

int64_t fixed_batch(const graph::Model& model) {
  for (const graph::ValueId id : model.graph.inputs) {
    const auto& shape = model.graph.value(id).shape;
    if (shape && !shape->empty() && shape->front().known()) return *shape->front().size;
  }
  return 1;
}

}  // namespace opsmith::search
