#include "models/reference_models.h"

#include "models/densenet.h"
#include "models/efficientnet.h"
#include "models/googlenet.h"
#include "models/mobilenet.h"
#include "models/resnet.h"
#include "models/transformer.h"
#include "models/vgg.h"
#include "support/error.h"

namespace opsmith::models {

const std::vector<ReferenceModel>& reference_models() {
  static const std::vector<ReferenceModel> models{
      {"resnet18", "residual network of 18 layers, 224x224, 1.8 GMAC", resnet18},
      {"resnet34", "residual network of 34 layers, 224x224, 3.7 GMAC", resnet34},
      {"resnet50", "residual network of 50 layers, bottlenecks, 224x224, 4.1 GMAC", resnet50},
      {"resnext50", "ResNeXt-50 32x4d, grouped 3x3, 224x224, 4.2 GMAC", resnext50},
      {"vgg16", "VGG-16, plain 3x3, 224x224, 15.5 GMAC", vgg16},
      {"mobilenet_v2", "MobileNet-V2 1.0, depthwise, 224x224, 0.3 GMAC", mobilenet_v2},
      {"densenet121", "DenseNet-121, growth 32, 224x224, 2.8 GMAC", densenet121},
      {"googlenet", "GoogLeNet with batch norms, 224x224, 1.5 GMAC", googlenet},
      {"efficientnet_b0", "EfficientNet-B0, squeeze-and-excitation, 224x224, 0.4 GMAC",
       efficientnet_b0},
      {"bert_base", "BERT-base, 12 layers, 128 tokens, 11 GMAC", bert_base},
      {"gpt2", "GPT-2 117M, 12 layers, 128 tokens, 16 GMAC", gpt2},
  };
  return models;
}

graph::Model build_reference_model(const std::string& name, const ModelOptions& options) {
  const auto check = [&](const char* what, int64_t value, int64_t low, int64_t high) {
    if (value < low || value > high) {
      throw UserError("model '" + name + "': " + what + " " + std::to_string(value) +
                      " is not within " + std::to_string(low) + " to " + std::to_string(high));
    }
  };
  check("opset", options.opset, 9, 22);
  check("batch", options.batch, 0, 1 << 16);
  check("width divisor", options.width_divisor, 1, 64);
  check("number of classes", options.classes, 1, 1 << 20);
  if (options.size != 0) check("size", options.size, 1, 4096);

  std::string known;
  for (const ReferenceModel& model : reference_models()) {
    if (model.name == name) return model.build(options);
    known += (known.empty() ? "" : ", ") + model.name;
  }
  throw UserError("there is no reference model '" + name + "'; there are " + known);
}

}  // namespace opsmith::models
