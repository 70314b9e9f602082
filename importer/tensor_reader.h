#pragma once

#include <map>
#include <memory>
#include <string>

#include "support/file.h"
#include "support/tensor.h"

namespace onnx {
class TensorProto;
}

namespace opsmith::importer {

/// Reads tensors of one model, from the message or from data files beside the model.
class TensorReader {
 public:
  explicit TensorReader(std::string model_path) : model_path_(std::move(model_path)) {}

  /// Large external tensors view the mapped file. Throws UserError naming `what`, and the data
  /// file with a remedy where that is at fault; Unsupported for element types we do not know.
  Tensor read(const onnx::TensorProto& proto, const std::string& what);

  /// Moves external bytes into the message, for tensors that are kept serialized.
  void embed(onnx::TensorProto& proto, const std::string& what);

 private:
  /// The bytes of an external tensor, and the file that holds them.
  struct Region {
    std::string_view bytes;
    std::shared_ptr<const MappedFile> file;
  };
  Region external(const onnx::TensorProto& proto, const std::string& what);

  std::string model_path_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace opsmith::importer
