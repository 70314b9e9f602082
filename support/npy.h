#pragma once

#include <string>
#include <string_view>

#include "support/sample_range.h"
#include "support/tensor.h"

namespace opsmith {

/// Reads NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py), either byte order, C or
/// Fortran order. Only the chosen samples of a C-ordered file are read from the disk.
/// Throws UserError naming the file and what is wrong with it.
Tensor read_npy(const std::string& path, const SampleRange& samples = {});

/// The same from memory; `origin` names the source in errors.
Tensor parse_npy(std::string_view bytes, const std::string& origin,
                 const SampleRange& samples = {});

/// Writes version 1.0, C order. BFloat16 and String have no NumPy type: UserError.
void write_npy(const std::string& path, const Tensor& tensor);
std::string npy_bytes(const Tensor& tensor);

}  // namespace opsmith
