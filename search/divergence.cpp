#include "search/divergence.h"

#include <algorithm>
#include <cmath>

#include "support/error.h"

namespace opsmith::search {

Divergence divergence(const Tensors& outputs, const Tensors& reference,
                      const std::string& first_output) {
  double difference = 0, power = 0;
  for (const auto& [name, expected] : reference) {
    const auto found = outputs.find(name);
    if (found == outputs.end() || expected.type() != ElementType::Float32) continue;
    const std::span<const float> a = found->second.data<float>(), b = expected.data<float>();
    require(a.size() == b.size(), "output '" + name + "' changed its shape");
    for (size_t i = 0; i < a.size(); ++i) {
      const double d = static_cast<double>(a[i]) - b[i];
      difference += d * d;
      power += static_cast<double>(b[i]) * b[i];
    }
  }
  Divergence result;
  // A NaN compares false with everything: it must count as infinitely far.
  result.relative_l2 = std::isfinite(difference) ? std::sqrt(difference / std::max(power, 1e-30))
                                                 : std::numeric_limits<double>::infinity();
  const auto expected = reference.find(first_output);
  const auto found = outputs.find(first_output);
  if (expected == reference.end() || found == outputs.end() ||
      expected->second.type() != ElementType::Float32) {
    return result;
  }
  const std::vector<int64_t> a = top_classes(found->second), b = top_classes(expected->second);
  int64_t same = 0;
  for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  result.agreement = a.empty() ? 1 : static_cast<double>(same) / static_cast<double>(a.size());
  return result;
}

std::vector<int64_t> top_classes(const Tensor& scores) {
  std::vector<int64_t> classes;
  if (scores.rank() == 0) return classes;
  const int64_t samples = scores.shape().front();
  const int64_t each = samples == 0 ? 0 : scores.count() / samples;
  const std::span<const float> values = scores.data<float>();
  for (int64_t i = 0; i < samples; ++i) {
    const auto begin = values.begin() + i * each;
    classes.push_back(each == 0 ? -1 : std::max_element(begin, begin + each) - begin);
  }
  return classes;
}

double top1_accuracy(const Tensor& scores, const Tensor& labels) {
  if (scores.type() != ElementType::Float32) {
    throw UserError("labels were given, but the model's first output holds " +
                    to_string(scores.type()) + ", not scores");
  }
  const std::vector<int64_t> classes = top_classes(scores);
  if (labels.count() != static_cast<int64_t>(classes.size())) {
    throw UserError("there are " + std::to_string(labels.count()) + " labels for " +
                    std::to_string(classes.size()) + " evaluation samples");
  }
  const Tensor integers = labels.cast(ElementType::Int64);
  const std::span<const int64_t> expected = integers.data<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < classes.size(); ++i) right += classes[i] == expected[i] ? 1 : 0;
  return 100.0 * static_cast<double>(right) /
         static_cast<double>(std::max<size_t>(classes.size(), 1));
}

}  // namespace opsmith::search
