#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/schedule/schedule.h"

namespace opsmith::schedule {

/// What a schedule can be looked up by. Two kernels are of one class when their programs differ
/// in numbers alone: extents, strides, dilations, padding, window sizes.
struct KernelKey {
  std::string kernel_class;         ///< hash of the program with its numbers taken out
  std::vector<int64_t> parameters;  ///< those numbers, in order of appearance
  std::string layouts;              ///< of inputs, weights and outputs, and their element types
  std::string target;               ///< Target::key()

  /// "3,64,56,...": the stored form of the parameters.
  std::string parameter_text() const;
};

/// Key of a bound program under layouts and a target.
KernelKey kernel_key(const expression::Program& program,
                     const std::map<std::string, Layout>& layouts, const Target& target);

}  // namespace opsmith::schedule
