#pragma once

#include <string>

#include "support/sample_range.h"
#include "support/tensor.h"

namespace opsmith {

/// Reads an IDX file (the format of MNIST: http://yann.lecun.com/exdb/mnist/), plain or gzipped, as
/// the element type it holds. Only as much is unpacked as the chosen samples need. Throws UserError
/// naming the file and what is wrong with it.
Tensor read_idx(const std::string& path, const SampleRange& samples = {});

/// Whether the name is one that IDX files usually have: "*-idx3-ubyte", "*.idx", either with ".gz".
bool has_idx_name(const std::string& path);

}  // namespace opsmith
