#include "runtime/kernels/plain/quantized.h"

#include "support/error.h"

namespace opsmith::kernels {

std::pair<double, double> quantized_range(ElementType type, const graph::Node& node) {
  switch (type) {
    case ElementType::UInt8:
      return {0, 255};
    case ElementType::Int8:
      return {-128, 127};
    case ElementType::UInt16:
      return {0, 65535};
    case ElementType::Int16:
      return {-32768, 32767};
    case ElementType::UInt4:
      return {0, 15};
    case ElementType::Int4:
      return {-8, 7};
    case ElementType::Int32:
      return {-2147483648.0, 2147483647.0};
    default:
      throw Unsupported(describe(node) + ": quantisation to " + to_string(type));
  }
}

void store_quantized(Tensor& tensor, int64_t at, double number) {
  const auto i = static_cast<size_t>(at);
  switch (tensor.type()) {
    case ElementType::UInt8:
    case ElementType::UInt4:
      tensor.data<uint8_t>()[i] = static_cast<uint8_t>(number);
      break;
    case ElementType::Int8:
    case ElementType::Int4:
      tensor.data<int8_t>()[i] = static_cast<int8_t>(number);
      break;
    case ElementType::UInt16:
      tensor.data<uint16_t>()[i] = static_cast<uint16_t>(number);
      break;
    case ElementType::Int16:
      tensor.data<int16_t>()[i] = static_cast<int16_t>(number);
      break;
    case ElementType::Int32:
      tensor.data<int32_t>()[i] = static_cast<int32_t>(number);
      break;
    default:
      throw InternalError("no quantised type: " + to_string(tensor.type()));
  }
}

std::vector<int64_t> zero_points(const PlainCall& call, size_t input) {
  if (!call.has(input)) return {};
  const Tensor wide = call.input(input).cast(ElementType::Int64);
  return {wide.data<int64_t>().begin(), wide.data<int64_t>().end()};
}

}  // namespace opsmith::kernels
