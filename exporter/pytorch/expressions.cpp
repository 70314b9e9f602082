#include "exporter/pytorch/expressions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "support/error.h"

namespace opsmith::exporter {

using graph::Node;

namespace {

std::string python_list(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

std::string python_list_or_none(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? "None" : python_list(numbers);
}

std::string python_bool(bool value) { return value ? "True" : "False"; }

std::string python_number(double value) {
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "float('-inf')";
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// Operators that are one function of their inputs: what stands in front of each input.
const std::map<std::string, std::string>& functions() {
  static const std::map<std::string, std::string> table = {
      {"Relu", "torch.relu"},     {"Sigmoid", "torch.sigmoid"},
      {"Tanh", "torch.tanh"},     {"Exp", "torch.exp"},
      {"Log", "torch.log"},       {"Sqrt", "torch.sqrt"},
      {"Abs", "torch.abs"},       {"Neg", "torch.neg"},
      {"Floor", "torch.floor"},   {"Ceil", "torch.ceil"},
      {"Erf", "torch.erf"},       {"Sin", "torch.sin"},
      {"Cos", "torch.cos"},       {"Reciprocal", "torch.reciprocal"},
      {"Sign", "torch.sign"},     {"HardSwish", "F.hardswish"},
      {"MatMul", "torch.matmul"}, {"Pow", "torch.pow"},
      {"Add", "torch.add"},       {"Sub", "torch.sub"},
      {"Mul", "torch.mul"},       {"Softplus", "F.softplus"},
      {"Where", "torch.where"},   {"Identity", ""},
  };
  return table;
}

}  // namespace

std::string PytorchExpressions::input(const Node& node, size_t i) const {
  return has_input(node, i) ? names_.at(static_cast<size_t>(node.inputs[i])) : "None";
}

bool PytorchExpressions::has_input(const Node& node, size_t i) const {
  return node.input(i) != graph::kNoValue;
}

std::string PytorchExpressions::list(const Node& node, size_t i) const {
  if (!has_input(node, i)) return "None";
  if (const Tensor* constant = graph_.constant(node.inputs[i]);
      constant != nullptr && constant->type() == ElementType::Int64) {
    const auto data = constant->data<int64_t>();
    return python_list({data.begin(), data.end()});
  }
  return "_ints(" + input(node, i) + ")";
}

std::string PytorchExpressions::axes(const Node& node, size_t at_input) const {
  return node.has("axes") ? python_list(node.integers("axes")) : list(node, at_input);
}

std::string PytorchExpressions::convolution(const Node& node) const {
  return "_conv(" + input(node, 0) + ", " + input(node, 1) + ", " + input(node, 2) + ", " +
         python_list_or_none(node.integers("strides")) + ", " +
         python_list_or_none(node.integers("dilations")) + ", " +
         python_list_or_none(node.integers("pads")) + ", " +
         std::to_string(node.integer("group", 1)) + ", \"" + node.text("auto_pad", "NOTSET") +
         "\")";
}

std::string PytorchExpressions::pooling(const Node& node, const std::string& helper) const {
  return helper + "(" + input(node, 0) + ", " + python_list(node.integers("kernel_shape")) + ", " +
         python_list_or_none(node.integers("strides")) + ", " +
         python_list_or_none(node.integers("dilations")) + ", " +
         python_list_or_none(node.integers("pads")) + ", \"" + node.text("auto_pad", "NOTSET") +
         "\", " + python_bool(node.integer("ceil_mode", 0) != 0) + ", " +
         python_bool(node.integer("count_include_pad", 0) != 0) + ")";
}

std::string PytorchExpressions::reduction(const Node& node, const std::string& kind) const {
  return "_reduce(\"" + kind + "\", " + input(node, 0) + ", " + axes(node, 1) + ", " +
         python_bool(node.integer("keepdims", 1) != 0) + ")";
}

std::string PytorchExpressions::product(const Node& node) const {
  return "_gemm(" + input(node, 0) + ", " + input(node, 1) + ", " + input(node, 2) + ", " +
         python_number(node.real("alpha", 1)) + ", " + python_number(node.real("beta", 1)) + ", " +
         python_bool(node.integer("transA", 0) != 0) + ", " +
         python_bool(node.integer("transB", 0) != 0) + ")";
}

std::string PytorchExpressions::slice(const Node& node) const {
  if (node.has("starts"))
    return "_slice(" + input(node, 0) + ", " + python_list(node.integers("starts")) + ", " +
           python_list(node.integers("ends")) + ", " + python_list_or_none(node.integers("axes")) +
           ", None)";
  return "_slice(" + input(node, 0) + ", " + list(node, 1) + ", " + list(node, 2) + ", " +
         list(node, 3) + ", " + list(node, 4) + ")";
}

std::string PytorchExpressions::pad(const Node& node) const {
  if (node.text("mode", "constant") != "constant" || has_input(node, 3))
    throw Unsupported(graph::describe(node) +
                      ": only constant padding of all dimensions has a "
                      "PyTorch form here");
  const std::string pads = node.has("pads") ? python_list(node.integers("pads")) : list(node, 1);
  const std::string value =
      has_input(node, 2) ? "float(" + input(node, 2) + ")" : python_number(node.real("value", 0));
  return "_padded(" + input(node, 0) + ", " + pads + ", " + value + ")";
}

std::string PytorchExpressions::clip(const Node& node) const {
  std::string least = input(node, 1), most = input(node, 2);
  if (node.has("min")) least = python_number(node.real("min", 0));
  if (node.has("max")) most = python_number(node.real("max", 0));
  return "torch.clamp(" + input(node, 0) + ", " + least + ", " + most + ")";
}

std::string PytorchExpressions::softmax(const Node& node) const {
  if (opset_ >= 13)
    return "torch.softmax(" + input(node, 0) + ", " + std::to_string(node.integer("axis", -1)) +
           ")";
  // Before opset 13 everything from the axis on is one dimension.
  return "torch.softmax(_flatten(" + input(node, 0) + ", " +
         std::to_string(node.integer("axis", 1)) + "), 1).reshape(" + input(node, 0) + ".shape)";
}

std::string PytorchExpressions::operator()(const Node& node) const {
  std::string all;
  for (size_t i = 0; i < node.inputs.size(); ++i) all += (i > 0 ? ", " : "") + input(node, i);
  if (node.domain.empty()) {
    if (const auto function = functions().find(node.type); function != functions().end())
      return function->second + "(" + all + ")";
    const std::string x = input(node, 0);
    const auto axis = [&](int64_t fallback) {
      return std::to_string(node.integer("axis", fallback));
    };
    if (node.type == "Conv") return convolution(node);
    if (node.type == "MaxPool" && node.outputs.size() == 1) return pooling(node, "_max_pool");
    if (node.type == "AveragePool") return pooling(node, "_average_pool");
    if (node.type == "GlobalAveragePool")
      return x + ".mean(dim=list(range(2, " + x + ".dim())), keepdim=True)";
    if (node.type == "GlobalMaxPool")
      return x + ".amax(dim=list(range(2, " + x + ".dim())), keepdim=True)";
    if (node.type == "Gemm") return product(node);
    if (node.type == "Div") return x + " / " + input(node, 1);
    if (node.type == "Max" || node.type == "Min") {
      std::string made = x;
      for (size_t i = 1; i < node.inputs.size(); ++i)
        made = (node.type == "Max" ? "torch.maximum(" : "torch.minimum(") + made + ", " +
               input(node, i) + ")";
      return made;
    }
    if (node.type == "ReduceSum") return reduction(node, "sum");
    if (node.type == "ReduceMean") return reduction(node, "mean");
    if (node.type == "ReduceMax") return reduction(node, "amax");
    if (node.type == "ReduceMin") return reduction(node, "amin");
    if (node.type == "ReduceProd") return reduction(node, "prod");
    if (node.type == "Reshape") return "_reshape(" + x + ", " + list(node, 1) + ")";
    if (node.type == "Flatten") return "_flatten(" + x + ", " + axis(1) + ")";
    if (node.type == "Squeeze") return "_squeeze(" + x + ", " + axes(node, 1) + ")";
    if (node.type == "Unsqueeze") return "_unsqueeze(" + x + ", " + axes(node, 1) + ")";
    if (node.type == "Transpose")
      return node.has("perm") ? x + ".permute(" + python_list(node.integers("perm")) + ")"
                              : x + ".permute(list(reversed(range(" + x + ".dim()))))";
    if (node.type == "Concat") return "torch.cat([" + all + "], " + axis(0) + ")";
    if (node.type == "Slice") return slice(node);
    if (node.type == "Pad") return pad(node);
    if (node.type == "Gather") return "_gather(" + x + ", " + input(node, 1) + ", " + axis(0) + ")";
    if (node.type == "Shape") return "torch.tensor(" + x + ".shape)";
    if (node.type == "Clip") return clip(node);
    if (node.type == "Softmax") return softmax(node);
    if (node.type == "LeakyRelu")
      return "F.leaky_relu(" + x + ", " + python_number(node.real("alpha", 0.01F)) + ")";
    if (node.type == "HardSigmoid")
      return "torch.clamp(" + python_number(node.real("alpha", 0.2F)) + " * " + x + " + " +
             python_number(node.real("beta", 0.5F)) + ", 0, 1)";
    if (node.type == "Dropout" && node.outputs.size() == 1) return x;
    if (node.type == "BatchNormalization" && node.outputs.size() == 1)
      return "F.batch_norm(" + x + ", " + input(node, 3) + ", " + input(node, 4) + ", " +
             input(node, 1) + ", " + input(node, 2) + ", False, 0.0, " +
             python_number(node.real("epsilon", 1e-5F)) + ")";
  }
  throw Unsupported(graph::describe(node) +
                    " has no PyTorch form here; write ONNX (--format onnx) instead");
}

}  // namespace opsmith::exporter
