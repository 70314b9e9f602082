#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/executor/node_evaluation.h"
#include "support/tensor.h"

namespace opsmith::testing {

using Integers = std::vector<int64_t>;
using Attributes = std::map<std::string, graph::Attribute>;

inline Tensor reals(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}
inline Tensor integers(const Integers& values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}
inline Tensor strings(const std::vector<std::string>& values) {
  return Tensor::of<std::string>({static_cast<int64_t>(values.size())}, values);
}

/// The outputs of one node of ONNX's domain under an operator set. Undefined inputs are absent.
inline std::vector<Tensor> run(const std::string& type, int64_t opset,
                               const std::vector<Tensor>& inputs, Attributes attributes = {},
                               size_t outputs = 1) {
  graph::Node node;
  node.name = "tested";
  node.type = type;
  for (size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back(inputs[i].defined() ? static_cast<graph::ValueId>(i) : graph::kNoValue);
  }
  for (size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(static_cast<graph::ValueId>(inputs.size() + i));
  }
  node.attributes = std::move(attributes);
  graph::Model model;
  model.opsets[""] = opset;
  return executor::evaluate_node(node, model, inputs);
}

/// Type, shape and, within 1e-5, elements.
inline void expect_close(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type()));
  ASSERT_EQ(actual.shape(), expected.shape());
  if (!is_plain_data(expected.type())) {
    EXPECT_TRUE(identical(actual, expected));
    return;
  }
  const Tensor a = actual.cast(ElementType::Float64), b = expected.cast(ElementType::Float64);
  for (size_t i = 0; i < a.data<double>().size(); ++i) {
    EXPECT_NEAR(a.data<double>()[i], b.data<double>()[i], 1e-5) << "element " << i;
  }
}

}  // namespace opsmith::testing
