#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// Residual networks (He et al., arXiv 1512.03385, with the stride on the 3x3 convolution as
/// torchvision has it) and ResNeXt 32x4d (Xie et al., arXiv 1611.05431), for images of 224x224.
graph::Model resnet18(const ModelOptions& options);
graph::Model resnet34(const ModelOptions& options);
graph::Model resnet50(const ModelOptions& options);
graph::Model resnext50(const ModelOptions& options);

}  // namespace opsmith::models
