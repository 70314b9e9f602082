#include <algorithm>

#include "substitute/operator/onnx/stage.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Scalar;
using expression::Stage;

namespace {

/// An output axis that moves the image along one of its last two dimensions.
struct Moving {
  size_t axis = 0;       ///< of the stage
  size_t dimension = 0;  ///< of the data
  size_t position = 0;   ///< axis of the stage that runs along that dimension
  Window window;
};

std::optional<Moving> moving_axis(const Stage& stage, const std::vector<Index>& read,
                                  const std::vector<Index>& extents) {
  const size_t rank = stage.axes.size();
  for (size_t axis = 1; axis + 2 < rank; ++axis) {
    const std::string& name = stage.axes[axis].name;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const size_t dimension = read.size() - 2 + side;
      if (!uses(read[dimension], name)) continue;
      const auto elsewhere = [&](size_t d) { return d != dimension && uses(read[d], name); };
      for (size_t d = 0; d < read.size(); ++d)
        if (elsewhere(d)) return std::nullopt;
      // Seen as a window whose taps are summed, the index must be that of a convolution.
      Stage summed = stage;
      summed.reduction_axes = {stage.axes[axis]};
      const size_t position = rank - 2 + side;
      const auto index =
          as_spatial_index(read[dimension], extents[dimension], stage.axes[position], summed);
      if (!index || index->tap != name || index->roll != 0 || index->window.stride != 1)
        return std::nullopt;
      return Moving{axis, dimension, position, index->window};
    }
  }
  return std::nullopt;
}

}  // namespace

/// stage z[n, o..., b, h, w] = sum(c...) x[n, channel(o, c), h, w + b - padding] * w[..., b]: an
/// output channel for each tap (the inner stage of Syno's Operator 1). All channels are computed
/// where they are; then those of each tap are moved.
bool emit_moved_outputs(const Stage& stage, StageContext& context) {
  const auto contraction = as_contraction(stage, context.program);
  if (!contraction || stage.axes.size() < 4 || context.bias) return false;
  const std::string& tensor = contraction->data.tensor();
  const std::vector<Index>& read = contraction->data.indices();
  const std::vector<Index> extents = context.program.shape_of(tensor);
  if (read.size() < 3) return false;
  const auto moving = moving_axis(stage, read, extents);
  if (!moving) return false;

  Stage still = stage;
  still.name = stage.name + "_still";
  still.axes[moving->position].extent = extents[moving->dimension];
  std::vector<Index> indices = read;
  indices[moving->dimension] = Index::iterator(stage.axes[moving->position].name);
  still.body = Scalar::read(tensor, indices) * contraction->weight;
  if (!emit_convolution(still, context)) return false;

  Body& body = context.body;
  Value channels = context.tensors.whole(still.name);
  std::vector<Body::Margin> margins(channels.shape.size());
  margins[moving->position] = {moving->window.padding_before, moving->window.padding_after};
  channels = body.pad(channels, margins);
  std::vector<Value> moved;
  for (int64_t tap = 0; tap < moving->window.size; ++tap) {
    const int64_t left = moving->window.dilation * (moving->window.size - 1 - tap);
    moved.push_back(body.slice(
        channels, {{static_cast<int64_t>(moving->axis), tap, tap + 1, 1, Index(1)},
                   {static_cast<int64_t>(moving->position), moving->window.dilation * tap,
                    left == 0 ? std::nullopt : std::optional<int64_t>(-left), 1,
                    stage.axes[moving->position].extent}}));
  }
  Value result = body.concatenate(moved, static_cast<int64_t>(moving->axis));
  result.shape = stage.shape();
  context.tensors.add(stage.name, result);
  return true;
}

}  // namespace opsmith::substitute::onnx
