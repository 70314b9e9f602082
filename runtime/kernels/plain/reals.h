#pragma once

#include <cstring>
#include <vector>

#include "runtime/kernels/lowering.h"

// Helpers of kernels that are rare enough to compute everything in doubles.
namespace opsmith::kernels {

/// The numbers of a tensor, whatever its element type.
inline std::vector<double> to_reals(const Tensor& tensor) {
  const Tensor wide = tensor.cast(ElementType::Float64);
  return {wide.data<double>().begin(), wide.data<double>().end()};
}

/// Output i with these numbers, rounded once to its element type.
inline Tensor from_reals(const PlainCall& call, size_t i, ElementType type, const Shape& shape,
                         const std::vector<double>& values) {
  const Tensor rounded = Tensor::of<double>(shape, values).cast(type);
  Tensor y = call.output(i, type, shape);
  if (y.bytes() > 0) std::memcpy(y.raw(), rounded.raw(), y.bytes());
  return y;
}

/// Numbers of an attribute of reals; empty where there is none.
inline std::vector<double> real_attribute(const graph::Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return {};
  const auto* values = std::get_if<std::vector<float>>(&found->second);
  return values == nullptr ? std::vector<double>{}
                           : std::vector<double>(values->begin(), values->end());
}

/// Texts of an attribute; empty where there is none.
inline std::vector<std::string> text_attribute(const graph::Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return {};
  const auto* values = std::get_if<std::vector<std::string>>(&found->second);
  return values == nullptr ? std::vector<std::string>{} : *values;
}

}  // namespace opsmith::kernels
