#include <algorithm>

#include "graph/operators/families.h"
#include "support/tensor_proto.h"

namespace opsmith::graph {
namespace {

void infer_constant(Inference& inference) {
  const Tensor value = constant_value(inference.node());
  if (!value.defined()) return;
  ValueInfo info;
  info.type = value.type();
  info.shape = SymbolicShape(value.shape().begin(), value.shape().end());
  info.constant = value;
  inference.set(0, std::move(info));
}

bool followed(ElementType type) { return type == ElementType::Int64 || type == ElementType::Int32; }

void infer_constant_of_shape(Inference& inference) {
  const Tensor* value = inference.node().tensor("value");
  const ElementType type = value ? value->type() : ElementType::Float32;
  inference.set_type(0, type);
  const Elements* shape = inference.elements(0);
  if (!shape) {
    const SymbolicShape* length = inference.shape(0);
    if (length && length->size() == 1 && (*length)[0].known() && *(*length)[0].size >= 0 &&
        *(*length)[0].size <= 64) {
      inference.set_shape(0, SymbolicShape(static_cast<size_t>(*(*length)[0].size)));
    }
    return;
  }
  for (const Dimension& size : *shape) {
    if (size.known() && *size.size < 0) {
      inference.fail("its shape " + to_string(*shape) + " is negative");
    }
  }
  inference.set_shape(0, *shape);
  if (!value || (value->count() == 1 && value->type() != ElementType::String)) {
    const double fill = value ? value->cast(ElementType::Float64).data<double>()[0] : 0;
    inference.set_fill(0, fill);
  }
  const Dimension count = product(*shape, 0, shape->size());
  if (value && value->count() == 1 && followed(type) && count.known() &&
      *count.size <= kMostElements) {
    const int64_t element = value->cast(ElementType::Int64).data<int64_t>()[0];
    inference.set_elements(0, Elements(static_cast<size_t>(*count.size), Dimension(element)));
  }
}

/// start, limit, delta.
void infer_range(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const Elements* start = inference.elements(0);
  const Elements* limit = inference.elements(1);
  const Elements* delta = inference.elements(2);
  Dimension count;
  if (start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1) {
    const Dimension& first = (*start)[0];
    const Dimension& step = (*delta)[0];
    if (step.known() && *step.size == 0) inference.fail("its delta is 0");
    const Dimension span = (*limit)[0] - first;
    if (span.known() && step.known()) {
      const Dimension steps = *step.size > 0
                                  ? ceil_divide(span, step)
                                  : ceil_divide(Dimension(0) - span, Dimension(0) - step);
      count = std::max<int64_t>(*steps.size, 0);
    } else if (step == Dimension(1)) {
      count = span;
    }
    if (count.known() && *count.size <= kMostElements && first.known() && step.known() &&
        followed(inference.type(0))) {
      Elements elements;
      for (int64_t i = 0; i < *count.size; ++i) elements.push_back(first + Dimension(i) * step);
      inference.set_elements(0, std::move(elements));
    }
  }
  inference.set_shape(0, {count});
}

/// RandomNormal, RandomUniform: everything stands in attributes.
void infer_random(Inference& inference) {
  const std::vector<int64_t> shape = inference.node().integers("shape");
  inference.set(0, element_type_from_onnx(inference.node().integer("dtype", 1)),
                SymbolicShape(shape.begin(), shape.end()));
}

void infer_multinomial(Inference& inference) {
  const SymbolicShape* x = inference.shape(0);
  inference.set(0, element_type_from_onnx(inference.node().integer("dtype", 6)),
                SymbolicShape{x && !x->empty() ? (*x)[0] : Dimension(),
                              inference.node().integer("sample_size", 1)});
}

/// BlackmanWindow, HammingWindow, HannWindow.
void infer_window(Inference& inference) {
  const Elements* size = inference.elements(0);
  inference.set(0, element_type_from_onnx(inference.node().integer("output_datatype", 1)),
                SymbolicShape{size && size->size() == 1 ? (*size)[0] : Dimension()});
}

}  // namespace

Tensor constant_value(const Node& node) {
  if (const Tensor* tensor =
          node.has("value") ? std::get_if<Tensor>(&node.attributes.at("value")) : nullptr) {
    return *tensor;
  }
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* integer = std::get_if<int64_t>(&attribute); integer && name == "value_int") {
      return Tensor::scalar(*integer);
    }
    if (const auto* real = std::get_if<float>(&attribute); real && name == "value_float") {
      return Tensor::scalar(*real);
    }
    if (const auto* text = std::get_if<std::string>(&attribute); text && name == "value_string") {
      Tensor tensor(ElementType::String, {});
      tensor.strings()[0] = *text;
      return tensor;
    }
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute);
        integers && name == "value_ints") {
      return Tensor::of<int64_t>({static_cast<int64_t>(integers->size())}, *integers);
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&attribute);
        reals && name == "value_floats") {
      return Tensor::of<float>({static_cast<int64_t>(reals->size())}, *reals);
    }
    if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute);
        texts && name == "value_strings") {
      Tensor tensor(ElementType::String, {static_cast<int64_t>(texts->size())});
      std::copy(texts->begin(), texts->end(), tensor.strings().begin());
      return tensor;
    }
  }
  return {};
}

std::span<const OperatorDefinition> constant_operators() {
  static const OperatorDefinition operators[] = {
      {"BlackmanWindow", infer_window},
      {"Constant", infer_constant},
      {"ConstantOfShape", infer_constant_of_shape},
      {"HammingWindow", infer_window},
      {"HannWindow", infer_window},
      {"Multinomial", infer_multinomial},
      {"RandomNormal", infer_random},
      {"RandomUniform", infer_random},
      {"Range", infer_range},
  };
  return operators;
}

}  // namespace opsmith::graph
