#pragma once

#include <cstdint>
#include <functional>

#include "search/samples.h"
#include "support/random.h"

namespace opsmith::search {

/// Changes a batch of inputs into others of the same kind, in place; the original is asked for its
/// outputs afterwards. Empty: inputs are used as they are.
using Augmentation = std::function<void(Tensors& batch, Random& random)>;

/// Mirrors half of the images [n, c, h, w] left to right and shifts each by up to `shift` pixels in
/// both directions, repeating its border. Other tensors stay as they are.
Augmentation image_augmentation(bool flip, int64_t shift);

}  // namespace opsmith::search
