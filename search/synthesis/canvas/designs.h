#pragma once

#include <string>
#include <vector>

#include "search/synthesis/canvas/kernel.h"

namespace opsmith::synthesis::canvas {

/// A design that people made, recognised in a kernel by its structure.
struct KnownDesign {
  std::string name;
  std::string description;
  bool (*found_in)(const Kernel& kernel) = nullptr;
};

const std::vector<KnownDesign>& known_designs();

}  // namespace opsmith::synthesis::canvas
