#include "substitute/operator/onnx/body.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/error.h"

namespace opsmith::substitute::onnx {

namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

using Integers = std::vector<int64_t>;

}  // namespace

Value Body::add(const std::string& type, std::vector<graph::ValueId> inputs,
                std::map<std::string, graph::Attribute> attributes, std::vector<Index> shape) {
  return {graph_.add_node(type, std::move(inputs), std::move(attributes)), std::move(shape)};
}

Value Body::constant(const std::string& hint, const Tensor& tensor) {
  // A function has no initializers of its own: constants are nodes.
  std::vector<Index> shape(tensor.shape().begin(), tensor.shape().end());
  graph::Node node;
  node.type = "Constant";
  node.attributes["value"] = tensor;
  node.outputs = {graph_.add_unnamed(hint, tensor.type())};
  graph_.nodes.push_back(std::move(node));
  return {graph_.nodes.back().outputs[0], std::move(shape)};
}

Value Body::integers(const Integers& values) {
  return constant("integers", Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

Value Body::reshape(const Value& value, const std::vector<Index>& shape) {
  if (value.shape == shape) return value;
  Integers target;
  bool inferred = false, gathered = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_constant()) {
      target.push_back(shape[i].value());
    } else if (i < value.shape.size() && value.shape[i] == shape[i]) {
      target.push_back(0);  // the input's own
    } else if (!inferred) {
      inferred = true;
      target.push_back(-1);
    } else {
      gathered = true;
      break;
    }
  }
  if (!gathered) return add("Reshape", {value.id, integers(target).id}, {}, shape);

  // Several extents are known at run time only: assemble the shape from the input's.
  const Value whole = {graph_.add_node("Shape", {value.id}),
                       {Index(static_cast<int64_t>(value.shape.size()))}};
  std::vector<Value> parts;
  for (const Index& extent : shape) {
    if (extent.is_constant()) {
      parts.push_back(integers({extent.value()}));
      continue;
    }
    const auto found = std::find(value.shape.begin(), value.shape.end(), extent);
    if (found == value.shape.end())
      throw Unsupported("a tensor cannot be reshaped to the extent " +
                        expression::to_string(extent) + ", which its own shape does not have");
    parts.push_back(gather(whole, {1}, {found - value.shape.begin()}, 0));
  }
  const Value target_shape = concatenate(parts, 0);
  return add("Reshape", {value.id, target_shape.id}, {}, shape);
}

Value Body::transpose(const Value& value, const Integers& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return value;
  std::vector<Index> shape;
  for (const int64_t d : permutation) shape.push_back(value.shape[static_cast<size_t>(d)]);
  return add("Transpose", {value.id}, {{"perm", permutation}}, shape);
}

Value Body::slice(const Value& value, const std::vector<Cut>& cuts) {
  Integers begins, ends, dimensions, steps;
  std::vector<Index> shape = value.shape;
  bool stepping = false;
  for (const Cut& cut : cuts) {
    if (cut.begin == 0 && !cut.end && cut.step == 1) continue;
    begins.push_back(cut.begin);
    ends.push_back(cut.end.value_or(kEnd));
    dimensions.push_back(cut.dimension);
    steps.push_back(cut.step);
    stepping = stepping || cut.step != 1;
    shape[static_cast<size_t>(cut.dimension)] = cut.extent;
  }
  if (begins.empty()) return value;
  if (opset_ >= 10) {
    std::vector<graph::ValueId> inputs = {value.id, integers(begins).id, integers(ends).id,
                                          integers(dimensions).id};
    if (stepping) inputs.push_back(integers(steps).id);
    return add("Slice", std::move(inputs), {}, shape);
  }
  std::vector<Index> dense = shape;
  if (stepping) {
    // Opset 9 has no steps; a pooling window of one element takes them.
    Integers strides = {1, 1};
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] == 1) continue;
      if (value.shape.size() != 4 || dimensions[i] < 2)
        throw Unsupported("opset 9 can only step along the spatial dimensions of an image");
      strides[static_cast<size_t>(dimensions[i] - 2)] = steps[i];
    }
    const Value cut =
        add("Slice", {value.id}, {{"starts", begins}, {"ends", ends}, {"axes", dimensions}}, dense);
    return add("MaxPool", {cut.id}, {{"kernel_shape", Integers{1, 1}}, {"strides", strides}},
               shape);
  }
  return add("Slice", {value.id}, {{"starts", begins}, {"ends", ends}, {"axes", dimensions}},
             shape);
}

Value Body::pad(const Value& value, const std::vector<Margin>& margins) {
  Integers before, after;
  std::vector<Index> shape;
  bool any = false;
  for (size_t i = 0; i < margins.size(); ++i) {
    before.push_back(margins[i].before);
    after.push_back(margins[i].after);
    const int64_t grown = margins[i].before + margins[i].after;
    any = any || margins[i].before != 0 || margins[i].after != 0;
    shape.push_back(expression::simplify(value.shape[i] + Index(grown)));
  }
  if (!any) return value;
  before.insert(before.end(), after.begin(), after.end());
  if (opset_ >= 11) return add("Pad", {value.id, integers(before).id}, {}, shape);
  return add("Pad", {value.id}, {{"pads", before}}, shape);
}

Value Body::concatenate(const std::vector<Value>& values, int64_t dimension) {
  if (values.size() == 1) return values[0];
  std::vector<graph::ValueId> ids;
  std::vector<Index> shape = values[0].shape;
  Index& extent = shape[static_cast<size_t>(dimension)];
  for (size_t i = 0; i < values.size(); ++i) {
    ids.push_back(values[i].id);
    if (i > 0)
      extent = expression::simplify(extent + values[i].shape[static_cast<size_t>(dimension)]);
  }
  return add("Concat", std::move(ids), {{"axis", dimension}}, shape);
}

Value Body::gather(const Value& value, const Shape& shape, const Integers& positions,
                   int64_t dimension) {
  std::vector<Index> result(value.shape.begin(), value.shape.begin() + dimension);
  result.insert(result.end(), shape.begin(), shape.end());
  result.insert(result.end(), value.shape.begin() + dimension + 1, value.shape.end());
  const Value indices = constant("positions", Tensor::of<int64_t>(shape, positions));
  return add("Gather", {value.id, indices.id}, {{"axis", dimension}}, result);
}

Value Body::roll(const Value& value, int64_t dimension, int64_t amount) {
  if (amount == 0) return value;
  const Index& extent = value.shape[static_cast<size_t>(dimension)];
  const Value back = slice(
      value, {{dimension, amount, std::nullopt, 1, expression::simplify(extent - Index(amount))}});
  const Value front = slice(value, {{dimension, 0, amount, 1, Index(amount)}});
  Value rolled = concatenate({back, front}, dimension);
  rolled.shape = value.shape;
  return rolled;
}

Value Body::convolution(const Value& x, const Value& weights, std::optional<graph::ValueId> bias,
                        int64_t groups, const Window& vertical, const Window& horizontal,
                        const Index& height, const Index& width) {
  std::vector<graph::ValueId> inputs = {x.id, weights.id};
  if (bias) inputs.push_back(*bias);
  std::map<std::string, graph::Attribute> attributes = {
      {"kernel_shape", Integers{vertical.size, horizontal.size}},
      {"strides", Integers{vertical.stride, horizontal.stride}},
      {"dilations", Integers{vertical.dilation, horizontal.dilation}},
      {"pads", Integers{vertical.padding_before, horizontal.padding_before, vertical.padding_after,
                        horizontal.padding_after}},
      {"group", groups}};
  return add("Conv", std::move(inputs), std::move(attributes),
             {x.shape[0], weights.shape[0], height, width});
}

Value Body::matrix_product(const Value& a, const Value& b) {
  std::vector<Index> shape = a.shape.size() >= b.shape.size() ? a.shape : b.shape;
  shape[shape.size() - 2] = a.shape[a.shape.size() - 2];
  shape.back() = b.shape.back();
  return add("MatMul", {a.id, b.id}, {}, shape);
}

Value Body::binary(const std::string& type, const Value& a, const Value& b) {
  std::vector<Index> shape;
  for (size_t i = 0; i < a.shape.size(); ++i)
    shape.push_back(a.shape[i].is_constant(1) ? b.shape[i] : a.shape[i]);
  return add(type, {a.id, b.id}, {}, shape);
}

Value Body::unary(const std::string& type, const Value& value) {
  return add(type, {value.id}, {}, value.shape);
}

Value Body::reduce(const std::string& type, const Value& value, Integers dimensions) {
  if (dimensions.empty()) return value;
  std::sort(dimensions.begin(), dimensions.end());
  std::vector<Index> shape;
  for (size_t i = 0; i < value.shape.size(); ++i)
    if (!std::binary_search(dimensions.begin(), dimensions.end(), static_cast<int64_t>(i)))
      shape.push_back(value.shape[i]);
  const bool as_input = opset_ >= (type == "ReduceSum" ? 13 : 18);
  if (as_input)
    return add(type, {value.id, integers(dimensions).id}, {{"keepdims", int64_t{0}}}, shape);
  return add(type, {value.id}, {{"axes", dimensions}, {"keepdims", int64_t{0}}}, shape);
}

}  // namespace opsmith::substitute::onnx
