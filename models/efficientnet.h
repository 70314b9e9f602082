#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// EfficientNet-B0 (Tan and Le, arXiv 1905.11946), for images of 224x224: inverted residuals with
/// squeeze-and-excitation and the swish activation.
graph::Model efficientnet_b0(const ModelOptions& options);

}  // namespace opsmith::models
