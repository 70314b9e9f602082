#include "importer/tensor_reader.h"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "support/error.h"
#include "support/tensor_proto.h"

namespace opsmith::importer {
namespace {

namespace fs = std::filesystem;

constexpr uintptr_t kAlignment = 64;

int64_t parse_number(const std::string& text, const std::string& key, const std::string& what) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    throw UserError(what + ": external data has the " + key + " '" + text +
                    "', which is no number");
  }
  return number;
}

bool inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// Where the data file lies. It must be in the folder of the model, or, where both are links (as
/// in a download cache), in the folder that the model's link leads to.
std::string locate(const std::string& model_path, const std::string& location,
                   const std::string& what) {
  const fs::path relative(location);
  const fs::path folder = fs::path(model_path).parent_path();
  const fs::path path = folder / relative;
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(path, failure);
  const fs::path real_folder = fs::weakly_canonical(folder.empty() ? "." : folder, failure);
  const fs::path link_folder = fs::weakly_canonical(model_path, failure).parent_path();
  const bool plain = !location.empty() && !relative.is_absolute() &&
                     inside(path.lexically_normal(), folder.lexically_normal());
  if (failure || !plain || !(inside(real, real_folder) || inside(real, link_folder))) {
    throw UserError(what + ": its external data lies in '" + location +
                    "', outside the folder of the model, which is not read for safety; move the "
                    "file beside the model and export it again");
  }
  if (!fs::is_regular_file(real, failure)) {
    throw UserError(what + ": its external data file '" + path.string() +
                    "' is missing; put it beside the model");
  }
  return path.string();
}

}  // namespace

TensorReader::Region TensorReader::external(const onnx::TensorProto& proto,
                                            const std::string& what) {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), "offset", what);
    if (entry.key() == "length") length = parse_number(entry.value(), "length", what);
  }
  auto found = files_.find(location);
  if (found == files_.end()) {
    const std::string path = locate(model_path_, location, what);
    found = files_.emplace(location, MappedFile::open(path)).first;
  }
  const std::string_view bytes = found->second->bytes();
  const auto size = static_cast<int64_t>(bytes.size());
  if (length < 0) length = std::max<int64_t>(size - offset, 0);
  if (offset > size || length > size - offset) {
    throw UserError(what + ": its external data file '" + location + "' ends at byte " +
                    std::to_string(size) + ", but bytes " + std::to_string(offset) + " to " +
                    std::to_string(offset) + "+" + std::to_string(length) +
                    " are needed; the file is truncated, copy it again");
  }
  return {bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length)), found->second};
}

Tensor TensorReader::read(const onnx::TensorProto& proto, const std::string& what) {
  if (proto.data_location() != onnx::TensorProto::EXTERNAL) return tensor_from_proto(proto, what);
  const ElementType type = element_type_from_onnx(proto.data_type());
  if (type == ElementType::Undefined || type == ElementType::String) {
    throw Unsupported(what + ": element type number " + std::to_string(proto.data_type()) +
                      " is not supported in external data");
  }
  const Shape shape = shape_from_proto(proto, what);
  const Region region = external(proto, what);
  int64_t needed = packed_bytes(element_count(shape));
  if ((!is_packed(type) &&
       __builtin_mul_overflow(element_count(shape), static_cast<int64_t>(element_size(type)),
                              &needed)) ||
      needed != static_cast<int64_t>(region.bytes.size())) {
    throw UserError(what + ": its external data has " + std::to_string(region.bytes.size()) +
                    " bytes, which do not fit its shape " + to_string(shape) + " of " +
                    to_string(type));
  }
  if (is_packed(type)) return unpack_nibbles(region.bytes, type, shape);
  const auto address = reinterpret_cast<uintptr_t>(region.bytes.data());
  if (address % kAlignment == 0 && type != ElementType::Bool && needed > 0) {
    // The mapping is private, so that writing through the view could not reach the file.
    return Tensor::view(type, shape, const_cast<char*>(region.bytes.data()), region.file);
  }
  Tensor tensor(type, shape);
  if (needed > 0) std::memcpy(tensor.raw(), region.bytes.data(), region.bytes.size());
  if (type == ElementType::Bool) {
    for (uint8_t& flag : tensor.data<uint8_t>()) flag = flag != 0;
  }
  return tensor;
}

void TensorReader::embed(onnx::TensorProto& proto, const std::string& what) {
  if (proto.data_location() != onnx::TensorProto::EXTERNAL) return;
  const Region region = external(proto, what);
  proto.set_raw_data(region.bytes.data(), region.bytes.size());
  proto.clear_external_data();
  proto.clear_data_location();
}

}  // namespace opsmith::importer
