#include "search/study/augmentation.h"

#include <algorithm>
#include <vector>

namespace opsmith::search {

namespace {

void move_image(float* image, int64_t channels, int64_t height, int64_t width, bool mirrored,
                int64_t down, int64_t right) {
  std::vector<float> moved(static_cast<size_t>(height * width));
  for (int64_t c = 0; c < channels; ++c) {
    float* plane = image + c * height * width;
    for (int64_t h = 0; h < height; ++h) {
      const int64_t row = std::clamp<int64_t>(h - down, 0, height - 1);
      for (int64_t w = 0; w < width; ++w) {
        const int64_t column = std::clamp<int64_t>(w - right, 0, width - 1);
        moved[static_cast<size_t>(h * width + w)] =
            plane[row * width + (mirrored ? width - 1 - column : column)];
      }
    }
    std::copy(moved.begin(), moved.end(), plane);
  }
}

}  // namespace

Augmentation image_augmentation(bool flip, int64_t shift) {
  if (!flip && shift <= 0) return {};
  return [flip, shift](Tensors& batch, Random& random) {
    for (auto& [name, tensor] : batch) {
      if (tensor.rank() != 4 || tensor.type() != ElementType::Float32) continue;
      const Shape& shape = tensor.shape();
      float* images = tensor.data<float>().data();
      for (int64_t n = 0; n < shape[0]; ++n) {
        const bool mirrored = flip && random.integer(0, 1) == 1;
        const int64_t down = random.integer(-shift, shift);
        const int64_t right = random.integer(-shift, shift);
        move_image(images + n * shape[1] * shape[2] * shape[3], shape[1], shape[2], shape[3],
                   mirrored, down, right);
      }
    }
  };
}

}  // namespace opsmith::search
