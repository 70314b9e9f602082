#include "search/synthesis/canvas/budget.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/error.h"

namespace opsmith::synthesis::canvas {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

int64_t checked_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw UserError("a width is too large to represent");
  return product;
}

/// A count that is a product of static variables and free ones, by layer.
struct Monomial {
  std::vector<double> factor;  ///< by layer
  std::vector<int> variables;  ///< positions in the solution, once for each power

  double at(size_t layer, const std::vector<int64_t>& values) const {
    double product = factor[layer];
    for (const int v : variables) product *= static_cast<double>(values[static_cast<size_t>(v)]);
    return product;
  }
};

/// Multiply-accumulates, parameters and the largest tensor of a kernel as sums of monomials.
class KernelUse {
 public:
  KernelUse(const Targets& targets, const KernelLimits& limits, const Kernel& kernel,
            const std::vector<int>& variables)
      : targets_(targets), limits_(limits), variables_(variables) {
    for (int i = 1; i < kernel.size(); ++i) {
      const Node& node = kernel.node(i);
      const Extent operand = kernel.node(node.step.operands[0]).shape.elements();
      elements_.push_back(monomial(node.shape.elements(), true));
      switch (node.step.primitive) {
        case Primitive::FullyConnected: {
          const Extent summed = kernel.summed_channels(node.step);
          macs_.push_back(monomial(node.shape.elements() * summed, true));
          parameters_.push_back(monomial(node.shape.channels[0] * summed, true));
          break;
        }
        case Primitive::Fold:
          if (!node.step.maximum) macs_.push_back(monomial(operand, true));
          break;
        case Primitive::Softmax:
          macs_.push_back(monomial(operand, true));
          break;
        default:
          break;
      }
    }
    for (size_t layer = 0; layer < targets.layers().size(); ++layer) {
      const Target& target = targets.layers()[layer];
      // Copies whose outputs are added are summed over once more.
      if (target.layer.input_channels > target.layer.output_channels)
        fixed_macs_.push_back(
            static_cast<double>(target.layer.input_channels * targets.value(Height, layer) *
                                targets.value(Width, layer)));
      else
        fixed_macs_.push_back(0);
    }
  }

  double macs(size_t layer, const std::vector<int64_t>& values) const {
    return fixed_macs_[layer] + sum(macs_, layer, values);
  }
  double parameters(size_t layer, const std::vector<int64_t>& values) const {
    return sum(parameters_, layer, values);
  }
  /// Largest tensor over the layer's input.
  double largest(size_t layer, const std::vector<int64_t>& values) const {
    double most = 0;
    for (const Monomial& elements : elements_) most = std::max(most, elements.at(layer, values));
    const Target& target = targets_.layers()[layer];
    return most / (static_cast<double>(target.channels * target.copies) *
                   static_cast<double>(targets_.value(Height, layer)) *
                   static_cast<double>(targets_.value(Width, layer)));
  }

  std::vector<double> shares(size_t layer, const std::vector<int64_t>& values) const {
    if (largest(layer, values) > limits_.most_elements) return {infinity, infinity};
    return {macs(layer, values) / (limits_.most_macs * targets_.original_macs()),
            parameters(layer, values) / (limits_.most_parameters * targets_.original_parameters())};
  }

 private:
  Monomial monomial(const Extent& extent, bool each_copy) const {
    Monomial result;
    for (size_t layer = 0; layer < targets_.layers().size(); ++layer) {
      const auto fraction = targets_.static_part(extent, layer);
      const int64_t copies = each_copy ? targets_.layers()[layer].copies : 1;
      result.factor.push_back(static_cast<double>(copies) * static_cast<double>(fraction.above) /
                              static_cast<double>(fraction.below));
    }
    for (size_t v = 0; v < variables_.size(); ++v)
      for (int p = 0; p < extent.power(static_cast<size_t>(variables_[v])); ++p)
        result.variables.push_back(static_cast<int>(v));
    return result;
  }

  static double sum(const std::vector<Monomial>& monomials, size_t layer,
                    const std::vector<int64_t>& values) {
    double total = 0;
    for (const Monomial& monomial : monomials) total += monomial.at(layer, values);
    return total;
  }

  const Targets& targets_;
  const KernelLimits& limits_;
  const std::vector<int>& variables_;
  std::vector<Monomial> macs_, parameters_, elements_;
  std::vector<double> fixed_macs_;
};

}  // namespace

VariableValues base_values(const VariableValues& multiples, const std::vector<int64_t>& channels,
                           const std::vector<bool>& grows) {
  VariableValues values = multiples;
  const size_t first =
      static_cast<size_t>(std::min_element(channels.begin(), channels.end()) - channels.begin());
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = 0; j < values[i].size(); ++j) {
      const int64_t above = checked_product(grows[j] ? channels[i] : 1, multiples[first][j]);
      const int64_t below = checked_product(grows[j] ? channels[first] : 1, multiples[i][j]);
      values[i][j] = checked_product(multiples[i][j], (above + below - 1) / below);
    }
  return values;
}

bool use_budget(VariableValues& values, const LayerUse& use) {
  std::vector<std::vector<double>> by_layer;
  std::vector<double> total;
  const auto add = [&](const std::vector<double>& shares) {
    total.resize(shares.size());
    for (size_t b = 0; b < shares.size(); ++b) total[b] += shares[b];
  };
  for (size_t i = 0; i < values.size(); ++i) {
    by_layer.push_back(use(i, values[i]));
    add(by_layer.back());
  }
  const auto fits = [](double share) { return share <= 1; };
  if (!std::all_of(total.begin(), total.end(), fits)) return false;
  while (true) {
    double least = infinity;
    size_t best_layer = 0, best_variable = 0;
    std::vector<double> best_shares;
    for (size_t i = 0; i < values.size(); ++i)
      for (size_t j = 0; j < values[i].size(); ++j) {
        int64_t doubled = 0;
        if (__builtin_mul_overflow(values[i][j], int64_t{2}, &doubled)) continue;
        const int64_t before = values[i][j];
        values[i][j] = doubled;
        const std::vector<double> shares = use(i, values[i]);
        values[i][j] = before;
        double more = 0;
        bool possible = true;
        for (size_t b = 0; b < shares.size(); ++b) {
          const double change = shares[b] - by_layer[i][b];
          possible = possible && fits(total[b] + change);
          more = std::max(more, change);
        }
        // What costs nothing at all would be doubled for ever.
        if (!possible || more <= 0 || more >= least) continue;
        least = more;
        best_layer = i;
        best_variable = j;
        best_shares = shares;
      }
    if (least == infinity) return true;
    values[best_layer][best_variable] *= 2;
    for (size_t b = 0; b < total.size(); ++b) total[b] += best_shares[b] - by_layer[best_layer][b];
    by_layer[best_layer] = best_shares;
  }
}

VariableValues required_multiples(const Targets& targets, const Kernel& kernel,
                                  const std::vector<int>& variables) {
  VariableValues multiples(targets.layers().size(), std::vector<int64_t>(variables.size(), 1));
  const auto require_whole = [&](const Extent& extent) {
    const int dynamic = dynamic_variable(extent);
    if (dynamic < 0) return;
    const auto v = static_cast<size_t>(std::find(variables.begin(), variables.end(), dynamic) -
                                       variables.begin());
    for (size_t layer = 0; layer < multiples.size(); ++layer) {
      int64_t& multiple = multiples[layer][v];
      const int64_t below = targets.static_part(extent, layer).below;
      multiple = checked_product(multiple, below / std::gcd(multiple, below));
    }
  };
  for (const Node& node : kernel.nodes())
    for (int i = 0; i < node.shape.rank; ++i)
      require_whole(node.shape.channels[static_cast<size_t>(i)]);
  for (const Extent& requirement : kernel.requirements()) require_whole(requirement);
  return multiples;
}

bool solve(const Targets& targets, const KernelLimits& limits, const Kernel& kernel,
           Solution& solution) {
  solution.variables = kernel.free_variables();
  std::vector<int64_t> channels;
  for (const Target& target : targets.layers()) channels.push_back(target.channels);
  std::vector<bool> grows;
  for (const int variable : solution.variables) grows.push_back(!kernel.per_channel(variable));
  solution.values =
      base_values(required_multiples(targets, kernel, solution.variables), channels, grows);
  const KernelUse use(targets, limits, kernel, solution.variables);
  if (!use_budget(solution.values, [&](size_t layer, const std::vector<int64_t>& values) {
        return use.shares(layer, values);
      }))
    return false;
  solution.macs = solution.parameters = 0;
  for (size_t layer = 0; layer < targets.layers().size(); ++layer) {
    solution.macs += use.macs(layer, solution.values[layer]);
    solution.parameters += use.parameters(layer, solution.values[layer]);
  }
  return true;
}

}  // namespace opsmith::synthesis::canvas
