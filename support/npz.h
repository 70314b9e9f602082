#pragma once

#include <map>
#include <string>

#include "support/sample_range.h"
#include "support/tensor.h"

namespace opsmith {

/// Reads every array of a NumPy .npz archive (stored or deflated) by name. Throws UserError naming
/// the file, the array and what is wrong with it.
std::map<std::string, Tensor> read_npz(const std::string& path, const SampleRange& samples = {});

/// Writes what numpy.load reads; the same tensors give the same bytes.
void write_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
               bool deflate = false);

}  // namespace opsmith
