#include <algorithm>
#include <numeric>

#include "substitute/operator/onnx/stage.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Stage;

namespace {

struct Channels {
  int64_t groups = 1;
  std::vector<std::string> reductions;  ///< the input channels of a group, slowest first
};

/// Whether the channel that is read is group * (channels of a group) + (position in the group),
/// with the output channels, numbered row by row over `axes`, standing group after group.
std::optional<Channels> as_grouped_channels(const std::vector<Index>& indices,
                                            const std::vector<Index>& extents,
                                            const std::vector<Axis>& axes, const Stage& stage) {
  const expression::Ranges ranges = ranges_of(stage);
  Index channel(0);
  int64_t total = 1;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!extents[d].is_constant()) return std::nullopt;
    for (const std::string& name : iterators_of(indices[d]))
      if (!ranges.contains(name)) return std::nullopt;
    const auto range = expression::value_range(indices[d], ranges);
    if (!range || range->begin < 0 || range->end > extents[d].value()) return std::nullopt;
    channel = channel * extents[d] + indices[d];
    total *= extents[d].value();
  }
  // Apart into what depends on the output channel and what is summed over.
  Index base(0), summed(0);
  const Terms terms = terms_of(expression::simplify(channel, ranges));
  for (const Terms::Term& term : terms.terms) {
    bool output = false, reduced = false;
    for (const std::string& name : iterators_of(term.index))
      (find_axis(axes, name) != nullptr ? output : reduced) = true;
    if (output && reduced) return std::nullopt;
    Index& side = output ? base : summed;
    side = side + term.index * Index(term.coefficient);
  }
  base = base + Index(terms.constant);
  const auto position = as_mixed_radix(expression::simplify(summed, ranges), stage);
  if (!position) return std::nullopt;
  for (const std::string& name : position->iterators)
    if (find_axis(stage.reduction_axes, name) == nullptr) return std::nullopt;
  if (total % position->count != 0) return std::nullopt;

  Channels result;
  result.reductions = position->iterators;
  result.groups = total / position->count;
  int64_t outputs = 1;
  for (const Axis& axis : axes) {
    if (!axis.extent.is_constant()) return std::nullopt;
    outputs *= axis.extent.value();
  }
  if (outputs % result.groups != 0) return std::nullopt;
  const int64_t each = outputs / result.groups;
  expression::Binding values;
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t rest = o;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      values[axis->name] = rest % axis->extent.value();
      rest /= axis->extent.value();
    }
    if (expression::evaluate(base, values) != o / each * position->count) return std::nullopt;
  }
  return result;
}

}  // namespace

/// stage z[n, o..., h, w] = sum(c..., a, b) x[n, channel(o, c), stride*h + dilation*a - padding,
/// stride*w + dilation*b - padding] * w[o..., c..., a, b], in groups or not, as one Conv.
bool emit_convolution(const Stage& stage, StageContext& context) {
  const auto contraction = as_contraction(stage, context.program);
  const size_t rank = stage.axes.size();
  if (!contraction || rank < 3) return false;
  const std::vector<Index>& read = contraction->data.indices();
  const std::vector<Index> extents = context.program.shape_of(contraction->data.tensor());
  if (read.size() < 3) return false;

  const Axis& batch = stage.axes[0];
  const bool batch_passes = read[0].kind() == Index::Kind::Iterator &&
                            read[0].name() == batch.name && batch.extent == extents[0];
  if (!batch_passes) return false;
  const Axis &row = stage.axes[rank - 2], &column = stage.axes[rank - 1];
  const auto vertical =
      as_spatial_index(read[read.size() - 2], extents[extents.size() - 2], row, stage);
  const auto horizontal = as_spatial_index(read.back(), extents.back(), column, stage);
  if (!vertical || !horizontal) return false;
  if (!vertical->tap.empty() && vertical->tap == horizontal->tap) return false;

  const std::vector<Axis> channel_axes(stage.axes.begin() + 1, stage.axes.end() - 2);
  const auto channels =
      as_grouped_channels({read.begin() + 1, read.end() - 2},
                          {extents.begin() + 1, extents.end() - 2}, channel_axes, stage);
  if (!channels) return false;
  std::vector<std::string> order;
  for (const Axis& axis : channel_axes) order.push_back(axis.name);
  order.insert(order.end(), channels->reductions.begin(), channels->reductions.end());
  for (const std::string& tap : {vertical->tap, horizontal->tap}) {
    if (tap.empty()) continue;
    if (std::find(order.begin(), order.end(), tap) != order.end()) return false;
    order.push_back(tap);
  }
  // Every sum must be one of these (or over a single element).
  for (const Axis& axis : stage.reduction_axes)
    if (!axis.extent.is_constant(1) &&
        std::find(order.begin(), order.end(), axis.name) == order.end())
      return false;
  int64_t outputs = 1, inputs = 1;
  for (const Axis& axis : channel_axes) outputs *= axis.extent.value();
  for (const std::string& name : channels->reductions)
    inputs *= find_axis(stage.reduction_axes, name)->extent.value();
  const auto weights = weight_by_iterators(
      contraction->weight, order,
      {Index(outputs), Index(inputs), Index(vertical->window.size), Index(horizontal->window.size)},
      stage, context);
  if (!weights) return false;
  Body& body = context.body;
  Value image = context.tensors.image(contraction->data.tensor());
  image = body.roll(body.roll(image, 2, vertical->roll), 3, horizontal->roll);
  const Value result =
      body.convolution(image, *weights, context.bias, channels->groups, vertical->window,
                       horizontal->window, row.extent, column.extent);
  context.tensors.add_image(stage.name, result, stage.shape());
  return true;
}

}  // namespace opsmith::substitute::onnx
