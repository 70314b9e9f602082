#include "models/densenet.h"

#include <array>

#include "models/builder.h"

namespace opsmith::models {

using graph::ValueId;

namespace {

/// BN, ReLU, 1x1 to four times the growth, BN, ReLU, 3x3 to the growth; joined to the input.
ValueId dense_layer(Builder& b, ValueId x, int64_t growth, const std::string& name) {
  ValueId y = b.relu(b.batch_norm(x, name + ".norm1"));
  y = b.conv(y, 4 * growth, Window::square(1), name + ".conv1");
  y = b.relu(b.batch_norm(y, name + ".norm2"));
  // The joined tensor is normalised again by every later layer, so that the gain stays 1.
  ConvOptions linear;
  linear.gain = 1;
  y = b.conv(y, growth, Window::square(3), name + ".conv2", linear);
  return b.concat({x, y});
}

}  // namespace

graph::Model densenet121(const ModelOptions& options) {
  Builder b("densenet121", options);
  const int64_t growth = b.width(32);
  ValueId x = b.image_input(3, 224);
  x = b.conv_bn_relu(x, b.width(64), Window::square(7, 2), "stem");
  x = b.max_pool(x, Window::square(3, 2));
  constexpr std::array<int, 4> kLayers{6, 12, 24, 16};
  for (size_t block = 0; block < kLayers.size(); ++block) {
    const std::string name = "denseblock" + std::to_string(block + 1);
    for (int layer = 0; layer < kLayers[block]; ++layer) {
      x = dense_layer(b, x, growth, name + "." + std::to_string(layer));
    }
    if (block + 1 == kLayers.size()) break;
    const std::string transition = "transition" + std::to_string(block + 1);
    x = b.relu(b.batch_norm(x, transition + ".norm"));
    x = b.conv(x, b.channels(x) / 2, Window::square(1), transition + ".conv");
    x = b.average_pool(x, Window::square(2, 2, 0));
  }
  x = b.relu(b.batch_norm(x, "norm5"));
  x = b.linear(b.flatten(b.global_average_pool(x)), options.classes, "classifier");
  return b.finish({{"logits", x}});
}

}  // namespace opsmith::models
