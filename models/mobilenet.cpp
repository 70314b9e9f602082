#include "models/mobilenet.h"

#include "models/builder.h"

namespace opsmith::models {

using graph::ValueId;

namespace {

constexpr double kBranchScale = 0.5;

ValueId conv_bn_relu6(Builder& b, ValueId x, int64_t channels, const Window& window,
                      const std::string& name, int64_t groups = 1) {
  ConvOptions options;
  options.groups = groups;
  return b.relu6(b.batch_norm(b.conv(x, channels, window, name + ".conv", options), name + ".bn"));
}

/// Expand by 1x1, filter each channel by 3x3, project by 1x1 without activation.
ValueId inverted_residual(Builder& b, ValueId x, int64_t outputs, int64_t expansion, int64_t stride,
                          const std::string& name) {
  const int64_t inputs = b.channels(x);
  const bool residual = stride == 1 && inputs == outputs;
  ValueId y = x;
  if (expansion > 1) {
    y = conv_bn_relu6(b, y, inputs * expansion, Window::square(1), name + ".expand");
  }
  y = conv_bn_relu6(b, y, inputs * expansion, Window::square(3, stride), name + ".depthwise",
                    inputs * expansion);
  ConvOptions linear;
  linear.gain = 1;
  y = b.conv(y, outputs, Window::square(1), name + ".project.conv", linear);
  y = b.batch_norm(y, name + ".project.bn", residual ? kBranchScale : 1);
  return residual ? b.add(x, y) : y;
}

struct Stage {
  int64_t expansion, channels, blocks, stride;
};

}  // namespace

graph::Model mobilenet_v2(const ModelOptions& options) {
  Builder b("mobilenet_v2", options);
  ValueId x = b.image_input(3, 224);
  x = conv_bn_relu6(b, x, b.width(32), Window::square(3, 2), "stem");
  int number = 0;
  for (const Stage& stage : std::vector<Stage>{{1, 16, 1, 1},
                                               {6, 24, 2, 2},
                                               {6, 32, 3, 2},
                                               {6, 64, 4, 2},
                                               {6, 96, 3, 1},
                                               {6, 160, 3, 2},
                                               {6, 320, 1, 1}}) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      x = inverted_residual(b, x, b.width(stage.channels), stage.expansion,
                            i == 0 ? stage.stride : 1, "features." + std::to_string(number++));
    }
  }
  x = conv_bn_relu6(b, x, b.width(1280), Window::square(1), "head");
  x = b.linear(b.flatten(b.global_average_pool(x)), options.classes, "classifier");
  return b.finish({{"logits", x}});
}

}  // namespace opsmith::models
