#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// MobileNet-V2 of width 1.0 (Sandler et al., arXiv 1801.04381), for images of 224x224.
graph::Model mobilenet_v2(const ModelOptions& options);

}  // namespace opsmith::models
