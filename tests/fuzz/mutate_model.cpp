// How libFuzzer changes models.

#include <onnx/onnx_pb.h>

#include "tests/fuzz/protobuf_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

/// Mostly changes of the message, so that what lies behind the parser is reached; sometimes of the
/// bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  onnx::ModelProto model;
  if (seed % 16 == 0 || !model.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, most);
  }
  opsmith::fuzz::mutate(model, seed);
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > most) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
