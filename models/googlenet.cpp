#include "models/googlenet.h"

#include "models/builder.h"

namespace opsmith::models {

using graph::ValueId;

namespace {

/// Widths of the four branches of an inception module.
struct Inception {
  const char* name;
  int64_t direct, reduce3, conv3, reduce5, conv5, pooled;
  int64_t pool_before = 0;  ///< window of the pooling that halves the image first; 0: none
};

ValueId inception(Builder& b, ValueId x, const Inception& m) {
  const std::string name = std::string("inception") + m.name;
  const ValueId direct = b.conv_bn_relu(x, b.width(m.direct), Window::square(1), name + ".1");
  ValueId three = b.conv_bn_relu(x, b.width(m.reduce3), Window::square(1), name + ".2.reduce");
  three = b.conv_bn_relu(three, b.width(m.conv3), Window::square(3), name + ".2");
  // Called 5x5 in the paper; torchvision's weights are of a 3x3.
  ValueId five = b.conv_bn_relu(x, b.width(m.reduce5), Window::square(1), name + ".3.reduce");
  five = b.conv_bn_relu(five, b.width(m.conv5), Window::square(3), name + ".3");
  ValueId pooled = b.max_pool(x, Window::square(3));
  pooled = b.conv_bn_relu(pooled, b.width(m.pooled), Window::square(1), name + ".4");
  return b.concat({direct, three, five, pooled});
}

}  // namespace

graph::Model googlenet(const ModelOptions& options) {
  Builder b("googlenet", options);
  const auto halve = [&](ValueId of, int64_t size) {
    Window window = Window::square(size, 2, 0);
    window.ceiling = true;
    return b.max_pool(of, window);
  };
  ValueId x = b.image_input(3, 224);
  x = halve(b.conv_bn_relu(x, b.width(64), Window::square(7, 2), "conv1"), 3);
  x = b.conv_bn_relu(x, b.width(64), Window::square(1), "conv2");
  x = halve(b.conv_bn_relu(x, b.width(192), Window::square(3), "conv3"), 3);
  for (const Inception& module : std::vector<Inception>{{"3a", 64, 96, 128, 16, 32, 32},
                                                        {"3b", 128, 128, 192, 32, 96, 64},
                                                        {"4a", 192, 96, 208, 16, 48, 64, 3},
                                                        {"4b", 160, 112, 224, 24, 64, 64},
                                                        {"4c", 128, 128, 256, 24, 64, 64},
                                                        {"4d", 112, 144, 288, 32, 64, 64},
                                                        {"4e", 256, 160, 320, 32, 128, 128},
                                                        {"5a", 256, 160, 320, 32, 128, 128, 2},
                                                        {"5b", 384, 192, 384, 48, 128, 128}}) {
    if (module.pool_before > 0) x = halve(x, module.pool_before);
    x = inception(b, x, module);
  }
  x = b.linear(b.flatten(b.global_average_pool(x)), options.classes, "fc");
  return b.finish({{"logits", x}});
}

}  // namespace opsmith::models
