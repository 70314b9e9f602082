#include "exporter/tensor_writer.h"

#include <onnx/onnx_pb.h>

#include "support/tensor_proto.h"

namespace opsmith::exporter {
namespace {

constexpr size_t kSmallestExternal = 1024;
/// A page, so that a reader can map each tensor.
constexpr int64_t kAlignment = 4096;

void add_entry(onnx::TensorProto& proto, const std::string& key, const std::string& value) {
  auto* entry = proto.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

}  // namespace

void TensorWriter::write(const Tensor& tensor, onnx::TensorProto& proto) {
  if (!data_ || tensor.bytes() < kSmallestExternal) return tensor_to_proto(tensor, proto);
  const std::string packed = is_packed(tensor.type()) ? pack_nibbles(tensor) : std::string();
  const std::string_view bytes =
      is_packed(tensor.type())
          ? std::string_view(packed)
          : std::string_view(static_cast<const char*>(tensor.raw()), tensor.bytes());
  const auto [place, fresh] = offsets_.try_emplace({tensor.raw(), tensor.bytes()}, position_);
  if (fresh) {
    const int64_t padding = (kAlignment - position_ % kAlignment) % kAlignment;
    data_->write(std::string(static_cast<size_t>(padding), '\0'));
    place->second = position_ + padding;
    data_->write(bytes);
    page_out(tensor.raw(), tensor.bytes());  // of a model that was mapped as large as this
    position_ = place->second + static_cast<int64_t>(bytes.size());
  }
  proto.set_data_type(onnx_data_type(tensor.type()));
  for (const int64_t size : tensor.shape()) proto.add_dims(size);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  add_entry(proto, "location", location_);
  add_entry(proto, "offset", std::to_string(place->second));
  add_entry(proto, "length", std::to_string(bytes.size()));
}

}  // namespace opsmith::exporter
