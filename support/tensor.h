#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace opsmith {

/// Element types of the ONNX specification that opsmith knows; values are ours, not ONNX's. 4-bit
/// integers take a byte each in memory. Sequence and Optional are no elements of tensors but what
/// a value of a model may be instead: their "elements" are tensors (see Tensor::tensors).
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
  Float8E4M3FN,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ,
  UInt4,
  Int4,
  Sequence,
  Optional,
};

/// Whether elements are numbers or truth values, of a fixed size in memory.
bool is_plain_data(ElementType type);
bool is_float8(ElementType type);

/// Bytes of one element; 0 for Undefined, String, Sequence and Optional.
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
  /// or bool; Float16 and BFloat16 as uint16_t; the 8-bit floats and UInt4 as uint8_t, Int4 as
  /// int8_t.
  template <typename T>
  std::span<const T> data() const;
  template <typename T>
  std::span<T> data();

  std::span<const std::string> strings() const;
  std::span<std::string> strings();

  /// A sequence: a value of shape [n] whose n elements are tensors, sequences or optionals.
  static Tensor sequence(std::vector<Tensor> elements);
  /// An optional: of shape [1] when it holds `element`, of shape [0] when that is undefined.
  static Tensor optional(const Tensor& element);
  /// The elements of a sequence or optional.
  std::span<const Tensor> tensors() const;

  /// The same elements under another shape of the same count.
  Tensor reshaped(Shape shape) const;
  Tensor clone() const;

  /// Elements converted as by a C++ cast (16- and 8-bit floats through Float32), but defined
  /// everywhere: reals saturate to the range of an integer type, NaN becomes 0. What is too large
  /// for an 8-bit float becomes its largest number when `saturate`, else infinity or NaN. 4-bit
  /// integers keep the lowest four bits.
  Tensor cast(ElementType type, bool saturate = true) const;

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
