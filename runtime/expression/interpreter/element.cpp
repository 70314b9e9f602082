#include "runtime/expression/interpreter/element.h"

#include <cmath>
#include <limits>

#include "runtime/expression/scalar.h"
#include "support/error.h"
#include "support/float16.h"

namespace opsmith::expression::interpreter {
namespace {

Value real(double number) {
  Value value;
  value.real = number;
  return value;
}

Value integer(int64_t number) {
  Value value;
  value.integer = number;
  return value;
}

template <typename T>
int64_t saturate(double number) {
  if (std::isnan(number)) return 0;
  if (number <= static_cast<double>(std::numeric_limits<T>::lowest())) {
    return static_cast<int64_t>(std::numeric_limits<T>::lowest());
  }
  if (number >= static_cast<double>(std::numeric_limits<T>::max())) {
    return static_cast<int64_t>(std::numeric_limits<T>::max());
  }
  return static_cast<int64_t>(static_cast<T>(number));
}

template <typename T>
T& element(void* elements, int64_t at) {
  return static_cast<T*>(elements)[at];
}

[[noreturn]] void no_number(ElementType type) {
  throw InternalError("interpreter: element type " + opsmith::to_string(type) + " holds no number");
}

}  // namespace

Value load(const void* elements, ElementType type, int64_t at) {
  void* data = const_cast<void*>(elements);
  switch (type) {
    case ElementType::Float32:
      return real(element<float>(data, at));
    case ElementType::Float64:
      return real(element<double>(data, at));
    case ElementType::Float16:
      return real(half_to_float(element<uint16_t>(data, at)));
    case ElementType::BFloat16:
      return real(bfloat_to_float(element<uint16_t>(data, at)));
    case ElementType::Int8:
      return integer(element<int8_t>(data, at));
    case ElementType::Int16:
      return integer(element<int16_t>(data, at));
    case ElementType::Int32:
      return integer(element<int32_t>(data, at));
    case ElementType::Int64:
      return integer(element<int64_t>(data, at));
    case ElementType::UInt8:
    case ElementType::Bool:
      return integer(element<uint8_t>(data, at));
    case ElementType::UInt16:
      return integer(element<uint16_t>(data, at));
    case ElementType::UInt32:
      return integer(element<uint32_t>(data, at));
    case ElementType::UInt64:
      return integer(static_cast<int64_t>(element<uint64_t>(data, at)));
    default:
      no_number(type);
  }
}

void store(void* elements, ElementType type, int64_t at, Value value) {
  switch (type) {
    case ElementType::Float32:
      element<float>(elements, at) = static_cast<float>(value.real);
      return;
    case ElementType::Float64:
      element<double>(elements, at) = value.real;
      return;
    case ElementType::Float16:
      element<uint16_t>(elements, at) = float_to_half(static_cast<float>(value.real));
      return;
    case ElementType::BFloat16:
      element<uint16_t>(elements, at) = float_to_bfloat(static_cast<float>(value.real));
      return;
    case ElementType::Int8:
    case ElementType::UInt8:
      element<uint8_t>(elements, at) = static_cast<uint8_t>(value.integer);
      return;
    case ElementType::Bool:
      element<uint8_t>(elements, at) = value.integer != 0;
      return;
    case ElementType::Int16:
    case ElementType::UInt16:
      element<uint16_t>(elements, at) = static_cast<uint16_t>(value.integer);
      return;
    case ElementType::Int32:
    case ElementType::UInt32:
      element<uint32_t>(elements, at) = static_cast<uint32_t>(value.integer);
      return;
    case ElementType::Int64:
    case ElementType::UInt64:
      element<int64_t>(elements, at) = value.integer;
      return;
    default:
      no_number(type);
  }
}

Value from_double(double number, ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return real(static_cast<float>(number));
    case ElementType::Float64:
      return real(number);
    case ElementType::Float16:
      return real(half_to_float(float_to_half(static_cast<float>(number))));
    case ElementType::BFloat16:
      return real(bfloat_to_float(float_to_bfloat(static_cast<float>(number))));
    case ElementType::Int8:
      return integer(saturate<int8_t>(number));
    case ElementType::Int16:
      return integer(saturate<int16_t>(number));
    case ElementType::Int32:
      return integer(saturate<int32_t>(number));
    case ElementType::Int64:
      return integer(saturate<int64_t>(number));
    case ElementType::UInt8:
      return integer(saturate<uint8_t>(number));
    case ElementType::UInt16:
      return integer(saturate<uint16_t>(number));
    case ElementType::UInt32:
      return integer(saturate<uint32_t>(number));
    case ElementType::UInt64:
      return integer(saturate<uint64_t>(number));
    case ElementType::Bool:
      return integer(number != 0);
    default:
      no_number(type);
  }
}

int64_t wrap(int64_t number, ElementType type) {
  switch (type) {
    case ElementType::Int8:
      return static_cast<int8_t>(number);
    case ElementType::Int16:
      return static_cast<int16_t>(number);
    case ElementType::Int32:
      return static_cast<int32_t>(number);
    case ElementType::UInt8:
      return static_cast<uint8_t>(number);
    case ElementType::UInt16:
      return static_cast<uint16_t>(number);
    case ElementType::UInt32:
      return static_cast<uint32_t>(number);
    case ElementType::Bool:
      return number != 0;
    default:
      return number;
  }
}

Value convert(Value value, ElementType from, ElementType to) {
  if (from == to) return value;
  if (is_float(from)) return from_double(value.real, to);
  if (!is_float(to)) return integer(wrap(value.integer, to));
  return from_double(from == ElementType::UInt64
                         ? static_cast<double>(static_cast<uint64_t>(value.integer))
                         : static_cast<double>(value.integer),
                     to);
}

}  // namespace opsmith::expression::interpreter
