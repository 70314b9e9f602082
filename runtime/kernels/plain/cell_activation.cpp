#include "runtime/kernels/plain/cell_activation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

/// A function of x, alpha and beta with their defaults, and how many of the two it takes.
struct ActivationKind {
  double (*function)(double x, double alpha, double beta);
  double alpha, beta;
  int parameters;
};

const std::map<std::string, ActivationKind>& activation_kinds() {
  using D = double;
  static const std::map<std::string, ActivationKind> kinds = {
      {"relu", {[](D x, D, D) { return std::max(x, 0.0); }, 0, 0, 0}},
      {"tanh", {[](D x, D, D) { return std::tanh(x); }, 0, 0, 0}},
      {"sigmoid", {[](D x, D, D) { return 1 / (1 + std::exp(-x)); }, 0, 0, 0}},
      {"affine", {[](D x, D a, D b) { return a * x + b; }, 1, 0, 2}},
      {"leakyrelu", {[](D x, D a, D) { return x >= 0 ? x : a * x; }, 0.01, 0, 1}},
      {"thresholdedrelu", {[](D x, D a, D) { return x >= a ? x : 0; }, 1, 0, 1}},
      {"scaledtanh", {[](D x, D a, D b) { return a * std::tanh(b * x); }, 1, 1, 2}},
      {"hardsigmoid", {[](D x, D a, D b) { return std::clamp(a * x + b, 0.0, 1.0); }, 0.2, 0.5, 2}},
      {"elu", {[](D x, D a, D) { return x >= 0 ? x : a * (std::exp(x) - 1); }, 1, 0, 1}},
      {"softsign", {[](D x, D, D) { return x / (1 + std::fabs(x)); }, 0, 0, 0}},
      {"softplus",
       {[](D x, D, D) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, 0, 0, 0}},
  };
  return kinds;
}

}  // namespace

std::vector<CellActivation> cell_activations(const graph::Node& node, int64_t direction) {
  std::vector<std::string> usual = {"Tanh"};
  if (node.type == "GRU") usual = {"Sigmoid", "Tanh"};
  if (node.type == "LSTM") usual = {"Sigmoid", "Tanh", "Tanh"};
  const size_t each = usual.size();
  const std::vector<std::string> given = text_attribute(node, "activations");
  const std::vector<double> alphas = real_attribute(node, "activation_alpha");
  const std::vector<double> betas = real_attribute(node, "activation_beta");
  const size_t first = static_cast<size_t>(direction) * each;
  if (!given.empty() && given.size() < first + each) {
    throw UserError(describe(node) + ": too few activations for its directions");
  }
  std::vector<CellActivation> found;
  size_t alpha = 0, beta = 0;  // the lists hold only what functions take, in order
  for (size_t i = 0; i < first + each; ++i) {
    std::string name = given.empty() ? usual[i % each] : given[i];
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto kind = activation_kinds().find(name);
    if (kind == activation_kinds().end()) {
      throw UserError(describe(node) + ": unknown activation " + name);
    }
    const auto& [function, usual_alpha, usual_beta, parameters] = kind->second;
    const bool takes_alpha = parameters > 0, takes_beta = parameters > 1;
    const double a = takes_alpha && alpha < alphas.size() ? alphas[alpha] : usual_alpha;
    const double b = takes_beta && beta < betas.size() ? betas[beta] : usual_beta;
    alpha += takes_alpha ? 1 : 0;
    beta += takes_beta ? 1 : 0;
    if (i < first) continue;
    found.emplace_back([f = function, a, b](double x) { return f(x, a, b); });
  }
  return found;
}

}  // namespace opsmith::kernels
