#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/expression/interpreter.h"
#include "search/synthesis/canvas/budget.h"

namespace opsmith::synthesis::canvas::testing {

/// A dense array of numbers with its extents, in row-major order.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;

  int64_t stride(size_t dimension) const {
    int64_t below = 1;
    for (size_t i = dimension + 1; i < shape.size(); ++i) below *= shape[i];
    return below;
  }
  int64_t coordinate(int64_t flat, size_t dimension) const {
    return flat / stride(dimension) % shape[dimension];
  }
};

/// Evaluates a kernel for one image step by step, as Canvas's table 1 says, by plain loops: the
/// oracle of its realisations.
class Evaluation {
 public:
  Evaluation(const Kernel& kernel, const Targets& targets, const Solution& solution, size_t layer)
      : kernel_(kernel), targets_(targets), solution_(solution), layer_(layer) {}

  /// `weights` by FullyConnected in order, each [groups, channels of a group, summed channels].
  Array operator()(const Array& input, const std::vector<std::vector<double>>& weights) const {
    std::vector<Array> made = {input};
    size_t next_weight = 0;
    for (int i = 1; i < kernel_.size(); ++i) {
      const Step& step = kernel_.node(i).step;
      const Array& a = made[static_cast<size_t>(step.operands[0])];
      Array result;
      result.shape = shape_of(kernel_.node(i).shape);
      int64_t elements = 1;
      for (const int64_t extent : result.shape) elements *= extent;
      result.values.resize(static_cast<size_t>(elements));
      const size_t rank = static_cast<size_t>(kernel_.node(step.operands[0]).shape.rank);
      switch (step.primitive) {
        case Primitive::Group:
          result.values = a.values;
          break;
        case Primitive::Shift:
          shift(step, rank, a, result);
          break;
        case Primitive::Unfold:
          unfold(step, rank, a, result);
          break;
        case Primitive::FullyConnected:
          connect(step, rank, a, weights[next_weight++], result);
          break;
        case Primitive::ElementWise:
          for (size_t e = 0; e < a.values.size(); ++e)
            result.values[e] = unary(step.function, a.values[e]);
          break;
        case Primitive::Fold:
          fold(step, rank, a, result);
          break;
        case Primitive::Softmax:
          softmax(step, a, result);
          break;
        case Primitive::Broadcast:
          broadcast(step, a, made[static_cast<size_t>(step.operands[1])], result);
          break;
      }
      made.push_back(std::move(result));
    }
    return made.back();
  }

  std::vector<int64_t> shape_of(const TensorShape& shape) const {
    std::vector<int64_t> extents;
    for (int i = 0; i < shape.dimensions(); ++i) extents.push_back(value(shape.dimension(i)));
    return extents;
  }

  int64_t value(const Extent& extent) const {
    const auto fraction = targets_.static_part(extent, layer_);
    int64_t above = fraction.above;
    for (size_t v = 0; v < solution_.variables.size(); ++v)
      for (int p = 0; p < extent.power(static_cast<size_t>(solution_.variables[v])); ++p)
        above *= solution_.values[layer_][v];
    if (above % fraction.below != 0) throw std::logic_error("an extent is not whole");
    return above / fraction.below;
  }

 private:
  /// The dimension in an array of H or W, of a tensor with `rank` channel dimensions.
  static size_t dimension_of(const Array& a, size_t rank, uint8_t along) {
    return along == AlongWidth ? a.shape.size() - 1 : rank;
  }

  static void shift(const Step& step, size_t rank, const Array& a, Array& result) {
    for (int64_t e = 0; e < static_cast<int64_t>(result.values.size()); ++e) {
      int64_t source = e;
      for (const uint8_t along : {AlongHeight, AlongWidth})
        if ((step.spatial & along) != 0) {
          const size_t d = dimension_of(a, rank, along);
          const int64_t at = a.coordinate(e, d), extent = a.shape[d];
          source += ((at + step.amount + extent) % extent - at) * a.stride(d);
        }
      result.values[static_cast<size_t>(e)] = a.values[static_cast<size_t>(source)];
    }
  }

  void unfold(const Step& step, size_t rank, const Array& a, Array& result) const {
    for (int64_t e = 0; e < static_cast<int64_t>(result.values.size()); ++e) {
      bool inside = true;
      int64_t source = 0;
      size_t window = rank;
      for (size_t d = 0; d < a.shape.size(); ++d) {
        const size_t in_result = d < rank ? d : d + result.shape.size() - a.shape.size();
        int64_t at = result.coordinate(e, in_result);
        for (const uint8_t along : {AlongHeight, AlongWidth})
          if ((step.spatial & along) != 0 && d >= rank && d == dimension_of(a, rank, along)) {
            at += result.coordinate(e, window) - result.shape[window] / 2;
            ++window;
          }
        inside = inside && at >= 0 && at < a.shape[d];
        source += at * a.stride(d);
      }
      result.values[static_cast<size_t>(e)] = inside ? a.values[static_cast<size_t>(source)] : 0.0;
    }
  }

  void connect(const Step& step, size_t rank, const Array& a, const std::vector<double>& weight,
               Array& result) const {
    const int64_t groups = value(kernel_.group_count(step));
    const int64_t summed = value(kernel_.summed_channels(step));
    int64_t pixels = 1;
    for (size_t d = rank; d < a.shape.size(); ++d) pixels *= a.shape[d];
    const int64_t made = result.shape[0] / groups;
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t o = 0; o < made; ++o)
        for (int64_t p = 0; p < pixels; ++p) {
          double sum = 0;
          for (int64_t s = 0; s < summed; ++s)
            sum += a.values[static_cast<size_t>((g * summed + s) * pixels + p)] *
                   weight[static_cast<size_t>((g * made + o) * summed + s)];
          result.values[static_cast<size_t>((g * made + o) * pixels + p)] = sum;
        }
  }

  void fold(const Step& step, size_t rank, const Array& a, Array& result) const {
    std::vector<bool> folded(a.shape.size(), false);
    if (step.first >= 0) folded[static_cast<size_t>(step.first)] = true;
    for (const uint8_t along : {AlongHeight, AlongWidth})
      if ((step.spatial & along) != 0) folded[dimension_of(a, rank, along)] = true;
    std::fill(result.values.begin(), result.values.end(),
              step.maximum ? -std::numeric_limits<double>::infinity() : 0);
    const double count =
        static_cast<double>(a.values.size()) / static_cast<double>(result.values.size());
    for (int64_t e = 0; e < static_cast<int64_t>(a.values.size()); ++e) {
      int64_t target = 0;
      for (size_t d = 0; d < a.shape.size(); ++d)
        if (!folded[d]) target = target * a.shape[d] + a.coordinate(e, d);
      double& into = result.values[static_cast<size_t>(target)];
      const double from = a.values[static_cast<size_t>(e)];
      into = step.maximum ? std::max(into, from) : into + from / count;
    }
  }

  static void softmax(const Step& step, const Array& a, Array& result) {
    for (size_t e = 0; e < a.values.size(); ++e) {
      double sum = 0;
      for (size_t other = 0; other < a.values.size(); ++other) {
        bool together = true;
        for (size_t d = 0; d < a.shape.size(); ++d)
          if (static_cast<int>(d) < step.first || static_cast<int>(d) > step.last)
            together = together && a.coordinate(static_cast<int64_t>(e), d) ==
                                       a.coordinate(static_cast<int64_t>(other), d);
        if (together) sum += std::exp(a.values[other] - a.values[e]);
      }
      result.values[e] = 1 / sum;
    }
  }

  void broadcast(const Step& step, const Array& left, const Array& right, Array& result) const {
    const Mismatch rest =
        mismatch(kernel_.node(step.operands[0]).shape, kernel_.node(step.operands[1]).shape);
    int64_t after = 1, middle_right = 1, middle_left = 1;
    const size_t suffix = static_cast<size_t>(rest.suffix), prefix = size_t(rest.prefix);
    for (size_t d = right.shape.size() - suffix; d < right.shape.size(); ++d)
      after *= right.shape[d];
    for (size_t d = prefix; d < right.shape.size() - suffix; ++d) middle_right *= right.shape[d];
    for (size_t d = prefix; d < left.shape.size() - suffix; ++d) middle_left *= left.shape[d];
    for (int64_t e = 0; e < static_cast<int64_t>(right.values.size()); ++e) {
      const int64_t front = e / (after * middle_right), middle = e / after % middle_right;
      const int64_t source = (front * middle_left + middle % middle_left) * after + e % after;
      result.values[static_cast<size_t>(e)] =
          binary(step.function, left.values[static_cast<size_t>(source)],
                 right.values[static_cast<size_t>(e)]);
    }
  }

  static double unary(substitute::MapFunction function, double x) {
    using substitute::MapFunction;
    switch (function) {
      case MapFunction::Relu:
        return std::max(x, 0.0);
      case MapFunction::Absolute:
        return std::fabs(x);
      case MapFunction::Exp:
        return std::exp(x);
      case MapFunction::Sin:
        return std::sin(x);
      case MapFunction::Tanh:
        return std::tanh(x);
      case MapFunction::Sigmoid:
        return 1 / (1 + std::exp(-x));
      case MapFunction::Negate:
        return -x;
      default:
        throw std::logic_error("takes two operands");
    }
  }

  static double binary(substitute::MapFunction function, double a, double b) {
    using substitute::MapFunction;
    switch (function) {
      case MapFunction::Add:
        return a + b;
      case MapFunction::Subtract:
        return a - b;
      case MapFunction::Multiply:
        return a * b;
      case MapFunction::Minimum:
        return std::min(a, b);
      case MapFunction::Maximum:
        return std::max(a, b);
      default:
        throw std::logic_error("takes one operand");
    }
  }

  const Kernel& kernel_;
  const Targets& targets_;
  const Solution& solution_;
  size_t layer_;
};

}  // namespace opsmith::synthesis::canvas::testing
