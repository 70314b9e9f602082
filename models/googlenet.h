#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// GoogLeNet (Szegedy et al., arXiv 1409.4842) with batch normalisation and without the auxiliary
/// classifiers, as torchvision deploys it, for images of 224x224.
graph::Model googlenet(const ModelOptions& options);

}  // namespace opsmith::models
