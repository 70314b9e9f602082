#include <cstring>

#include "runtime/kernels/families.h"
#include "runtime/kernels/onnx_types.h"
#include "runtime/kernels/plain/number_text.h"
#include "support/error.h"
#include "support/tensor_proto.h"

namespace opsmith::kernels {
namespace {

Tensor to_strings(const Tensor& x) {
  Tensor y(ElementType::String, x.shape());
  for (size_t i = 0; i < y.strings().size(); ++i) y.strings()[i] = number_text(x, i);
  return y;
}

Tensor from_strings(const PlainCall& call, ElementType to, bool saturate) {
  const Tensor& x = call.input(0);
  const bool whole = to == ElementType::Int64 || to == ElementType::UInt64;
  Tensor exact(ElementType::Int64, x.shape());
  Tensor wide(ElementType::Float64, x.shape());
  for (size_t i = 0; i < x.strings().size(); ++i) {
    const ParsedNumber number = parse_number_text(x.strings()[i], call.node);
    wide.data<double>()[i] = number.real;
    exact.data<int64_t>()[i] = number.whole;
  }
  return (whole ? exact : wide).cast(to, saturate);
}

// What is too large for an 8-bit float saturates unless the attribute says otherwise.
std::vector<Tensor> convert(const PlainCall& call, ElementType to) {
  const Tensor& x = call.input(0);
  if (x.type() == to) return {x};
  const bool saturate = call.node.integer("saturate", 1) != 0;
  if (to == ElementType::String) return {to_strings(x)};
  const Tensor converted =
      x.type() == ElementType::String ? from_strings(call, to, saturate) : x.cast(to, saturate);
  Tensor y = call.output(0, to, x.shape());
  if (y.bytes() > 0) std::memcpy(y.raw(), converted.raw(), y.bytes());
  return {y};
}

// The attribute was a name ("FLOAT") before operator set 6.
std::vector<Tensor> cast(const PlainCall& call) {
  const auto found = call.node.attributes.find("to");
  const auto* name =
      found == call.node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (name != nullptr) return convert(call, named_element_type(*name, call.node));
  return convert(call, onnx_element_type(call.node.integer("to", 0), call.node));
}

std::vector<Tensor> cast_like(const PlainCall& call) { return convert(call, call.input(1).type()); }

}  // namespace

ElementType onnx_element_type(int64_t number, const graph::Node& node) {
  const ElementType type = element_type_from_onnx(number);
  if (type == ElementType::Undefined) {
    throw Unsupported(describe(node) + ": element type number " + std::to_string(number));
  }
  return type;
}

std::vector<KernelDefinition> cast_kernels() {
  return {{"Cast", nullptr, cast}, {"CastLike", nullptr, cast_like}};
}

}  // namespace opsmith::kernels
