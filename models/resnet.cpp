#include "models/resnet.h"

#include <array>

#include "models/builder.h"

namespace opsmith::models {

using graph::ValueId;

namespace {

/// The last normalisation of a branch is damped so that a sum over many blocks stays bounded.
constexpr double kBranchScale = 0.3;

struct Family {
  std::string name;
  bool bottleneck = false;
  std::array<int, 4> blocks{};
  int64_t groups = 1;
  int64_t group_width = 64;  ///< of the first stage
};

/// Two 3x3 convolutions, or 1x1, 3x3, 1x1 with four times the width at the end.
ValueId block(Builder& b, const Family& family, ValueId x, int64_t planes, int64_t stride,
              const std::string& name) {
  const int64_t outputs = b.width(family.bottleneck ? planes * 4 : planes);
  ValueId branch = x;
  if (family.bottleneck) {
    const bool grouped = family.groups > 1;
    const int64_t middle = b.width(planes * family.group_width * family.groups / 64);
    ConvOptions window;
    window.groups = grouped ? b.groups(family.groups) : 1;
    branch = b.conv_bn_relu(branch, middle, Window::square(1), name + ".1");
    branch = b.conv_bn_relu(branch, middle, Window::square(3, stride), name + ".2", window);
    branch = b.conv(branch, outputs, Window::square(1), name + ".3.conv");
    branch = b.batch_norm(branch, name + ".3.bn", kBranchScale);
  } else {
    branch = b.conv_bn_relu(branch, outputs, Window::square(3, stride), name + ".1");
    branch = b.conv(branch, outputs, Window::square(3), name + ".2.conv");
    branch = b.batch_norm(branch, name + ".2.bn", kBranchScale);
  }
  ValueId shortcut = x;
  if (stride != 1 || b.channels(x) != outputs) {
    // Linear: the input's second moment is kept, not doubled.
    shortcut =
        b.conv(x, outputs, Window::square(1, stride), name + ".downsample.conv", {1, false, 1});
    shortcut = b.batch_norm(shortcut, name + ".downsample.bn");
  }
  return b.relu(b.add(branch, shortcut));
}

graph::Model residual_network(const Family& family, const ModelOptions& options) {
  Builder b(family.name, options);
  ValueId x = b.image_input(3, 224);
  x = b.conv_bn_relu(x, b.width(64), Window::square(7, 2), "stem");
  x = b.max_pool(x, Window::square(3, 2));
  for (size_t stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < family.blocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = block(b, family, x, int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1, name);
    }
  }
  x = b.linear(b.flatten(b.global_average_pool(x)), options.classes, "fc");
  return b.finish({{"logits", x}});
}

}  // namespace

graph::Model resnet18(const ModelOptions& options) {
  return residual_network({"resnet18", false, {2, 2, 2, 2}}, options);
}
graph::Model resnet34(const ModelOptions& options) {
  return residual_network({"resnet34", false, {3, 4, 6, 3}}, options);
}
graph::Model resnet50(const ModelOptions& options) {
  return residual_network({"resnet50", true, {3, 4, 6, 3}}, options);
}
graph::Model resnext50(const ModelOptions& options) {
  return residual_network({"resnext50", true, {3, 4, 6, 3}, 32, 4}, options);
}

}  // namespace opsmith::models
