#include "substitute/refit/distillation/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/error.h"
#include "support/parallel.h"

namespace opsmith::substitute {

namespace {

constexpr float kFirst = 0.9F;     // decay of the mean gradient, and momentum
constexpr float kSecond = 0.999F;  // decay of the mean square
constexpr float kEpsilon = 1e-8F;
constexpr double kWarmUp = 0.05;

}  // namespace

OptimizerKind parse_optimizer(const std::string& name) {
  if (name == "adam") return OptimizerKind::Adam;
  if (name == "sgd") return OptimizerKind::Sgd;
  throw UserError("'" + name + "' is no optimizer; there are adam and sgd");
}

Optimizer::Optimizer(OptimizerKind kind, const std::vector<Tensor>& parameters) : kind_(kind) {
  for (const Tensor& parameter : parameters) {
    first_.emplace_back(static_cast<size_t>(parameter.count()), 0.0F);
    const bool squares = kind == OptimizerKind::Adam;
    second_.emplace_back(squares ? static_cast<size_t>(parameter.count()) : 0, 0.0F);
  }
}

void Optimizer::reset() {
  steps_ = 0;
  for (auto* moments : {&first_, &second_}) {
    for (std::vector<float>& values : *moments) std::fill(values.begin(), values.end(), 0.0F);
  }
}

void Optimizer::step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients,
                     double rate, int threads) {
  ++steps_;
  const double correction =
      std::sqrt(1 - std::pow(static_cast<double>(kSecond), static_cast<double>(steps_))) /
      (1 - std::pow(static_cast<double>(kFirst), static_cast<double>(steps_)));
  const auto scaled = static_cast<float>(rate * correction);
  const auto plain = static_cast<float>(rate);
  parallel_for(static_cast<int64_t>(parameters.size()), threads, [&](int64_t i) {
    const size_t at = static_cast<size_t>(i);
    const std::span<float> values = parameters[at].data<float>();
    const std::span<const float> slopes = gradients[at].data<float>();
    float* first = first_[at].data();
    float* second = second_[at].data();
    if (kind_ == OptimizerKind::Adam) {
      for (size_t j = 0; j < values.size(); ++j) {
        first[j] = kFirst * first[j] + (1 - kFirst) * slopes[j];
        second[j] = kSecond * second[j] + (1 - kSecond) * slopes[j] * slopes[j];
        values[j] -= scaled * first[j] / (std::sqrt(second[j]) + kEpsilon);
      }
    } else {
      for (size_t j = 0; j < values.size(); ++j) {
        first[j] = kFirst * first[j] + slopes[j];
        values[j] -= plain * (slopes[j] + kFirst * first[j]);
      }
    }
  });
}

double cosine_schedule(double progress) {
  progress = std::clamp(progress, 0.0, 1.0);
  if (progress < kWarmUp) return (progress + 1e-3) / (kWarmUp + 1e-3);
  return 0.5 * (1 + std::cos(std::numbers::pi * (progress - kWarmUp) / (1 - kWarmUp)));
}

}  // namespace opsmith::substitute
