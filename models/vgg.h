#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// VGG-16 (Simonyan and Zisserman, arXiv 1409.1556, configuration D), for images of 224x224.
graph::Model vgg16(const ModelOptions& options);

}  // namespace opsmith::models
