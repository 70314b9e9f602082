#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// DenseNet-121, growth 32 (Huang et al., arXiv 1608.06993), for images of 224x224.
graph::Model densenet121(const ModelOptions& options);

}  // namespace opsmith::models
