#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "support/sample_range.h"
#include "support/tensor.h"

namespace opsmith {

/// One "[NAME=]FILE[[BEGIN:END]]" of a command line.
struct TensorSource {
  std::string name;  ///< of the model's input; empty: as the file says, else the only input
  std::string path;
  SampleRange samples;
};
TensorSource parse_tensor_source(const std::string& text);

/// Loads by extension: .npy, .npz, .pb (ONNX TensorProto), IDX (also .gz), or a folder of ONNX test
/// data ("input_0.pb" ..., itself or in "test_data_set_N", which are stacked along the first
/// dimension). `names` are the model's inputs in order; a tensor whose file gives no name takes the
/// source's, else its place in `names`.
///
/// IDX images [N, H, W] become float32 [N, 1, H, W]; IDX labels [N] become int64.
/// Throws UserError naming the file and a remedy.
std::map<std::string, Tensor> load_tensors(const TensorSource& source,
                                           std::span<const std::string> names);

/// Loads several sources into one map. Throws UserError when two give the same name.
std::map<std::string, Tensor> load_tensors(std::span<const TensorSource> sources,
                                           std::span<const std::string> names);

/// The tensors of equal element type and equal shape but for the first dimension, one after the
/// other along it. Throws UserError naming `origin`.
Tensor stack_samples(std::span<const Tensor> tensors, const std::string& origin);

/// Writes by extension: .npz takes all, .npy and .pb exactly one. Throws UserError.
void save_tensors(const std::string& path, const std::map<std::string, Tensor>& tensors);

}  // namespace opsmith
