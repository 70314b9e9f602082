#include "support/onnx_tensor.h"

#include <onnx/onnx_pb.h>

#include <limits>

#include "support/error.h"
#include "support/file.h"
#include "support/tensor_proto.h"

namespace opsmith {

NamedTensor read_onnx_tensor(const std::string& path) {
  NamedTensor result;
  result.tensor = parse_tensor_proto(read_file(path), "'" + path + "'", &result.name);
  return result;
}

void write_onnx_tensor(const std::string& path, const NamedTensor& tensor) {
  if (tensor.tensor.bytes() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) / 2) {
    throw UserError("'" + path + "': a tensor above 1 GB does not fit an ONNX tensor file; " +
                    "use .npy");
  }
  onnx::TensorProto proto;
  proto.set_name(tensor.name);
  tensor_to_proto(tensor.tensor, proto);
  write_file(path, proto.SerializeAsString());
}

}  // namespace opsmith
