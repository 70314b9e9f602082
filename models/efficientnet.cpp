#include "models/efficientnet.h"

#include <algorithm>

#include "models/builder.h"

namespace opsmith::models {

using graph::ValueId;

namespace {

constexpr double kBranchScale = 0.5;

/// x sigmoid(x), as exporters write it.
ValueId swish(Builder& b, ValueId x) { return b.mul(x, b.sigmoid(x)); }

ValueId conv_bn_swish(Builder& b, ValueId x, int64_t channels, const Window& window,
                      const std::string& name, int64_t groups = 1) {
  ConvOptions options;
  options.groups = groups;
  return swish(b, b.batch_norm(b.conv(x, channels, window, name + ".conv", options), name + ".bn"));
}

/// A weight per channel from what the whole image holds.
ValueId squeeze_and_excite(Builder& b, ValueId x, int64_t squeezed, const std::string& name) {
  ConvOptions options;
  options.bias = true;
  ValueId scale = b.global_average_pool(x);
  scale = swish(b, b.conv(scale, squeezed, Window::square(1), name + ".squeeze", options));
  scale = b.conv(scale, b.channels(x), Window::square(1), name + ".excite", options);
  return b.mul(x, b.sigmoid(scale));
}

struct Stage {
  int64_t expansion, kernel, channels, blocks, stride;
};

ValueId block(Builder& b, ValueId x, const Stage& stage, int64_t stride, const std::string& name) {
  const int64_t inputs = b.channels(x), middle = inputs * stage.expansion;
  const int64_t outputs = b.width(stage.channels);
  const bool residual = stride == 1 && inputs == outputs;
  ValueId y = x;
  if (stage.expansion > 1) y = conv_bn_swish(b, y, middle, Window::square(1), name + ".expand");
  y = conv_bn_swish(b, y, middle, Window::square(stage.kernel, stride), name + ".depthwise",
                    middle);
  y = squeeze_and_excite(b, y, std::max<int64_t>(1, inputs / 4), name + ".se");
  // The excitation halves what passes, roughly; the projection makes up for it.
  ConvOptions projection;
  projection.gain = 4;
  y = b.conv(y, outputs, Window::square(1), name + ".project.conv", projection);
  y = b.batch_norm(y, name + ".project.bn", residual ? kBranchScale : 1);
  return residual ? b.add(x, y) : y;
}

}  // namespace

graph::Model efficientnet_b0(const ModelOptions& options) {
  Builder b("efficientnet_b0", options);
  ValueId x = b.image_input(3, 224);
  x = conv_bn_swish(b, x, b.width(32), Window::square(3, 2), "stem");
  int number = 0;
  for (const Stage& stage : std::vector<Stage>{{1, 3, 16, 1, 1},
                                               {6, 3, 24, 2, 2},
                                               {6, 5, 40, 2, 2},
                                               {6, 3, 80, 3, 2},
                                               {6, 5, 112, 3, 1},
                                               {6, 5, 192, 4, 2},
                                               {6, 3, 320, 1, 1}}) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      x = block(b, x, stage, i == 0 ? stage.stride : 1, "blocks." + std::to_string(number++));
    }
  }
  x = conv_bn_swish(b, x, b.width(1280), Window::square(1), "head");
  x = b.linear(b.flatten(b.global_average_pool(x)), options.classes, "classifier");
  return b.finish({{"logits", x}});
}

}  // namespace opsmith::models
