#include <cmath>
#include <cstring>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/onnx_types.h"
#include "runtime/kernels/plain/dispatch.h"

// Operators that make tensors from attributes or a few numbers.
namespace opsmith::kernels {
namespace {

template <typename T>
const T* attribute(const graph::Node& node, const std::string& name) {
  auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

std::vector<Tensor> constant(const PlainCall& call) {
  const graph::Node& node = call.node;
  if (auto* tensor = attribute<Tensor>(node, "value")) return {*tensor};
  if (auto* value = attribute<int64_t>(node, "value_int")) return {Tensor::scalar(*value)};
  if (auto* value = attribute<float>(node, "value_float")) return {Tensor::scalar(*value)};
  if (auto* values = attribute<std::vector<int64_t>>(node, "value_ints")) {
    return {Tensor::of<int64_t>({static_cast<int64_t>(values->size())}, *values)};
  }
  if (auto* values = attribute<std::vector<float>>(node, "value_floats")) {
    return {Tensor::of<float>({static_cast<int64_t>(values->size())}, *values)};
  }
  if (auto* text = attribute<std::string>(node, "value_string")) {
    return {Tensor::of<std::string>({}, {*text})};
  }
  if (auto* texts = attribute<std::vector<std::string>>(node, "value_strings")) {
    return {Tensor::of<std::string>({static_cast<int64_t>(texts->size())}, *texts)};
  }
  throw Unsupported(describe(node) + ": its value is sparse or of a type that is not known");
}

std::vector<Tensor> constant_of_shape(const PlainCall& call) {
  const Tensor* value = attribute<Tensor>(call.node, "value");
  Tensor fill = value != nullptr ? *value : Tensor::scalar(0.0F);
  if (fill.count() != 1) {
    throw UserError("node " + describe(call.node) + ": its value has " +
                    std::to_string(fill.count()) + " elements instead of one");
  }
  Tensor result = call.output(0, fill.type(), call.integers(0));
  dispatch_element(fill.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(elements_as<T>(result), result.count(), *elements_as<T>(fill));
  });
  return {result};
}

std::vector<Tensor> range(const PlainCall& call) {
  Tensor result;
  dispatch_numeric(call.input(0).type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T start = *elements_as<T>(call.input(0));
    T limit = *elements_as<T>(call.input(1));
    T delta = *elements_as<T>(call.input(2));
    if (delta == 0) throw UserError(describe(call.node) + ": delta is 0");
    double steps =
        (static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta);
    auto count = static_cast<int64_t>(std::max(0.0, std::ceil(steps)));
    result = call.output(0, call.input(0).type(), {count});
    T* out = elements_as<T>(result);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(start + static_cast<T>(i) * delta);
  });
  return {result};
}

std::vector<Tensor> eye_like(const PlainCall& call) {
  const Tensor& x = call.input(0);
  if (x.rank() != 2) throw UserError(describe(call.node) + ": the input must have 2 dimensions");
  int64_t wanted = call.node.integer("dtype", 0);
  ElementType type = wanted == 0 ? x.type() : onnx_element_type(wanted, call.node);
  Tensor result = call.output(0, type, x.shape());
  if (result.bytes() > 0) std::memset(result.raw(), 0, result.bytes());
  int64_t shift = call.node.integer("k", 0);
  const Tensor one = Tensor::scalar(1.0F).cast(type);
  dispatch_size(type, call.node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(result);
    for (int64_t i = 0; i < x.shape()[0]; ++i) {
      int64_t j = i + shift;
      if (j >= 0 && j < x.shape()[1]) out[i * x.shape()[1] + j] = *elements_as<T>(one);
    }
  });
  return {result};
}

}  // namespace

std::vector<KernelDefinition> generator_kernels() {
  return {{"Constant", nullptr, constant},
          {"ConstantOfShape", nullptr, constant_of_shape},
          {"Range", nullptr, range},
          {"EyeLike", nullptr, eye_like}};
}

}  // namespace opsmith::kernels
