#include "models/vgg.h"

#include "models/builder.h"
#include "support/error.h"

namespace opsmith::models {

using graph::ValueId;

graph::Model vgg16(const ModelOptions& options) {
  Builder b("vgg16", options);
  ValueId x = b.image_input(3, 224);
  const int64_t size = options.size > 0 ? options.size : 224;
  if (size % 32 != 0) {
    throw UserError("model 'vgg16': size " + std::to_string(size) +
                    " is not a multiple of 32, which its matrix of all positions needs");
  }
  int number = 0;
  ConvOptions with_bias;
  with_bias.bias = true;
  for (const auto& [count, channels] :
       std::vector<std::pair<int, int64_t>>{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "features." + std::to_string(number++);
      x = b.relu(b.conv(x, b.width(channels), Window::square(3), name, with_bias));
    }
    x = b.max_pool(x, Window::square(2, 2, 0));
  }
  // All positions enter the first matrix, as many as five halvings leave.
  x = b.flatten(x, (size / 32) * (size / 32));
  for (int i = 0; i < 2; ++i) {
    x = b.relu(b.linear(x, b.width(4096), "classifier." + std::to_string(i), 2));
  }
  return b.finish({{"logits", b.linear(x, options.classes, "classifier.2")}});
}

}  // namespace opsmith::models
