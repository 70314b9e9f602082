#include <algorithm>
#include <numeric>

#include "substitute/operator/onnx/stage.h"
#include "support/error.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Reduction;
using expression::Scalar;
using expression::Stage;

namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A tensor with one dimension for each iterator, in order.
struct View {
  Value value;
  Names iterators;
};

/// Turns one stage into views of its operands and operations on them.
class GeneralStage {
 public:
  GeneralStage(const Stage& stage, StageContext& context)
      : stage_(stage), context_(context), body_(context.body) {}

  void emit() {
    if (stage_.scatters()) fail("it scatters");
    if (stage_.fill != 0) fail("it fills with other than zero");
    View result = contractible() ? contract() : compute();
    Value value = arrange(result, names(stage_.axes), /*stretch=*/true);
    if (stage_.epilogue) {
      const View reduced{value, names(stage_.axes)};
      value = arrange(element(*stage_.epilogue, &reduced), names(stage_.axes), true);
    }
    if (context_.bias) value = add_bias(value);
    context_.tensors.add(stage_.name, value);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Unsupported("stage " + stage_.name + " of the program " + context_.program.name +
                      " cannot be written with standard operators: " + why);
  }

  static Names names(const std::vector<Axis>& axes) {
    Names result;
    for (const Axis& axis : axes) result.push_back(axis.name);
    return result;
  }

  const Index& extent(const std::string& name) const {
    const Axis* axis = find_axis(stage_.axes, name);
    return (axis != nullptr ? axis : find_axis(stage_.reduction_axes, name))->extent;
  }

  int64_t fixed_extent(const std::string& name) const {
    if (!extent(name).is_constant()) fail("the extent of " + name + " is not fixed");
    return extent(name).value();
  }

  // ---- views ----

  /// Dimensions of a read that share iterators, directly or through others, are taken together.
  struct Component {
    std::vector<size_t> dimensions;
    Names iterators;
  };

  std::vector<Component> components(const Scalar& read) const {
    std::vector<Component> result;
    for (size_t d = 0; d < read.indices().size(); ++d) {
      Component merged{{d}, iterators_of(read.indices()[d])};
      for (auto other = result.begin(); other != result.end();) {
        const bool touches =
            std::any_of(merged.iterators.begin(), merged.iterators.end(),
                        [&](const std::string& name) { return contains(other->iterators, name); });
        if (!touches) {
          ++other;
          continue;
        }
        Names together = other->iterators;
        for (const std::string& name : merged.iterators)
          if (!contains(together, name)) together.push_back(name);
        merged.iterators = together;
        merged.dimensions.insert(merged.dimensions.begin(), other->dimensions.begin(),
                                 other->dimensions.end());
        other = result.erase(other);
      }
      std::sort(merged.dimensions.begin(), merged.dimensions.end());
      result.push_back(std::move(merged));
    }
    return result;
  }

  View view(const Scalar& read) {
    const std::vector<Index> extents = context_.program.shape_of(read.tensor());
    Value value = context_.tensors.whole(read.tensor());
    const std::vector<Component> groups = components(read);
    // Bring the dimensions of each component together, then make each component one dimension.
    std::vector<int64_t> order;
    for (const Component& group : groups)
      for (const size_t d : group.dimensions) order.push_back(static_cast<int64_t>(d));
    value = body_.transpose(value, order);
    std::vector<Index> flat;
    for (const Component& group : groups) {
      Index count = extents[group.dimensions[0]];
      for (size_t i = 1; i < group.dimensions.size(); ++i)
        count = expression::simplify(count * extents[group.dimensions[i]]);
      flat.push_back(count);
    }
    value = body_.reshape(value, flat);
    View result;
    int64_t dimension = 0;
    for (const Component& group : groups) {
      value = take(value, dimension, read, group, extents);
      dimension += static_cast<int64_t>(group.iterators.size());
      result.iterators.insert(result.iterators.end(), group.iterators.begin(),
                              group.iterators.end());
    }
    result.value = value;
    return result;
  }

  /// Replaces a dimension by one for each iterator of the component.
  Value take(const Value& value, int64_t dimension, const Scalar& read, const Component& group,
             const std::vector<Index>& extents) {
    if (group.dimensions.size() == 1 && group.iterators.size() == 1) {
      const Index& index = read.indices()[group.dimensions[0]];
      if (index.kind() == Index::Kind::Iterator &&
          extent(index.name()) == extents[group.dimensions[0]])
        return value;
    }
    const Names& iterators = group.iterators;
    Shape shape;
    int64_t count = 1;
    for (const std::string& name : iterators) {
      shape.push_back(fixed_extent(name));
      count *= shape.back();
    }
    int64_t total = 1;
    for (const size_t d : group.dimensions) {
      if (!extents[d].is_constant()) fail("the extent of " + read.tensor() + " is not fixed");
      total *= extents[d].value();
    }
    // Reads outside the tensor take a zero that is put behind its end.
    std::vector<int64_t> positions(static_cast<size_t>(count));
    bool outside = false;
    expression::Binding values;
    for (int64_t point = 0; point < count; ++point) {
      int64_t rest = point;
      for (size_t i = iterators.size(); i-- > 0;) {
        values[iterators[i]] = rest % shape[i];
        rest /= shape[i];
      }
      int64_t position = 0;
      for (const size_t d : group.dimensions) {
        const int64_t at = expression::evaluate(read.indices()[d], values);
        const bool inside =
            at >= 0 && at < extents[d].value() && expression::in_bounds(read.indices()[d], values);
        if (!inside) {
          position = total;
          outside = true;
          break;
        }
        position = position * extents[d].value() + at;
      }
      positions[static_cast<size_t>(point)] = position;
    }
    Value source = value;
    if (outside) {
      std::vector<Body::Margin> margins(value.shape.size());
      margins[static_cast<size_t>(dimension)].after = 1;
      source = body_.pad(value, margins);
    }
    return body_.gather(source, shape, positions, dimension);
  }

  /// The view with the dimensions of `wanted` in that order. Missing ones have extent 1, or their
  /// full extent when `stretch` is set.
  Value arrange(const View& view, const Names& wanted, bool stretch = false) {
    std::vector<int64_t> permutation;
    std::vector<Index> shape;
    bool missing = false;
    for (const std::string& name : wanted) {
      const auto found = std::find(view.iterators.begin(), view.iterators.end(), name);
      if (found == view.iterators.end()) {
        shape.push_back(Index(1));
        missing = missing || !extent(name).is_constant(1);
        continue;
      }
      permutation.push_back(found - view.iterators.begin());
      shape.push_back(view.value.shape[static_cast<size_t>(permutation.back())]);
    }
    require(permutation.size() == view.iterators.size(), "a view has an iterator too many");
    Value value = body_.reshape(body_.transpose(view.value, permutation), shape);
    if (stretch && missing) {
      // Adding zeros of the full shape repeats the value.
      Shape full;
      for (const std::string& name : wanted)
        full.push_back(extent(name).is_constant() ? extent(name).value() : 1);
      for (size_t i = 0; i < wanted.size(); ++i)
        if (!extent(wanted[i]).is_constant() && shape[i].is_constant(1))
          fail("it repeats along " + wanted[i] + ", whose extent is not fixed");
      value = body_.binary("Add", value,
                           body_.constant("zeros", Tensor::zeros(ElementType::Float32, full)));
    }
    return value;
  }

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
    View result = view(factors_[0]);
    for (size_t i = 1; i < factors_.size(); ++i) {
      Names needed = names(stage_.axes);
      for (size_t later = i + 1; later < factors_.size(); ++later)
        for (const Index& index : factors_[later].indices())
          for (const std::string& name : iterators_of(index))
            if (!contains(needed, name)) needed.push_back(name);
      result = multiply(result, view(factors_[i]), needed);
    }
    result = sum_all_but(result, names(stage_.axes));
    // A sum over an iterator that nothing reads counts its extent.
    double repeats = 1;
    for (const Axis& axis : stage_.reduction_axes) {
      const bool read = std::any_of(factors_.begin(), factors_.end(), [&](const Scalar& factor) {
        return std::any_of(factor.indices().begin(), factor.indices().end(),
                           [&](const Index& index) { return uses(index, axis.name); });
      });
      if (!read) repeats *= static_cast<double>(fixed_extent(axis.name));
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
      const Value value = arrange(view, order);
      return body_.reshape(value, {product(batch), product(first), product(second)});
    };
    const Value result = body_.matrix_product(matrix(a, rows, inner), matrix(b, inner, columns));
    View out;
    std::vector<Index> shape;
    for (const Names* part : {&batch, &rows, &columns})
      for (const std::string& name : *part) {
        out.iterators.push_back(name);
        shape.push_back(extent(name));
      }
    out.value = body_.reshape(result, shape);
    return out;
  }

  Index product(const Names& iterators) const {
    Index count(1);
    for (const std::string& name : iterators) count = expression::simplify(count * extent(name));
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
    Names order = names(stage_.axes);
    const auto kept = static_cast<int64_t>(order.size());
    for (const Axis& axis : stage_.reduction_axes) order.push_back(axis.name);
    const Value value = arrange(all, order, /*stretch=*/true);
    std::vector<int64_t> reduced(stage_.reduction_axes.size());
    std::iota(reduced.begin(), reduced.end(), kept);
    return {body_.reduce(kinds.at(stage_.reduction), value, reduced), names(stage_.axes)};
  }

  /// Value of a scalar expression with dimensions for the iterators that it uses.
  View element(const Scalar& scalar, const View* reduced) {
    switch (scalar.kind()) {
      case Scalar::Kind::Read:
        return view(scalar);
      case Scalar::Kind::Constant:
        return {number(scalar.value(), 0), {}};
      case Scalar::Kind::Reduced:
        require(reduced != nullptr, "a reduced value outside an epilogue");
        return *reduced;
      case Scalar::Kind::Position: {
        const Index& index = scalar.indices()[0];
        if (!index.is_constant()) fail("it computes with a position");
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
        fail("it selects or casts");
    }
  }

  View elementwise(expression::Binary function, const View& a, const View& b) {
    Names all = a.iterators;
    for (const std::string& name : b.iterators)
      if (!contains(all, name)) all.push_back(name);
    return {body_.binary(binary_type(function), arrange(a, all), arrange(b, all)), all};
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
        fail("a function of it has no operator in every opset");
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
        fail("it compares");
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
  std::vector<Scalar> factors_;
};

}  // namespace

void emit_general(const Stage& stage, StageContext& context) {
  GeneralStage(stage, context).emit();
}

}  // namespace opsmith::substitute::onnx
