#include "runtime/kernels/plain/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "support/error.h"

namespace opsmith::kernels {
namespace {

template <typename T>
std::string real_text(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  const double size = std::fabs(static_cast<double>(value));
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {buffer.data(), end.ptr};
}

}  // namespace

std::string number_text(const Tensor& tensor, size_t at) {
  switch (tensor.type()) {
    case ElementType::Float64:
      return real_text(tensor.data<double>()[at]);
    case ElementType::UInt64:
      return std::to_string(tensor.data<uint64_t>()[at]);
    case ElementType::Int64:
      return std::to_string(tensor.data<int64_t>()[at]);
    case ElementType::Float32:
      return real_text(tensor.data<float>()[at]);
    default:
      break;
  }
  // One element of a type that a float or a 64-bit integer holds exactly.
  const size_t size = element_size(tensor.type());
  auto* element = const_cast<char*>(static_cast<const char*>(tensor.raw())) + at * size;
  const Tensor one = Tensor::view(tensor.type(), {}, element);
  const bool real = tensor.type() == ElementType::Float16 ||
                    tensor.type() == ElementType::BFloat16 || is_float8(tensor.type());
  return number_text(one.cast(real ? ElementType::Float32 : ElementType::Int64), 0);
}

ParsedNumber parse_number_text(const std::string& text, const graph::Node& node) {
  const char* begin = text.data();
  const char* const end = text.data() + text.size();
  while (begin != end && std::isspace(static_cast<unsigned char>(*begin)) != 0) ++begin;
  const char* last = end;
  while (last != begin && std::isspace(static_cast<unsigned char>(last[-1])) != 0) --last;
  if (begin != last && *begin == '+') ++begin;
  ParsedNumber number;
  const auto real = std::from_chars(begin, last, number.real);
  if (real.ec != std::errc() || real.ptr != last || begin == last) {
    throw UserError(describe(node) + ": '" + text + "' is no number");
  }
  const auto whole = std::from_chars(begin, last, number.whole);
  if (whole.ec != std::errc() || whole.ptr != last) {
    number.whole = Tensor::scalar(number.real).cast(ElementType::Int64).data<int64_t>()[0];
  }
  return number;
}

ElementType named_element_type(const std::string& name, const graph::Node& node) {
  static const std::map<std::string, ElementType> types = {
      {"FLOAT", ElementType::Float32},  {"UINT8", ElementType::UInt8},
      {"INT8", ElementType::Int8},      {"UINT16", ElementType::UInt16},
      {"INT16", ElementType::Int16},    {"INT32", ElementType::Int32},
      {"INT64", ElementType::Int64},    {"STRING", ElementType::String},
      {"BOOL", ElementType::Bool},      {"FLOAT16", ElementType::Float16},
      {"DOUBLE", ElementType::Float64}, {"UINT32", ElementType::UInt32},
      {"UINT64", ElementType::UInt64}};
  const auto found = types.find(name);
  if (found == types.end()) throw UserError(describe(node) + ": element type '" + name + "'");
  return found->second;
}

}  // namespace opsmith::kernels
