#include "graph/operators/families.h"
#include "support/tensor_proto.h"

namespace opsmith::graph {
namespace {

/// x, scale, zero point.
void infer_quantize(Inference& inference) {
  ElementType type = inference.has_input(2) ? inference.type(2) : ElementType::UInt8;
  if (!inference.has_input(2) && inference.node().integer("output_dtype", 0) != 0) {
    type = element_type_from_onnx(inference.node().integer("output_dtype", 0));
  }
  inference.set(0, type, inference.info(0).shape);
}

void infer_dequantize(Inference& inference) {
  const ElementType type = inference.opset() < 19 ? ElementType::Float32 : inference.type(1);
  inference.set(0, type, inference.info(0).shape);
}

void infer_dynamic_quantize(Inference& inference) {
  inference.set(0, ElementType::UInt8, inference.info(0).shape);
  inference.set(1, ElementType::Float32, SymbolicShape{});
  inference.set(2, ElementType::UInt8, SymbolicShape{});
}

}  // namespace

std::span<const OperatorDefinition> quantization_operators() {
  static const OperatorDefinition operators[] = {
      {"DequantizeLinear", infer_dequantize},
      {"DynamicQuantizeLinear", infer_dynamic_quantize},
      {"QuantizeLinear", infer_quantize},
  };
  return operators;
}

}  // namespace opsmith::graph
