#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/file.h"
#include "support/tensor.h"

namespace onnx {
class TensorProto;
}

namespace opsmith::exporter {

/// Writes tensors into their messages or, given a data file, large ones there. A tensor that
/// several values share lies in the data file once.
class TensorWriter {
 public:
  TensorWriter() = default;
  /// `location` is the name of the data file as the model names it.
  TensorWriter(FileWriter* data, std::string location)
      : data_(data), location_(std::move(location)) {}

  void write(const Tensor& tensor, onnx::TensorProto& proto);

 private:
  FileWriter* data_ = nullptr;
  std::string location_;
  int64_t position_ = 0;
  std::map<std::pair<const void*, size_t>, int64_t> offsets_;
};

}  // namespace opsmith::exporter
