#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/tensor.h"

namespace opsmith {

/// Samples [begin, end) along the first dimension; no end: to the last.
struct SampleRange {
  int64_t begin = 0;
  std::optional<int64_t> end;
  bool all() const { return begin == 0 && !end; }
};

/// The range within `count` samples, its end filled in. Throws UserError naming `origin` when it
/// reaches beyond them or is empty.
SampleRange resolve(const SampleRange& range, int64_t count, const std::string& origin);

/// A copy of the chosen samples; the tensor itself when all are. Throws UserError naming `origin`.
Tensor slice_samples(const Tensor& tensor, const SampleRange& samples, const std::string& origin);

/// Takes a suffix "[begin:end]", "[begin:]" or "[:end]" off `path`; all samples without one.
/// Throws UserError when it is malformed.
SampleRange take_sample_range(std::string& path);

}  // namespace opsmith
