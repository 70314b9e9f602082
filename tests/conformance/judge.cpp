#include "tests/conformance/judge.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace opsmith::conformance {
namespace {

bool is_real(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64 ||
         type == ElementType::Float16 || type == ElementType::BFloat16 || is_float8(type);
}

std::string shown(double value) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  return text.str();
}

std::string form_difference(const Tensor& actual, const Tensor& expected) {
  if (!actual.defined()) return "nothing was made";
  if (actual.type() != expected.type()) {
    return "type " + to_string(actual.type()) + " instead of " + to_string(expected.type());
  }
  if (actual.shape() != expected.shape()) {
    return "shape " + to_string(actual.shape()) + " instead of " + to_string(expected.shape());
  }
  return "";
}

// bfloat16 has eight bits: one unit in the last place, as files differ in how they round.
double relative_tolerance(ElementType type) {
  return type == ElementType::BFloat16 ? 1.0 / 128 : 1e-3;
}

std::string number_difference(const Tensor& actual, const Tensor& expected) {
  const Tensor a = actual.cast(ElementType::Float64), b = expected.cast(ElementType::Float64);
  const double tolerance = relative_tolerance(expected.type());
  double largest = 1;  // sums that cancel leave an error of this size, in ONNX's numbers too
  for (const double y : b.data<double>()) {
    if (std::isfinite(y)) largest = std::max(largest, std::fabs(y));
  }
  for (size_t i = 0; i < a.data<double>().size(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::fabs(x - y) <= 1e-7 * largest + tolerance * std::fabs(y) && std::isfinite(y)) continue;
    return "element " + std::to_string(i) + " is " + shown(x) + " instead of " + shown(y);
  }
  return "";
}

struct Statistics {
  double mean = 0, deviation = 0, count = 0;
};

Statistics statistics_of(const Tensor& tensor) {
  const Tensor wide = tensor.cast(ElementType::Float64);
  Statistics found;
  found.count = static_cast<double>(wide.count());
  for (const double x : wide.data<double>()) found.mean += x / found.count;
  for (const double x : wide.data<double>()) {
    found.deviation += (x - found.mean) * (x - found.mean) / found.count;
  }
  found.deviation = std::sqrt(found.deviation);
  return found;
}

using Tensors = std::map<std::string, Tensor>;

const Tensor* constant_of(const graph::Graph& graph, graph::ValueId id, const Tensors& inputs) {
  if (id == graph::kNoValue) return nullptr;
  if (const Tensor* tensor = graph.constant(id)) return tensor;
  const auto given = inputs.find(graph.value(id).name);
  if (given != inputs.end()) return &given->second;
  for (const graph::Node& node : graph.nodes) {
    if (node.is("Constant") && node.output(0) == id) return node.tensor("value");
  }
  return nullptr;
}

// Unless a switch is known to say otherwise, a training Dropout draws.
bool is_random(const graph::Graph& graph, const graph::Node& node, const Tensors& inputs) {
  static const std::set<std::string> types = {"Bernoulli",     "Multinomial",
                                              "RandomNormal",  "RandomNormalLike",
                                              "RandomUniform", "RandomUniformLike"};
  if (node.domain.empty() && types.contains(node.type)) return true;
  if (!node.is("Dropout") || node.input(2) == graph::kNoValue) return false;
  const auto is_zero = [&](graph::ValueId id) {
    const Tensor* tensor = constant_of(graph, id, inputs);
    return tensor != nullptr && tensor->count() == 1 &&
           tensor->cast(ElementType::Float64).data<double>()[0] == 0;
  };
  return !is_zero(node.input(2)) && !is_zero(node.input(1));
}

bool draws(const graph::Graph& graph, const Tensors& inputs) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) {
    bool found = is_random(graph, node, inputs);
    for_each_subgraph(node,
                      [&](const graph::Graph& body) { found = found || draws(body, inputs); });
    return found;
  });
}

}  // namespace

std::string difference(const Tensor& actual, const Tensor& expected) {
  std::string found = form_difference(actual, expected);
  if (!found.empty()) return found;
  if (is_real(expected.type())) return number_difference(actual, expected);
  if (expected.type() == ElementType::Sequence || expected.type() == ElementType::Optional) {
    for (size_t i = 0; i < expected.tensors().size(); ++i) {
      found = difference(actual.tensors()[i], expected.tensors()[i]);
      if (!found.empty()) return "entry " + std::to_string(i) + ": " + found;
    }
    return "";
  }
  if (identical(actual, expected)) return "";
  if (expected.type() == ElementType::String) return "the strings differ";
  found = number_difference(actual, expected);
  return found.empty() ? "the integers differ" : found;
}

std::string statistical_difference(const Tensor& actual, const Tensor& expected) {
  std::string found = form_difference(actual, expected);
  if (!found.empty() || expected.count() == 0) return found;
  const Statistics a = statistics_of(actual), b = statistics_of(expected);
  const double error = 5 * std::max(a.deviation, b.deviation) * std::sqrt(2 / b.count);
  if (std::fabs(a.mean - b.mean) > error + 1e-6 ||
      std::fabs(a.deviation - b.deviation) > error + 1e-6) {
    return "mean " + shown(a.mean) + " and deviation " + shown(a.deviation) + " instead of " +
           shown(b.mean) + " and " + shown(b.deviation);
  }
  return "";
}

bool draws_random_numbers(const graph::Model& model, const Tensors& inputs) {
  bool found = draws(model.graph, inputs);
  for (const graph::Function& function : model.functions) found = found || draws(function.body, {});
  return found;
}

}  // namespace opsmith::conformance
