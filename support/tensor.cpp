#include "support/tensor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/aligned_memory.h"
#include "support/error.h"
#include "support/float16.h"
#include "support/float8.h"

namespace opsmith {
namespace {

struct TypeInfo {
  ElementType type;
  const char* name;
  size_t size;
};

constexpr std::array kTypes = {
    TypeInfo{ElementType::Undefined, "undefined", 0},
    TypeInfo{ElementType::Float32, "f32", 4},
    TypeInfo{ElementType::Float64, "f64", 8},
    TypeInfo{ElementType::Float16, "f16", 2},
    TypeInfo{ElementType::BFloat16, "bf16", 2},
    TypeInfo{ElementType::Int8, "i8", 1},
    TypeInfo{ElementType::Int16, "i16", 2},
    TypeInfo{ElementType::Int32, "i32", 4},
    TypeInfo{ElementType::Int64, "i64", 8},
    TypeInfo{ElementType::UInt8, "u8", 1},
    TypeInfo{ElementType::UInt16, "u16", 2},
    TypeInfo{ElementType::UInt32, "u32", 4},
    TypeInfo{ElementType::UInt64, "u64", 8},
    TypeInfo{ElementType::Bool, "bool", 1},
    TypeInfo{ElementType::String, "string", 0},
    TypeInfo{ElementType::Float8E4M3FN, "f8e4m3fn", 1},
    TypeInfo{ElementType::Float8E4M3FNUZ, "f8e4m3fnuz", 1},
    TypeInfo{ElementType::Float8E5M2, "f8e5m2", 1},
    TypeInfo{ElementType::Float8E5M2FNUZ, "f8e5m2fnuz", 1},
    TypeInfo{ElementType::UInt4, "u4", 1},
    TypeInfo{ElementType::Int4, "i4", 1},
    TypeInfo{ElementType::Sequence, "sequence", 0},
    TypeInfo{ElementType::Optional, "optional", 0},
};

template <typename T>
bool holds(ElementType type) {
  if (type == element_type_of<T>()) return true;
  if constexpr (std::is_same_v<T, uint8_t>) {
    return type == ElementType::Bool || type == ElementType::UInt4 || is_float8(type);
  }
  if constexpr (std::is_same_v<T, int8_t>) return type == ElementType::Int4;
  if constexpr (std::is_same_v<T, uint16_t>) {
    return type == ElementType::Float16 || type == ElementType::BFloat16;
  }
  return false;
}

/// Refuses more than the machine has: such an allocation may succeed and end the process later.
void check_fits_memory(size_t bytes) {
  static const size_t physical = static_cast<size_t>(std::max(1L, ::sysconf(_SC_PHYS_PAGES))) *
                                 static_cast<size_t>(std::max(1L, ::sysconf(_SC_PAGESIZE)));
  if (bytes <= physical) return;
  throw UserError("a tensor of " + std::to_string(bytes) +
                  " bytes is larger than the memory of this machine");
}

const Float8Format& float8_format(ElementType type) {
  if (type == ElementType::Float8E4M3FN) return kFloat8E4M3FN;
  if (type == ElementType::Float8E4M3FNUZ) return kFloat8E4M3FNUZ;
  return type == ElementType::Float8E5M2 ? kFloat8E5M2 : kFloat8E5M2FNUZ;
}

/// Calls visit(i, element as double) for every element, whatever the type.
template <typename Visit>
void for_each_number(const Tensor& tensor, Visit visit) {
  const auto each = [&](auto span, auto convert) {
    for (size_t i = 0; i < span.size(); ++i) visit(i, convert(span[i]));
  };
  const auto plain = [](auto v) { return static_cast<double>(v); };
  switch (tensor.type()) {
    case ElementType::Float32:
      return each(tensor.data<float>(), plain);
    case ElementType::Float64:
      return each(tensor.data<double>(), plain);
    case ElementType::Float16:
      return each(tensor.data<uint16_t>(), [](uint16_t v) { return double{half_to_float(v)}; });
    case ElementType::BFloat16:
      return each(tensor.data<uint16_t>(), [](uint16_t v) { return double{bfloat_to_float(v)}; });
    case ElementType::Float8E4M3FN:
    case ElementType::Float8E4M3FNUZ:
    case ElementType::Float8E5M2:
    case ElementType::Float8E5M2FNUZ:
      return each(tensor.data<uint8_t>(), [&](uint8_t v) {
        return double{float8_to_float(v, float8_format(tensor.type()))};
      });
    case ElementType::Int8:
    case ElementType::Int4:
      return each(tensor.data<int8_t>(), plain);
    case ElementType::Int16:
      return each(tensor.data<int16_t>(), plain);
    case ElementType::Int32:
      return each(tensor.data<int32_t>(), plain);
    case ElementType::Int64:
      return each(tensor.data<int64_t>(), plain);
    case ElementType::UInt8:
    case ElementType::UInt4:
    case ElementType::Bool:
      return each(tensor.data<uint8_t>(), plain);
    case ElementType::UInt16:
      return each(tensor.data<uint16_t>(), plain);
    case ElementType::UInt32:
      return each(tensor.data<uint32_t>(), plain);
    case ElementType::UInt64:
      return each(tensor.data<uint64_t>(), plain);
    case ElementType::Undefined:
    case ElementType::String:
    case ElementType::Sequence:
    case ElementType::Optional:
      break;
  }
  throw InternalError("a tensor of type " + to_string(tensor.type()) + " holds no numbers");
}

/// Float to integer as hardware does it, but defined: saturates, NaN is 0.
template <typename To, typename From>
To convert_number(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    const auto low = static_cast<double>(std::numeric_limits<To>::lowest());
    const auto high = static_cast<double>(std::numeric_limits<To>::max());
    const auto v = static_cast<double>(value);
    if (v <= low) return std::numeric_limits<To>::lowest();
    if (v >= high) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

/// A number whose lowest four bits are those of a 4-bit integer: reals saturate.
template <typename From>
int32_t nibble(From value, int32_t low, int32_t high) {
  const auto whole = convert_number<int32_t>(value);
  return std::is_floating_point_v<From> ? std::clamp(whole, low, high) : whole;
}

/// Writes every element of `from` into `to` through `store(source element)`.
template <typename To, typename Store>
void convert_all(const Tensor& from, std::span<To> to, Store store) {
  const auto each = [&](auto span, auto load) {
    for (size_t i = 0; i < span.size(); ++i) to[i] = store(load(span[i]));
  };
  const auto same = [](auto v) { return v; };
  switch (from.type()) {
    case ElementType::Float32:
      return each(from.data<float>(), same);
    case ElementType::Float64:
      return each(from.data<double>(), same);
    case ElementType::Float16:
      return each(from.data<uint16_t>(), half_to_float);
    case ElementType::BFloat16:
      return each(from.data<uint16_t>(), bfloat_to_float);
    case ElementType::Float8E4M3FN:
    case ElementType::Float8E4M3FNUZ:
    case ElementType::Float8E5M2:
    case ElementType::Float8E5M2FNUZ:
      return each(from.data<uint8_t>(),
                  [&](uint8_t v) { return float8_to_float(v, float8_format(from.type())); });
    case ElementType::Int8:
    case ElementType::Int4:
      return each(from.data<int8_t>(), same);
    case ElementType::Int16:
      return each(from.data<int16_t>(), same);
    case ElementType::Int32:
      return each(from.data<int32_t>(), same);
    case ElementType::Int64:
      return each(from.data<int64_t>(), same);
    case ElementType::UInt8:
    case ElementType::UInt4:
    case ElementType::Bool:
      return each(from.data<uint8_t>(), same);
    case ElementType::UInt16:
      return each(from.data<uint16_t>(), same);
    case ElementType::UInt32:
      return each(from.data<uint32_t>(), same);
    case ElementType::UInt64:
      return each(from.data<uint64_t>(), same);
    case ElementType::Undefined:
    case ElementType::String:
    case ElementType::Sequence:
    case ElementType::Optional:
      break;
  }
  throw InternalError("cannot convert a tensor of type " + to_string(from.type()));
}

template <typename To>
void convert_plain(const Tensor& from, Tensor& to) {
  convert_all(from, to.data<To>(), [](auto v) { return convert_number<To>(v); });
}

}  // namespace

bool is_plain_data(ElementType type) { return element_size(type) > 0; }

bool is_float8(ElementType type) {
  return type == ElementType::Float8E4M3FN || type == ElementType::Float8E4M3FNUZ ||
         type == ElementType::Float8E5M2 || type == ElementType::Float8E5M2FNUZ;
}

size_t element_size(ElementType type) { return kTypes.at(static_cast<size_t>(type)).size; }

std::string to_string(ElementType type) { return kTypes.at(static_cast<size_t>(type)).name; }

ElementType parse_element_type(const std::string& text) {
  for (const TypeInfo& info : kTypes) {
    if (text == info.name) return info.type;
  }
  return ElementType::Undefined;
}

template <>
ElementType element_type_of<float>() {
  return ElementType::Float32;
}
template <>
ElementType element_type_of<double>() {
  return ElementType::Float64;
}
template <>
ElementType element_type_of<int8_t>() {
  return ElementType::Int8;
}
template <>
ElementType element_type_of<int16_t>() {
  return ElementType::Int16;
}
template <>
ElementType element_type_of<int32_t>() {
  return ElementType::Int32;
}
template <>
ElementType element_type_of<int64_t>() {
  return ElementType::Int64;
}
template <>
ElementType element_type_of<uint8_t>() {
  return ElementType::UInt8;
}
template <>
ElementType element_type_of<uint16_t>() {
  return ElementType::UInt16;
}
template <>
ElementType element_type_of<uint32_t>() {
  return ElementType::UInt32;
}
template <>
ElementType element_type_of<uint64_t>() {
  return ElementType::UInt64;
}
template <>
ElementType element_type_of<bool>() {
  return ElementType::Bool;
}
template <>
ElementType element_type_of<std::string>() {
  return ElementType::String;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0) throw UserError("negative size in shape " + to_string(shape));
    if (__builtin_mul_overflow(count, size, &count)) {
      throw UserError("shape " + to_string(shape) + " has too many elements");
    }
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

Tensor::Tensor(ElementType type, Shape shape)
    : type_(type), shape_(std::move(shape)), count_(element_count(shape_)) {
  if (type == ElementType::String) {
    auto strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count_));
    data_ = strings->data();
    owner_ = std::move(strings);
    return;
  }
  int64_t total = 0;
  if (__builtin_mul_overflow(count_, static_cast<int64_t>(element_size(type)), &total)) {
    throw UserError("shape " + to_string(shape_) + " has too many elements");
  }
  check_fits_memory(static_cast<size_t>(total));
  const std::shared_ptr<void> memory = allocate_aligned(static_cast<size_t>(total));
  data_ = memory.get();
  owner_ = memory;
}

template <typename T>
Tensor Tensor::of(Shape shape, const std::vector<T>& values) {
  Tensor tensor(element_type_of<T>(), std::move(shape));
  require(static_cast<size_t>(tensor.count_) == values.size(),
          "Tensor::of: the number of values does not fit shape " + to_string(tensor.shape_));
  if constexpr (std::is_same_v<T, std::string>) {
    std::copy(values.begin(), values.end(), tensor.strings().begin());
  } else {
    std::copy(values.begin(), values.end(), tensor.data<T>().begin());
  }
  return tensor;
}

Tensor Tensor::zeros(ElementType type, Shape shape) {
  Tensor tensor(type, std::move(shape));
  if (tensor.bytes() > 0) std::memset(tensor.raw(), 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::sequence(std::vector<Tensor> elements) {
  Tensor result;
  result.type_ = ElementType::Sequence;
  result.count_ = static_cast<int64_t>(elements.size());
  result.shape_ = {result.count_};
  auto owned = std::make_shared<std::vector<Tensor>>(std::move(elements));
  result.data_ = owned->data();
  result.owner_ = std::move(owned);
  return result;
}

Tensor Tensor::optional(const Tensor& element) {
  Tensor result =
      sequence(element.defined() ? std::vector<Tensor>{element} : std::vector<Tensor>{});
  result.type_ = ElementType::Optional;
  return result;
}

std::span<const Tensor> Tensor::tensors() const {
  require(type_ == ElementType::Sequence || type_ == ElementType::Optional,
          "tensor of type " + to_string(type_) + " read as a sequence");
  return {static_cast<const Tensor*>(data_), static_cast<size_t>(count_)};
}

Tensor Tensor::view(ElementType type, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.shape_ = std::move(shape);
  tensor.count_ = element_count(tensor.shape_);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

template <typename T>
std::span<const T> Tensor::data() const {
  require(holds<T>(type_), "tensor of type " + to_string(type_) + " read as another type");
  return {static_cast<const T*>(data_), static_cast<size_t>(count_)};
}

template <typename T>
std::span<T> Tensor::data() {
  require(holds<T>(type_), "tensor of type " + to_string(type_) + " written as another type");
  return {static_cast<T*>(data_), static_cast<size_t>(count_)};
}

#define OPSMITH_TENSOR_TYPE(T)                                 \
  template Tensor Tensor::of<T>(Shape, const std::vector<T>&); \
  template std::span<const T> Tensor::data<T>() const;         \
  template std::span<T> Tensor::data<T>();
OPSMITH_TENSOR_TYPE(float)
OPSMITH_TENSOR_TYPE(double)
OPSMITH_TENSOR_TYPE(int8_t)
OPSMITH_TENSOR_TYPE(int16_t)
OPSMITH_TENSOR_TYPE(int32_t)
OPSMITH_TENSOR_TYPE(int64_t)
OPSMITH_TENSOR_TYPE(uint8_t)
OPSMITH_TENSOR_TYPE(uint16_t)
OPSMITH_TENSOR_TYPE(uint32_t)
OPSMITH_TENSOR_TYPE(uint64_t)
OPSMITH_TENSOR_TYPE(bool)
#undef OPSMITH_TENSOR_TYPE
template Tensor Tensor::of<std::string>(Shape, const std::vector<std::string>&);

std::span<const std::string> Tensor::strings() const {
  require(type_ == ElementType::String, "tensor of type " + to_string(type_) + " read as strings");
  return {static_cast<const std::string*>(data_), static_cast<size_t>(count_)};
}

std::span<std::string> Tensor::strings() {
  require(type_ == ElementType::String, "tensor of type " + to_string(type_) + " read as strings");
  return {static_cast<std::string*>(data_), static_cast<size_t>(count_)};
}

Tensor Tensor::reshaped(Shape shape) const {
  require(element_count(shape) == count_,
          "reshape of " + to_string(shape_) + " to " + to_string(shape));
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  if (type_ == ElementType::Sequence || type_ == ElementType::Optional) {
    std::vector<Tensor> elements;
    for (const Tensor& element : tensors()) elements.push_back(element.clone());
    Tensor result = sequence(std::move(elements));
    result.type_ = type_;
    return result;
  }
  Tensor result(type_, shape_);
  if (type_ == ElementType::String) {
    std::ranges::copy(strings(), result.strings().begin());
  } else if (bytes() > 0) {
    std::memcpy(result.raw(), raw(), bytes());
  }
  return result;
}

Tensor Tensor::cast(ElementType type, bool saturate) const {
  if (type == type_) return clone();
  Tensor result(type, shape_);
  switch (type) {
    case ElementType::Float32:
      convert_plain<float>(*this, result);
      break;
    case ElementType::Float64:
      convert_plain<double>(*this, result);
      break;
    case ElementType::Float16:
      convert_all(*this, result.data<uint16_t>(),
                  [](auto v) { return float_to_half(static_cast<float>(v)); });
      break;
    case ElementType::BFloat16:
      convert_all(*this, result.data<uint16_t>(),
                  [](auto v) { return float_to_bfloat(static_cast<float>(v)); });
      break;
    case ElementType::Int8:
      convert_plain<int8_t>(*this, result);
      break;
    case ElementType::Int16:
      convert_plain<int16_t>(*this, result);
      break;
    case ElementType::Int32:
      convert_plain<int32_t>(*this, result);
      break;
    case ElementType::Int64:
      convert_plain<int64_t>(*this, result);
      break;
    case ElementType::UInt8:
      convert_plain<uint8_t>(*this, result);
      break;
    case ElementType::UInt16:
      convert_plain<uint16_t>(*this, result);
      break;
    case ElementType::UInt32:
      convert_plain<uint32_t>(*this, result);
      break;
    case ElementType::UInt64:
      convert_plain<uint64_t>(*this, result);
      break;
    case ElementType::Bool:
      convert_all(*this, result.data<uint8_t>(), [](auto v) { return uint8_t{v != 0}; });
      break;
    case ElementType::Float8E4M3FN:
    case ElementType::Float8E4M3FNUZ:
    case ElementType::Float8E5M2:
    case ElementType::Float8E5M2FNUZ:
      convert_all(*this, result.data<uint8_t>(), [&](auto v) {
        return float_to_float8(static_cast<float>(v), float8_format(type), saturate);
      });
      break;
    case ElementType::UInt4:
      convert_all(*this, result.data<uint8_t>(),
                  [](auto v) { return static_cast<uint8_t>(nibble(v, 0, 15) & 0xf); });
      break;
    case ElementType::Int4:
      convert_all(*this, result.data<int8_t>(),
                  [](auto v) { return static_cast<int8_t>(((nibble(v, -8, 7) & 0xf) ^ 8) - 8); });
      break;
    case ElementType::Undefined:
    case ElementType::String:
    case ElementType::Sequence:
    case ElementType::Optional:
      throw InternalError("cannot convert a tensor to type " + to_string(type));
  }
  return result;
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.type() == ElementType::String) return std::ranges::equal(a.strings(), b.strings());
  if (a.type() == ElementType::Sequence || a.type() == ElementType::Optional) {
    return std::ranges::equal(a.tensors(), b.tensors(), identical);
  }
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

double relative_error(const Tensor& a, const Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.shape() != b.shape()) return kInfinity;
  if (!is_plain_data(a.type()) || !is_plain_data(b.type())) {
    return identical(a, b) ? 0 : kInfinity;
  }
  std::vector<double> left(static_cast<size_t>(a.count()));
  for_each_number(a, [&](size_t i, double v) { left[i] = v; });
  double difference = 0, scale = 0;
  for_each_number(b, [&](size_t i, double right) {
    if (left[i] == right || (std::isnan(left[i]) && std::isnan(right))) {
      if (std::isfinite(right)) scale = std::max(scale, std::abs(right));
      return;
    }
    const double d = std::abs(left[i] - right);
    difference = std::isnan(d) ? kInfinity : std::max(difference, d);
    if (std::isfinite(right)) scale = std::max(scale, std::abs(right));
  });
  if (difference == 0) return 0;
  return scale == 0 ? difference / std::numeric_limits<float>::min() : difference / scale;
}

}  // namespace opsmith
