#include "models/reference_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/shape_inference.h"
#include "runtime/executor/reference.h"
#include "support/error.h"
#include "support/random.h"

namespace opsmith::models {
namespace {

bool takes_text(const std::string& name) { return name == "bert_base" || name == "gpt2"; }

/// Small enough to run in the interpreter.
ModelOptions small(const std::string& name, int64_t opset = 13) {
  ModelOptions options;
  options.opset = opset;
  options.width_divisor = 16;
  options.size = takes_text(name) ? 6 : 32;
  options.classes = 10;
  return options;
}

std::map<std::string, Tensor> inputs(const graph::Model& model, int64_t batch, uint64_t seed) {
  Random random(seed);
  std::map<std::string, Tensor> tensors;
  for (const graph::ValueId id : model.graph.inputs) {
    const graph::Value& input = model.graph.value(id);
    Shape shape{batch};
    for (size_t d = 1; d < input.shape->size(); ++d) shape.push_back(*(*input.shape)[d].size);
    Tensor tensor(ElementType::Float32, shape);
    const bool real = input.type == ElementType::Float32;
    for (float& v : tensor.data<float>()) {
      v = static_cast<float>(real ? random.normal() : random.integer(0, 1));
    }
    tensors[input.name] = tensor.cast(input.type);
  }
  return tensors;
}

class EveryReferenceModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryReferenceModel, AnswersSensiblyAndDifferentlyToDifferentInputs) {
  const graph::Model model = build_reference_model(GetParam(), small(GetParam()));
  const auto outputs = executor::run_reference(model, inputs(model, 2, 5));
  for (const auto& [name, tensor] : outputs) {
    double square = 0, difference = 0;
    const auto values = tensor.data<float>();
    const size_t half = values.size() / 2;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(std::isfinite(values[i])) << name;
      square += double{values[i]} * values[i];
      if (i < half)
        difference = std::max(difference, std::abs(double{values[i]} - values[i + half]));
    }
    const double root_mean_square = std::sqrt(square / static_cast<double>(values.size()));
    EXPECT_GT(root_mean_square, 0.02) << name;
    EXPECT_LT(root_mean_square, 100) << name;
    EXPECT_GT(difference, 1e-3 * root_mean_square) << name << " ignores its input";
  }
}

TEST_P(EveryReferenceModel, KnowsEveryShapeAndKeepsItsNames) {
  const graph::Model model = build_reference_model(GetParam(), small(GetParam()));
  std::set<std::string> names;
  for (const graph::Node& node : model.graph.nodes) {
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
    for (const graph::ValueId id : node.outputs) {
      ASSERT_TRUE(model.graph.value(id).shape.has_value()) << describe(node);
    }
  }
  const graph::Value& output = model.graph.value(model.graph.outputs.front());
  EXPECT_EQ(output.shape->front().symbol, "N");
}

TEST_P(EveryReferenceModel, SameSeedGivesTheSameWeightsAnotherSeedOthers) {
  ModelOptions options = small(GetParam());
  const graph::Model a = build_reference_model(GetParam(), options);
  const graph::Model b = build_reference_model(GetParam(), options);
  options.seed = 2;
  const graph::Model c = build_reference_model(GetParam(), options);
  bool differs = false;
  ASSERT_EQ(a.graph.value_count(), b.graph.value_count());
  for (size_t i = 0; i < a.graph.value_count(); ++i) {
    const auto id = static_cast<graph::ValueId>(i);
    if (const Tensor* weight = a.graph.constant(id)) {
      EXPECT_TRUE(identical(*weight, *b.graph.constant(id)));
      differs = differs || !identical(*weight, *c.graph.constant(id));
    }
  }
  EXPECT_TRUE(differs);
}

TEST_P(EveryReferenceModel, GivesTheSameAnswersInEveryOpset) {
  const graph::Model reference = build_reference_model(GetParam(), small(GetParam()));
  const auto data = inputs(reference, 1, 9);
  const auto expected = executor::run_reference(reference, data);
  for (const int64_t opset : {9, 17}) {
    const graph::Model model = build_reference_model(GetParam(), small(GetParam(), opset));
    for (const auto& [name, tensor] : executor::run_reference(model, data)) {
      EXPECT_LT(relative_error(tensor, expected.at(name)), 1e-5) << name << ", opset " << opset;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ReferenceModel& model : reference_models()) all.push_back(model.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryReferenceModel, ::testing::ValuesIn(names()),
                         [](const auto& each) { return each.param; });

TEST(ReferenceModels, FullSizesAreThoseOfThePapers) {
  const auto parameters = [](const std::string& name) {
    const graph::Model model = build_reference_model(name);
    int64_t count = 0;
    for (size_t i = 0; i < model.graph.value_count(); ++i) {
      const Tensor* weight = model.graph.constant(static_cast<graph::ValueId>(i));
      if (weight && weight->type() == ElementType::Float32) count += weight->count();
    }
    return count;
  };
  // torchvision's parameters plus the running statistics of its batch normalisations.
  EXPECT_EQ(parameters("resnet18"), 11'689'512 + 2 * 4'800);
  EXPECT_EQ(parameters("resnet50"), 25'557'032 + 2 * 26'560);
  EXPECT_EQ(parameters("mobilenet_v2") - 2 * 35, 3'504'872 + 2 * 17'056);
}

TEST(ReferenceModels, BadOptionsAreTheCallersMistake) {
  EXPECT_THROW(build_reference_model("resnet"), UserError);
  ModelOptions options;
  options.opset = 8;
  EXPECT_THROW(build_reference_model("resnet18", options), UserError);
  options = {};
  options.size = 16;
  EXPECT_THROW(build_reference_model("resnet18", options), UserError);
  options.size = 100;
  EXPECT_THROW(build_reference_model("vgg16", options), UserError);
}

}  // namespace
}  // namespace opsmith::models
