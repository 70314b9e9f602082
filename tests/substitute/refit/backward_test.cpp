#include "substitute/refit/backward/backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "graph/shape_inference.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executor/reference.h"
#include "runtime/executor/session.h"
#include "substitute/refit/backward/stage_node.h"
#include "substitute/rewriting/rewrite.h"
#include "support/error.h"
#include "tests/substitute/targets/models.h"

namespace opsmith::substitute {
namespace {

using graph::Attribute;
using graph::Model;
using graph::ValueId;
using Attributes = std::map<std::string, Attribute>;

/// A model under construction; every float value that `input` makes is differentiated.
struct Build {
  Model model;
  std::map<std::string, Tensor> values;
  std::vector<ValueId> wanted;

  Build() {
    model.source = "test";
    model.opsets[""] = 13;
  }
  ValueId input(const Shape& shape, double scale = 1, double offset = 0) {
    graph::Value value;
    value.name = "in" + std::to_string(values.size());
    value.type = ElementType::Float32;
    value.shape = graph::SymbolicShape(shape.begin(), shape.end());
    Tensor tensor = random_tensor(shape, values.size() + 11, scale);
    for (float& element : tensor.data<float>()) {
      element = static_cast<float>(element + offset * (element < 0 ? -1 : 1));
    }
    values[value.name] = tensor;
    const ValueId id = model.graph.add_value(std::move(value));
    model.graph.inputs.push_back(id);
    wanted.push_back(id);
    return id;
  }
  ValueId positive(const Shape& shape) {
    const ValueId id = input(shape, 0.3);
    for (float& value : values[model.graph.value(id).name].data<float>()) {
      value = 0.6F + std::abs(value);
    }
    return id;
  }
  ValueId node(const std::string& type, const std::vector<ValueId>& inputs,
               const Attributes& attributes = {}) {
    return model.graph.add_node(type, inputs, attributes, 1, "", type);
  }
  ValueId constant(const Shape& shape, const std::vector<int64_t>& integers) {
    return model.graph.add_constant("constant", Tensor::of<int64_t>(shape, integers));
  }
};

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    sum += static_cast<double>(a.data<float>()[static_cast<size_t>(i)]) *
           b.data<float>()[static_cast<size_t>(i)];
  }
  return sum;
}

Tensor moved(const Tensor& base, const Tensor& direction, double step) {
  Tensor result = base.clone();
  for (int64_t i = 0; i < result.count(); ++i) {
    const size_t at = static_cast<size_t>(i);
    result.data<float>()[at] += static_cast<float>(step * direction.data<float>()[at]);
  }
  return result;
}

/// Compares the gradient of sum(output * seed) with central differences along random directions.
void check(Build build, ValueId output, double tolerance = 4e-3) {
  Model& model = build.model;
  model.graph.value(output).name = "out";
  model.graph.outputs = {output};
  graph::infer_shapes(model);
  Model forward = model;
  const Tensor seed = random_tensor(known_shape(model.graph, output), 77, 1);
  const ValueId incoming = model.graph.add_constant("seed", seed);
  split_into_stages(model);
  const Gradients gradients = append_backward(model, {{output, incoming}}, build.wanted);
  for (const ValueId id : build.wanted) {
    SCOPED_TRACE("gradient of " + model.graph.value(id).name);
    ASSERT_TRUE(gradients.contains(id));
    const std::string name = model.graph.value(gradients.at(id)).name;
    const Tensor found = executor::run_reference(model, build.values, {name}).at(name);
    const Tensor& base = build.values.at(model.graph.value(id).name);
    ASSERT_EQ(found.shape(), base.shape());
    for (uint64_t sample = 0; sample < 2; ++sample) {
      const Tensor direction = random_tensor(base.shape(), 100 + sample, 1);
      constexpr double kStep = 2e-3;
      const auto loss = [&](double step) {
        std::map<std::string, Tensor> at = build.values;
        at[model.graph.value(id).name] = moved(base, direction, step);
        return dot(executor::run_reference(forward, at).at("out"), seed);
      };
      const double expected = (loss(kStep) - loss(-kStep)) / (2 * kStep);
      const double size = std::sqrt(dot(found, found) * dot(direction, direction));
      EXPECT_NEAR(dot(found, direction), expected, tolerance * (size + 0.05));
    }
  }
}

TEST(Backward, Convolutions) {
  struct Case {
    int64_t channels, outputs, groups, kernel, stride, dilation, pad;
  };
  for (const Case& c :
       {Case{4, 6, 1, 3, 1, 1, 1}, Case{4, 6, 2, 3, 2, 1, 1}, Case{4, 4, 4, 3, 1, 1, 1},
        Case{3, 5, 1, 1, 2, 1, 0}, Case{3, 2, 1, 3, 1, 2, 2}, Case{1, 3, 1, 5, 3, 1, 2}}) {
    Build b;
    const ValueId x = b.input({2, c.channels, 7, 6});
    const ValueId w = b.input({c.outputs, c.channels / c.groups, c.kernel, c.kernel});
    const ValueId bias = b.input({c.outputs});
    const ValueId y = b.node("Conv", {x, w, bias},
                             {{"group", c.groups},
                              {"strides", std::vector<int64_t>{c.stride, c.stride}},
                              {"dilations", std::vector<int64_t>{c.dilation, c.dilation}},
                              {"pads", std::vector<int64_t>{c.pad, c.pad, c.pad, c.pad}}});
    check(b, y);
  }
  Build b;
  const ValueId x = b.input({2, 3, 4, 5});
  const ValueId w = b.input({3, 2, 3, 3});
  check(b, b.node("ConvTranspose", {x, w}, {{"strides", std::vector<int64_t>{2, 2}}}));
}

TEST(Backward, Products) {
  Build gemm;
  ValueId x = gemm.input({3, 5});
  ValueId w = gemm.input({4, 5});
  ValueId bias = gemm.input({4});
  check(gemm, gemm.node("Gemm", {x, w, bias}, {{"transB", int64_t{1}}}));
  Build batched;
  x = batched.input({2, 3, 4, 5});
  w = batched.input({2, 3, 5, 2});
  check(batched, batched.node("MatMul", {x, w}));
  Build broadcast;
  x = broadcast.input({2, 3, 5});
  w = broadcast.input({5, 4});
  check(broadcast, broadcast.node("MatMul", {x, w}));
}

TEST(Backward, ElementwiseFunctions) {
  for (const char* type : {"Relu", "Sigmoid", "Tanh", "Erf", "Exp", "HardSigmoid", "LeakyRelu",
                           "Softplus", "Elu", "Abs", "Neg"}) {
    SCOPED_TRACE(type);
    Build b;
    const ValueId x = b.input({3, 7}, 0.8, 0.02);  // away from the kinks
    check(b, b.node(type, {x}));
  }
  for (const char* type : {"Sqrt", "Log", "Reciprocal"}) {
    SCOPED_TRACE(type);
    Build b;
    const ValueId x = b.positive({3, 7});
    check(b, b.node(type, {x}));
  }
  Build clip;
  const ValueId x = clip.input({5, 9}, 2, 0.02);
  const ValueId low = clip.model.graph.add_constant("low", Tensor::scalar<float>(0));
  const ValueId high = clip.model.graph.add_constant("high", Tensor::scalar<float>(1.003F));
  check(clip, clip.node("Clip", {x, low, high}));
}

TEST(Backward, BinaryFunctionsWithBroadcasting) {
  for (const char* type : {"Add", "Sub", "Mul", "Div"}) {
    SCOPED_TRACE(type);
    Build b;
    const ValueId x = b.positive({2, 3, 4});
    const ValueId y = b.positive({3, 1});
    check(b, b.node(type, {x, y}));
  }
  Build power;
  const ValueId x = power.positive({4, 3});
  const ValueId two = power.model.graph.add_constant("two", Tensor::scalar<float>(2));
  check(power, power.node("Pow", {x, two}));
  Build twice;  // one value, both operands
  const ValueId z = twice.input({4, 3});
  check(twice, twice.node("Mul", {z, z}));
}

TEST(Backward, Windows) {
  const Attributes window = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                             {"strides", std::vector<int64_t>{2, 2}},
                             {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  for (const char* type : {"MaxPool", "AveragePool"}) {
    SCOPED_TRACE(type);
    Build b;
    const ValueId x = b.input({2, 3, 7, 6});
    check(b, b.node(type, {x}, window));
  }
  for (const char* type : {"GlobalAveragePool", "GlobalMaxPool"}) {
    SCOPED_TRACE(type);
    Build b;
    const ValueId x = b.input({2, 3, 4, 5});
    check(b, b.node(type, {x}));
  }
  Build mean;
  const ValueId x = mean.input({2, 3, 6});
  check(mean, mean.node("ReduceMean", {x}, {{"axes", std::vector<int64_t>{-1}}}));
}

TEST(Backward, Normalizations) {
  Build softmax;
  ValueId x = softmax.input({3, 2, 5});
  check(softmax, softmax.node("Softmax", {x}, {{"axis", int64_t{-1}}}));
  Build layer;
  layer.model.opsets[""] = 17;
  x = layer.input({3, 8});
  const ValueId scale = layer.input({8});
  const ValueId shift = layer.input({8});
  check(layer, layer.node("LayerNormalization", {x, scale, shift}), 1e-2);
  Build batch;
  x = batch.input({2, 3, 4, 4});
  graph::Graph& graph = batch.model.graph;
  const auto constant = [&](double offset) {
    Tensor tensor = random_tensor({3}, 5, 0.1);
    for (float& value : tensor.data<float>()) value += static_cast<float>(offset);
    return graph.add_constant("parameter", tensor);
  };
  check(batch,
        batch.node("BatchNormalization", {x, constant(1), constant(0), constant(0), constant(1)}));
}

TEST(Backward, MovesOfData) {
  Build views;
  ValueId x = views.input({2, 3, 4});
  ValueId y = views.node("Reshape", {x, views.constant({2}, {6, 4})});
  y = views.node("Mul", {y, y});
  check(views, views.node("Flatten", {y}, {{"axis", int64_t{1}}}));
  Build transposed;
  x = transposed.input({2, 3, 4});
  y = transposed.node("Transpose", {x}, {{"perm", std::vector<int64_t>{2, 0, 1}}});
  check(transposed, transposed.node("Mul", {y, y}));
  Build joined;
  x = joined.input({2, 3, 4});
  const ValueId z = joined.input({2, 5, 4});
  y = joined.node("Concat", {x, z, x}, {{"axis", int64_t{1}}});
  check(joined, joined.node("Mul", {y, y}));
  Build picked;
  x = picked.input({2, 3, 4});
  y = picked.node("Gather", {x, picked.constant({}, {-1})}, {{"axis", int64_t{1}}});
  check(picked, picked.node("Mul", {y, y}));
}

TEST(Backward, NamesWhatHasNoGradient) {
  Build b;
  const ValueId x = b.input({2, 3});
  const ValueId y = b.node("CumSum", {x, b.constant({}, {1})});
  b.model.graph.outputs = {y};
  graph::infer_shapes(b.model);
  const ValueId seed = b.model.graph.add_constant("seed", random_tensor({2, 3}, 1));
  try {
    append_backward(b.model, {{y, seed}}, b.wanted);
    FAIL() << "no error";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("CumSum"), std::string::npos) << error.what();
  }
}

/// Every operator of the catalogue in the place of a convolution, all its weights.
TEST(Backward, SubstitutedOperators) {
  std::string family;
  for (const Candidate& candidate : catalogue(find_targets(small_network())[2].shape)) {
    const std::string name = candidate.name.substr(0, candidate.name.find(' '));
    if (name == family) continue;  // one size of each
    family = name;
    SCOPED_TRACE(candidate.name);
    Build b;
    b.model = small_network();
    b.model.source = "test";
    const Target target = find_targets(b.model)[2];
    std::vector<Tensor> weights;
    Shape shape;
    for (const auto& weight : candidate.program.weights) {
      shape.clear();
      for (const expression::Index& extent : weight.shape) shape.push_back(extent.value());
      weights.push_back(random_tensor(shape, weights.size() + 3, 0.4));
    }
    replace_target(b.model, target, candidate, weights, random_tensor({16}, 9));
    // The operator alone: everything that it reads becomes an input of the model.
    graph::Graph& g = b.model.graph;
    const graph::Node node = g.nodes[static_cast<size_t>(target.node)];
    g.nodes = {node};
    g.inputs.clear();
    for (const ValueId id : node.inputs) {
      graph::Value& value = g.value(id);
      const Shape extents = value.constant ? value.constant->shape() : Shape{1, 8, 6, 6};
      b.values[value.name] = value.constant ? *value.constant : random_tensor(extents, 7, 1);
      value.shape = graph::SymbolicShape(extents.begin(), extents.end());
      value.type = ElementType::Float32;
      value.constant.reset();
      g.inputs.push_back(id);
      b.wanted.push_back(id);
    }
    const Shape made = {1, 16, 3, 3};
    g.value(node.outputs[0]).shape = graph::SymbolicShape(made.begin(), made.end());
    check(b, node.outputs[0]);
  }
}

/// A whole network through the compiler: blocked layouts, packed parameters, fused gradients.
TEST(Backward, CompiledAsInterpreted) {
  Build b;
  ValueId x = b.input({3, 16, 9, 8}, 0.5);
  const ValueId first = b.input({32, 16, 3, 3}, 0.2);
  const ValueId bias = b.input({32}, 0.2);
  const ValueId second = b.input({32, 32, 3, 3}, 0.2);
  const ValueId strided = b.input({16, 32, 3, 3}, 0.2);
  const Attributes same = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  const ValueId y = b.node("Relu", {b.node("Conv", {x, first, bias}, same)});
  ValueId z = b.node("Conv", {y, second}, same);
  z = b.node("Relu", {b.node("Add", {z, y})});
  z = b.node("Conv", {z, strided},
             {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"strides", std::vector<int64_t>{2, 2}}});
  const ValueId pooled = b.node("GlobalAveragePool", {z});
  Model& model = b.model;
  model.graph.outputs = {pooled};
  graph::infer_shapes(model);
  const ValueId seed = model.graph.add_constant("seed", random_tensor({3, 16, 1, 1}, 5, 1));
  split_into_stages(model);
  const Gradients gradients = append_backward(model, {{pooled, seed}}, b.wanted);
  model.graph.outputs.clear();
  std::vector<std::string> names;
  for (const auto& [value, gradient] : gradients) {
    model.graph.outputs.push_back(gradient);
    names.push_back(model.graph.value(gradient).name);
  }
  EXPECT_EQ(names.size(), 5U);
  const auto expected = executor::run_reference(model, b.values);
  for (const int threads : {1, 2}) {
    executor::SessionOptions options;
    options.threads = threads;
    for (const ValueId id : {first, bias, second, strided}) {
      options.parameters.push_back(model.graph.value(id).name);
    }
    const executor::Session session(model, compiler::make_compiler(), options);
    const auto found = session.run(b.values);
    for (const std::string& name : names) {
      EXPECT_LT(relative_error(found.at(name), expected.at(name)), 2e-5) << name;
    }
  }
}

}  // namespace
}  // namespace opsmith::substitute
