#include <algorithm>
#include <numeric>

#include "substitute/operator/onnx/view.h"
#include "support/error.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Reduction;
using expression::Scalar;
using expression::Stage;

namespace {

/// Turns one stage into views of its operands and operations on them.
class GeneralStage {
 public:
  GeneralStage(const Stage& stage, StageContext& context)
      : stage_(stage), context_(context), body_(context.body), views_(stage, context) {}

  void emit() {
    if (stage_.scatters()) views_.fail("it scatters");
    if (stage_.fill != 0) views_.fail("it fills with other than zero");
    View result = contractible() ? contract() : compute();
    Value value = views_.arrange(result, names_of(stage_.axes), /*stretch=*/true);
    if (stage_.epilogue) {
      const View reduced{value, names_of(stage_.axes)};
      value = views_.arrange(element(*stage_.epilogue, &reduced), names_of(stage_.axes), true);
    }
    if (context_.bias) value = add_bias(value);
    context_.tensors.add(stage_.name, value);
  }

 private:
  // ---- sums of products, as batched matrix products ----

  void collect_factors(const Scalar& scalar, std::vector<Scalar>& factors, bool& product) const {
    if (scalar.kind() == Scalar::Kind::Read) {
      factors.push_back(scalar);
    } else if (scalar.kind() == Scalar::Kind::Binary &&
               scalar.binary_function() == expression::Binary::Multiply) {
      collect_factors(scalar.operand(0), factors, product);
      collect_factors(scalar.operand(1), factors, product);
    } else {
      product = false;
    }
  }

  bool contractible() {
    bool product = stage_.reduction == Reduction::Sum;
    factors_.clear();
    collect_factors(stage_.body, factors_, product);
    return product;
  }

  View contract() {
    View result = views_.of(factors_[0]);
    for (size_t i = 1; i < factors_.size(); ++i) {
      Names needed = names_of(stage_.axes);
      for (size_t later = i + 1; later < factors_.size(); ++later)
        for (const Index& index : factors_[later].indices())
          for (const std::string& name : iterators_of(index))
            if (!contains(needed, name)) needed.push_back(name);
      result = multiply(result, views_.of(factors_[i]), needed);
    }
    result = sum_all_but(result, names_of(stage_.axes));
    // A sum over an iterator that nothing reads counts its extent.
    double repeats = 1;
    for (const Axis& axis : stage_.reduction_axes) {
      const bool read = std::any_of(factors_.begin(), factors_.end(), [&](const Scalar& factor) {
        return std::any_of(factor.indices().begin(), factor.indices().end(),
                           [&](const Index& index) { return uses(index, axis.name); });
      });
      if (!read) repeats *= static_cast<double>(views_.fixed_extent(axis.name));
    }
    if (repeats != 1)
      result.value = body_.binary("Mul", result.value, number(repeats, result.value.shape.size()));
    return result;
  }

  View sum_all_but(const View& view, const Names& kept) {
    std::vector<int64_t> summed;
    View result;
    for (size_t i = 0; i < view.iterators.size(); ++i) {
      if (contains(kept, view.iterators[i]))
        result.iterators.push_back(view.iterators[i]);
      else
        summed.push_back(static_cast<int64_t>(i));
    }
    result.value = body_.reduce("ReduceSum", view.value, summed);
    return result;
  }

  /// The product of two views summed over all iterators that are not needed any more.
  View multiply(const View& left, const View& right, const Names& needed) {
    const auto only_here = [&](const View& here, const View& other) {
      Names kept = needed;
      kept.insert(kept.end(), other.iterators.begin(), other.iterators.end());
      return sum_all_but(here, kept);
    };
    const View a = only_here(left, right), b = only_here(right, left);
    Names batch, rows, columns, inner;
    for (const std::string& name : a.iterators) {
      const bool shared = contains(b.iterators, name);
      (shared ? (contains(needed, name) ? batch : inner) : rows).push_back(name);
    }
    for (const std::string& name : b.iterators)
      if (!contains(a.iterators, name)) columns.push_back(name);
    const auto matrix = [&](const View& view, const Names& first, const Names& second) {
      Names order = batch;
      order.insert(order.end(), first.begin(), first.end());
      order.insert(order.end(), second.begin(), second.end());
      const Value value = views_.arrange(view, order);
      return body_.reshape(value, {product(batch), product(first), product(second)});
    };
    const Value result = body_.matrix_product(matrix(a, rows, inner), matrix(b, inner, columns));
    View out;
    std::vector<Index> shape;
    for (const Names* part : {&batch, &rows, &columns})
      for (const std::string& name : *part) {
        out.iterators.push_back(name);
        shape.push_back(views_.extent(name));
      }
    out.value = body_.reshape(result, shape);
    return out;
  }

  Index product(const Names& iterators) const {
    Index count(1);
    for (const std::string& name : iterators)
      count = expression::simplify(count * views_.extent(name));
    return count;
  }

  // ---- any other body, element by element ----

  Value number(double value, size_t rank) {
    return body_.constant("number", Tensor::of<float>(Shape(rank, 1), {static_cast<float>(value)}));
  }

  View compute() {
    const View all = element(stage_.body, nullptr);
    if (stage_.reduction == Reduction::None) return all;
    static const std::map<Reduction, std::string> kinds = {{Reduction::Sum, "ReduceSum"},
                                                           {Reduction::Maximum, "ReduceMax"},
                                                           {Reduction::Minimum, "ReduceMin"},
                                                           {Reduction::Product, "ReduceProd"}};
    Names order = names_of(stage_.axes);
    const auto kept = static_cast<int64_t>(order.size());
    for (const Axis& axis : stage_.reduction_axes) order.push_back(axis.name);
    const Value value = views_.arrange(all, order, /*stretch=*/true);
    std::vector<int64_t> reduced(stage_.reduction_axes.size());
    std::iota(reduced.begin(), reduced.end(), kept);
    return {body_.reduce(kinds.at(stage_.reduction), value, reduced), names_of(stage_.axes)};
  }

  /// Value of a scalar expression with dimensions for the iterators that it uses.
  View element(const Scalar& scalar, const View* reduced) {
    switch (scalar.kind()) {
      case Scalar::Kind::Read:
        return views_.of(scalar);
      case Scalar::Kind::Constant:
        return {number(scalar.value(), 0), {}};
      case Scalar::Kind::Reduced:
        require(reduced != nullptr, "a reduced value outside an epilogue");
        return *reduced;
      case Scalar::Kind::Position: {
        const Index& index = scalar.indices()[0];
        if (!index.is_constant()) views_.fail("it computes with a position");
        return {number(static_cast<double>(index.value()), 0), {}};
      }
      case Scalar::Kind::Unary: {
        View operand = element(scalar.operand(0), reduced);
        operand.value = body_.unary(unary_type(scalar.unary_function()), operand.value);
        return operand;
      }
      case Scalar::Kind::Binary:
        return elementwise(scalar.binary_function(), element(scalar.operand(0), reduced),
                           element(scalar.operand(1), reduced));
      default:
        views_.fail("it selects or casts");
    }
  }

  View elementwise(expression::Binary function, const View& a, const View& b) {
    Names all = a.iterators;
    for (const std::string& name : b.iterators)
      if (!contains(all, name)) all.push_back(name);
    return {body_.binary(binary_type(function), views_.arrange(a, all), views_.arrange(b, all)),
            all};
  }

  std::string unary_type(expression::Unary function) const {
    switch (function) {
      case expression::Unary::Negate:
        return "Neg";
      case expression::Unary::Absolute:
        return "Abs";
      case expression::Unary::Exp:
        return "Exp";
      case expression::Unary::Log:
        return "Log";
      case expression::Unary::Tanh:
        return "Tanh";
      case expression::Unary::Erf:
        return "Erf";
      case expression::Unary::Sqrt:
        return "Sqrt";
      case expression::Unary::Reciprocal:
        return "Reciprocal";
      case expression::Unary::Floor:
        return "Floor";
      case expression::Unary::Ceil:
        return "Ceil";
      case expression::Unary::Sin:
        return "Sin";
      case expression::Unary::Cos:
        return "Cos";
      case expression::Unary::Sign:
        return "Sign";
      default:
        views_.fail("a function of it has no operator in every opset");
    }
  }

  std::string binary_type(expression::Binary function) const {
    switch (function) {
      case expression::Binary::Add:
        return "Add";
      case expression::Binary::Subtract:
        return "Sub";
      case expression::Binary::Multiply:
        return "Mul";
      case expression::Binary::Divide:
        return "Div";
      case expression::Binary::Minimum:
        return "Min";
      case expression::Binary::Maximum:
        return "Max";
      case expression::Binary::Power:
        return "Pow";
      default:
        views_.fail("it compares");
    }
  }

  /// Along the channels: dimension 1 of an image, the last of a matrix.
  Value add_bias(const Value& value) {
    const size_t rank = value.shape.size(), channel = 1;
    std::vector<Index> shape(rank, Index(1));
    shape[channel] = value.shape[channel];
    const Value bias = {*context_.bias, {value.shape[channel]}};
    return body_.binary("Add", value, body_.reshape(bias, shape));
  }

  const Stage& stage_;
  StageContext& context_;
  Body& body_;
  Views views_;
  std::vector<Scalar> factors_;
};

}  // namespace

void emit_general(const Stage& stage, StageContext& context) {
  GeneralStage(stage, context).emit();
}

}  // namespace opsmith::substitute::onnx
