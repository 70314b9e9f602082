#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace opsmith {

/// Element types of the ONNX specification that opsmith knows; values are ours, not ONNX's.
enum class ElementType : uint8_t {
  Undefined,
  Float32,
  Float64,
  Float16,
  BFloat16,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Bool,
  String,
};

/// Bytes of one element; 0 for Undefined and String.
size_t element_size(ElementType type);

/// "f32", "i64", ...: the spelling of program texts and reports.
std::string to_string(ElementType type);

/// The inverse of to_string; Undefined if there is no such type.
ElementType parse_element_type(const std::string& text);

template <typename T>
ElementType element_type_of();
template <>
ElementType element_type_of<float>();
template <>
ElementType element_type_of<double>();
template <>
ElementType element_type_of<int8_t>();
template <>
ElementType element_type_of<int16_t>();
template <>
ElementType element_type_of<int32_t>();
template <>
ElementType element_type_of<int64_t>();
template <>
ElementType element_type_of<uint8_t>();
template <>
ElementType element_type_of<uint16_t>();
template <>
ElementType element_type_of<uint32_t>();
template <>
ElementType element_type_of<uint64_t>();
template <>
ElementType element_type_of<bool>();
template <>
ElementType element_type_of<std::string>();

using Shape = std::vector<int64_t>;

/// Number of elements; 1 for a scalar. Throws UserError when it overflows or a size is negative.
int64_t element_count(const Shape& shape);

std::string to_string(const Shape& shape);

/// A dense row-major tensor on the host. Copies share the elements; `clone` does not. Memory is
/// 64-byte aligned. A tensor may also view memory it does not own (see `view`).
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised elements (empty strings for String).
  Tensor(ElementType type, Shape shape);

  template <typename T>
  static Tensor of(Shape shape, const std::vector<T>& values);
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }
  static Tensor zeros(ElementType type, Shape shape);

  /// Elements at `data` that `owner` keeps alive (a mapped file, a caller's buffer, an arena).
  static Tensor view(ElementType type, Shape shape, void* data,
                     std::shared_ptr<const void> owner = nullptr);

  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_) * element_size(type_); }
  bool defined() const { return type_ != ElementType::Undefined; }

  const void* raw() const { return data_; }
  void* raw() { return data_; }

  /// The elements. Throws InternalError when T is not the element type. Bool is read as uint8_t
  /// or bool; Float16 and BFloat16 as uint16_t.
  template <typename T>
  std::span<const T> data() const;
  template <typename T>
  std::span<T> data();

  std::span<const std::string> strings() const;
  std::span<std::string> strings();

  /// The same elements under another shape of the same count.
  Tensor reshaped(Shape shape) const;
  Tensor clone() const;

  /// Elements converted as by a C++ cast (Float16 and BFloat16 through Float32), but defined
  /// everywhere: reals saturate to the range of an integer type, NaN becomes 0.
  Tensor cast(ElementType type) const;

 private:
  ElementType type_ = ElementType::Undefined;
  Shape shape_;
  int64_t count_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// Same type, shape and elements bit by bit.
bool identical(const Tensor& a, const Tensor& b);

/// max|a - b| / max|b| over all elements ("relative error" everywhere in opsmith), computed in
/// double; 0 for two empty tensors, infinity when the shapes differ or exactly one holds a NaN.
double relative_error(const Tensor& a, const Tensor& b);

}  // namespace opsmith
