#include <cstring>
#include <map>

#include "runtime/kernels/families.h"
#include "runtime/kernels/onnx_types.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

std::vector<Tensor> convert(const PlainCall& call, ElementType to) {
  const Tensor& x = call.input(0);
  if (x.type() == to) return {x};
  if (to == ElementType::String || x.type() == ElementType::String) {
    throw Unsupported(describe(call.node) + ": strings are not converted");
  }
  Tensor converted = x.cast(to);
  Tensor y = call.output(0, to, x.shape());
  if (y.bytes() > 0) std::memcpy(y.raw(), converted.raw(), y.bytes());
  return {y};
}

std::vector<Tensor> cast(const PlainCall& call) {
  return convert(call, onnx_element_type(call.node.integer("to", 0), call.node));
}

std::vector<Tensor> cast_like(const PlainCall& call) { return convert(call, call.input(1).type()); }

}  // namespace

ElementType onnx_element_type(int64_t number, const graph::Node& node) {
  static const std::map<int64_t, ElementType> types = {
      {1, ElementType::Float32},  {2, ElementType::UInt8},    {3, ElementType::Int8},
      {4, ElementType::UInt16},   {5, ElementType::Int16},    {6, ElementType::Int32},
      {7, ElementType::Int64},    {8, ElementType::String},   {9, ElementType::Bool},
      {10, ElementType::Float16}, {11, ElementType::Float64}, {12, ElementType::UInt32},
      {13, ElementType::UInt64},  {16, ElementType::BFloat16}};
  auto found = types.find(number);
  if (found == types.end()) {
    throw Unsupported(describe(node) + ": element type number " + std::to_string(number));
  }
  return found->second;
}

std::vector<KernelDefinition> cast_kernels() {
  return {{"Cast", nullptr, cast}, {"CastLike", nullptr, cast_like}};
}

}  // namespace opsmith::kernels
