#include <algorithm>

#include "substitute/operator/onnx/stage.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Scalar;
using expression::Stage;

namespace {

Index replace(const Index& index, const expression::Binding& values) {
  std::map<std::string, Index> constants;
  for (const auto& [name, value] : values) constants.emplace(name, Index(value));
  return expression::simplify(expression::substitute(index, [&](const Index& leaf) -> const Index* {
    const auto found = constants.find(leaf.name());
    return leaf.kind() == Index::Kind::Iterator && found != constants.end() ? &found->second
                                                                            : nullptr;
  }));
}

bool uses_any(const Index& index, const std::vector<std::string>& iterators) {
  return std::any_of(iterators.begin(), iterators.end(),
                     [&](const std::string& name) { return uses(index, name); });
}

/// Iterators that choose channels and move the image at once.
std::vector<std::string> diagonal_iterators(const std::vector<Index>& read, const Stage& stage) {
  std::vector<std::string> names;
  for (const Axis& axis : stage.reduction_axes) {
    const bool spatial = uses(read[read.size() - 2], axis.name) || uses(read.back(), axis.name);
    const bool channel = std::any_of(read.begin() + 1, read.end() - 2,
                                     [&](const Index& index) { return uses(index, axis.name); });
    if (spatial && channel && axis.extent.is_constant()) names.push_back(axis.name);
  }
  return names;
}

/// How one spatial dimension is moved: by its own taps among the diagonal iterators.
struct Move {
  bool moved = false;  ///< false: the dimension is left as it is
  SpatialIndex index;
};

/// A run of channels along one dimension of the data.
struct Run {
  int64_t begin = 0, count = 1;
  std::vector<std::string> iterators;
};

std::optional<Run> as_run(const Index& index, const Stage& stage) {
  const auto digits = as_mixed_radix(index, stage);
  if (!digits || digits->offset < 0) return std::nullopt;
  for (const std::string& name : digits->iterators)
    if (find_axis(stage.reduction_axes, name) == nullptr) return std::nullopt;
  return Run{digits->offset, digits->count, digits->iterators};
}

}  // namespace

/// stage z[n, o..., h, w] = sum(d..., c...) x[n, channel(d, c), h + f(d), w + g(d)] * w[...]:
/// iterators d that choose channels also move the image (shift convolution; the outer stage of
/// Syno's Operator 1). For each value of d the channels are cut out and moved; joined, they are
/// the data of a convolution in which d numbers channels only.
bool emit_shifted_convolution(const Stage& stage, StageContext& context) {
  const auto contraction = as_contraction(stage, context.program);
  const size_t rank = stage.axes.size();
  if (!contraction || rank < 3) return false;
  const std::string& tensor = contraction->data.tensor();
  const std::vector<Index>& read = contraction->data.indices();
  const std::vector<Index> extents = context.program.shape_of(tensor);
  if (read.size() < 4) return false;
  const std::vector<std::string> diagonal = diagonal_iterators(read, stage);
  if (diagonal.empty()) return false;

  Move moves[2];
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const size_t dimension = read.size() - 2 + side;
    if (!uses_any(read[dimension], diagonal)) continue;
    const auto index =
        as_spatial_index(read[dimension], extents[dimension], stage.axes[rank - 2 + side], stage);
    const bool diagonal_only =
        index && std::find(diagonal.begin(), diagonal.end(), index->tap) != diagonal.end();
    if (!diagonal_only) return false;
    moves[side] = {true, *index};
  }

  // One piece for each value of the diagonal iterators, the last one running fastest.
  int64_t pieces = 1;
  for (const std::string& name : diagonal)
    pieces *= find_axis(stage.reduction_axes, name)->extent.value();
  const size_t channel_dimensions = read.size() - 3;
  const auto values_of = [&](int64_t piece) {
    expression::Binding values;
    for (auto name = diagonal.rbegin(); name != diagonal.rend(); ++name) {
      const int64_t extent = find_axis(stage.reduction_axes, *name)->extent.value();
      values[*name] = piece % extent;
      piece /= extent;
    }
    return values;
  };
  std::vector<std::vector<Run>> runs;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    std::vector<Run> along;
    for (size_t d = 0; d < channel_dimensions; ++d) {
      Index index = read[1 + d];
      if (index.kind() == Index::Kind::Within && index.right() == extents[1 + d])
        index = index.left();
      const auto run = as_run(replace(index, values_of(piece)), stage);
      if (!run || !extents[1 + d].is_constant()) return false;
      along.push_back(*run);
    }
    runs.push_back(std::move(along));
  }

  Body& body = context.body;
  Value data = context.tensors.whole(tensor);
  const auto spatial_dimension = [&](size_t side) {
    return static_cast<int64_t>(read.size() - 2 + side);
  };
  for (const size_t side : {size_t{0}, size_t{1}})
    if (moves[side].moved) data = body.roll(data, spatial_dimension(side), moves[side].index.roll);
  std::vector<Body::Margin> margins(read.size());
  for (const size_t side : {size_t{0}, size_t{1}})
    if (moves[side].moved)
      margins[static_cast<size_t>(spatial_dimension(side))] = {
          moves[side].index.window.padding_before, moves[side].index.window.padding_after};
  // Runs may reach past the last channel, where there are zeros.
  for (const std::vector<Run>& along : runs)
    for (size_t d = 0; d < channel_dimensions; ++d)
      margins[1 + d].after =
          std::max(margins[1 + d].after, along[d].begin + along[d].count - extents[1 + d].value());
  data = body.pad(data, margins);

  std::vector<Value> joined;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const expression::Binding values = values_of(piece);
    std::vector<Body::Cut> cuts;
    std::vector<Index> flat = {data.shape[0], Index(1), data.shape[data.shape.size() - 2],
                               data.shape.back()};
    int64_t channels_each = 1;
    for (size_t d = 0; d < channel_dimensions; ++d) {
      const Run& run = runs[static_cast<size_t>(piece)][d];
      channels_each *= run.count;
      if (!data.shape[1 + d].is_constant(run.count))
        cuts.push_back(
            {static_cast<int64_t>(1 + d), run.begin, run.begin + run.count, 1, Index(run.count)});
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (!moves[side].moved) continue;
      const Window& window = moves[side].index.window;
      const int64_t tap = values.at(moves[side].index.tap);
      const int64_t left = window.dilation * (window.size - 1 - tap);
      const Index& extent = stage.axes[rank - 2 + side].extent;
      cuts.push_back({spatial_dimension(side), window.dilation * tap,
                      left == 0 ? std::nullopt : std::optional<int64_t>(-left), window.stride,
                      extent});
      flat[2 + side] = extent;
    }
    flat[1] = Index(channels_each);
    joined.push_back(body.reshape(body.slice(data, cuts), flat));
  }
  const Value moved = body.concatenate(joined, 1);

  // The same sum over the joined channels, numbered by the diagonal and then by the runs.
  Stage plain = stage;
  Index channel(0);
  for (const std::string& name : diagonal)
    channel = channel * find_axis(stage.reduction_axes, name)->extent + Index::iterator(name);
  for (const Run& run : runs[0])
    for (const std::string& name : run.iterators)
      channel = channel * find_axis(stage.reduction_axes, name)->extent + Index::iterator(name);
  std::vector<Index> indices = {read[0], expression::simplify(channel), read[read.size() - 2],
                                read.back()};
  for (const size_t side : {size_t{0}, size_t{1}})
    if (moves[side].moved) indices[2 + side] = Index::iterator(stage.axes[rank - 2 + side].name);
  const std::string name = stage.name + "_moved";
  plain.body = Scalar::read(name, indices) * contraction->weight;
  expression::Program program = context.program;
  program.inputs.push_back({name, ElementType::Float32, moved.shape});
  context.tensors.add(name, moved);
  StageContext inner{program, body, context.tensors, context.bias};
  if (emit_convolution(plain, inner)) return true;
  emit_general(plain, inner);
  return true;
}

}  // namespace opsmith::substitute::onnx
