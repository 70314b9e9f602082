#pragma once

#include <cstdint>
#include <string>

#include "runtime/kernels/lowering.h"
#include "support/error.h"

namespace opsmith::kernels {

/// Calls `function(T{})` with the C++ type of a numeric element type (no half types, no strings).
/// Throws Unsupported naming the node.
template <typename Function>
void dispatch_numeric(ElementType type, const graph::Node& node, const Function& function) {
  switch (type) {
    case ElementType::Float32:
      return function(float{});
    case ElementType::Float64:
      return function(double{});
    case ElementType::Int8:
      return function(int8_t{});
    case ElementType::Int16:
      return function(int16_t{});
    case ElementType::Int32:
      return function(int32_t{});
    case ElementType::Int64:
      return function(int64_t{});
    case ElementType::UInt8:
    case ElementType::Bool:
      return function(uint8_t{});
    case ElementType::UInt16:
      return function(uint16_t{});
    case ElementType::UInt32:
      return function(uint32_t{});
    case ElementType::UInt64:
      return function(uint64_t{});
    default:
      throw Unsupported(describe(node) + ": element type " + to_string(type));
  }
}

/// Calls `function(T{})` with an unsigned type of the element's size, or std::string: enough to
/// move elements.
template <typename Function>
void dispatch_element(ElementType type, const graph::Node& node, const Function& function);

/// The same for elements of a fixed size.
template <typename Function>
void dispatch_size(ElementType type, const graph::Node& node, const Function& function) {
  switch (element_size(type)) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    case 8:
      return function(uint64_t{});
    default:
      throw Unsupported(describe(node) + ": element type " + to_string(type));
  }
}

template <typename Function>
void dispatch_element(ElementType type, const graph::Node& node, const Function& function) {
  if (type == ElementType::String) return function(std::string{});
  dispatch_size(type, node, function);
}

/// The elements seen as `T` of the same size, whatever their type.
template <typename T>
const T* elements_as(const Tensor& tensor) {
  return static_cast<const T*>(tensor.raw());
}
template <typename T>
T* elements_as(Tensor& tensor) {
  return static_cast<T*>(tensor.raw());
}

}  // namespace opsmith::kernels
