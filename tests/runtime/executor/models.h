#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executor/reference.h"
#include "runtime/executor/session.h"
#include "support/random.h"

namespace opsmith::testing {

inline Tensor random_tensor(Random& random, const Shape& shape, double low = -1, double high = 1) {
  Tensor tensor(ElementType::Float32, shape);
  for (float& value : tensor.data<float>()) {
    value = static_cast<float>(random.uniform(low, high));
  }
  return tensor;
}

/// A model under construction whose input "x" has the given shape; nodes get names in order.
class ModelMaker {
 public:
  explicit ModelMaker(const graph::SymbolicShape& shape, uint64_t seed = 1) : random_(seed) {
    model_.opsets[""] = 17;
    x = input("x", shape);
  }

  graph::ValueId input(const std::string& name, const graph::SymbolicShape& shape,
                       ElementType type = ElementType::Float32) {
    graph::Value value;
    value.name = name;
    value.type = type;
    value.shape = shape;
    graph::ValueId id = graph().add_value(value);
    graph().inputs.push_back(id);
    return id;
  }
  graph::ValueId weight(const Shape& shape, double low = -0.5, double high = 0.5) {
    return graph().add_constant("w", random_tensor(random_, shape, low, high));
  }
  graph::ValueId integers(const std::vector<int64_t>& values) {
    return graph().add_constant("c",
                                Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  graph::ValueId node(const std::string& type, const std::vector<graph::ValueId>& inputs,
                      const std::map<std::string, graph::Attribute>& attributes = {},
                      size_t outputs = 1) {
    return graph().add_node(type, inputs, attributes, outputs, "",
                            type + std::to_string(graph().nodes.size()));
  }
  /// A convolution with bias and "same" padding of an odd window.
  graph::ValueId convolution(graph::ValueId data, int64_t from, int64_t to, int64_t kernel,
                             int64_t stride = 1, int64_t groups = 1, int64_t dilation = 1) {
    int64_t pad = dilation * (kernel / 2);
    return node("Conv", {data, weight({to, from / groups, kernel, kernel}), weight({to})},
                {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                 {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                 {"strides", std::vector<int64_t>{stride, stride}},
                 {"dilations", std::vector<int64_t>{dilation, dilation}},
                 {"group", groups}});
  }
  graph::Model finish(const std::vector<graph::ValueId>& outputs) {
    graph().outputs = outputs;
    return model_;
  }
  graph::Graph& graph() { return model_.graph; }
  Random& random() { return random_; }

  graph::ValueId x = graph::kNoValue;

 private:
  graph::Model model_;
  Random random_;
};

inline std::shared_ptr<schedule::KernelProvider> shared_compiler() {
  static std::shared_ptr<schedule::KernelProvider> compiler = compiler::make_compiler("none");
  return compiler;
}

/// Runs the model fused and unfused, blocked and row-major, on one and two threads, twice each (the
/// second time in used memory), and compares every output with the reference run.
inline void expect_agrees_with_reference(const graph::Model& model,
                                         const std::map<std::string, Tensor>& inputs,
                                         double tolerance = 1e-4) {
  auto expected = executor::run_reference(model, inputs);
  for (bool fuse : {true, false}) {
    for (bool blocked : {true, false}) {
      for (int threads : {1, 2}) {
        if (!fuse && threads == 2) continue;
        executor::SessionOptions options;
        options.fuse = fuse;
        options.blocked_layouts = blocked;
        options.threads = threads;
        executor::Session session(model, shared_compiler(), options);
        for (int round = 0; round < 2; ++round) {
          auto actual = session.run(inputs);
          ASSERT_EQ(actual.size(), expected.size());
          for (const auto& [name, tensor] : expected) {
            ASSERT_EQ(actual.at(name).shape(), tensor.shape()) << name;
            ASSERT_EQ(actual.at(name).type(), tensor.type()) << name;
            EXPECT_LT(relative_error(actual.at(name), tensor), tolerance)
                << name << " fuse " << fuse << " blocked " << blocked << " threads " << threads
                << " round " << round;
          }
        }
      }
    }
  }
}

}  // namespace opsmith::testing
