#include "runtime/expression/adjoint.h"

#include <set>

#include "runtime/expression/inversion.h"
#include "runtime/expression/visit.h"

namespace opsmith::expression {

Scalar both(const std::optional<Scalar>& a, const Scalar& b) {
  return a ? Scalar::binary(Binary::And, *a, b) : b;
}

Scalar in_domain(const Scalar& position, const Index& extent) {
  return both(Scalar::binary(Binary::LessEqual, Scalar::constant(0), position),
              Scalar::binary(Binary::Less, position, Scalar::position(extent)));
}

namespace {

/// A gather may visit this many times the points of the scatter in its place.
constexpr double kGatherAdvantage = 4;

/// Points of a box, 0 when a size is not bound.
double points(const std::vector<Axis>& axes) {
  double product = 1;
  for (const Axis& axis : axes) {
    product *= axis.extent.is_constant() ? static_cast<double>(axis.extent.value()) : 0;
  }
  return product;
}

/// Reads, and other parts, that make the whole zero when they are.
void collect_factors(const Scalar& scalar, std::vector<Scalar>& factors) {
  if (scalar.kind() == Scalar::Kind::Binary && scalar.binary_function() == Binary::Multiply) {
    collect_factors(scalar.operand(0), factors);
    collect_factors(scalar.operand(1), factors);
  } else if (scalar.kind() == Scalar::Kind::Select && scalar.operand(2) == Scalar::constant(0)) {
    collect_factors(scalar.operand(1), factors);
  } else {
    factors.push_back(scalar);
  }
}

/// Whether an index stays inside its dimension over the whole space.
bool inside(const Index& index, const Index& extent, const std::vector<Axis>& space) {
  Ranges ranges;
  for (const Axis& axis : space) {
    if (index == Index::iterator(axis.name) && axis.extent == extent) return true;
    if (axis.extent.is_constant()) ranges[axis.name] = {0, axis.extent.value()};
  }
  if (index.has_within()) return false;
  const auto range = value_range(index, ranges);
  return range && extent.is_constant() && range->begin >= 0 && range->end <= extent.value();
}

/// Iterators at which a factor of the product is read barely, over the iterator's domain.
std::set<std::string> covered_iterators(const Program& program, const Scalar& product,
                                        const std::vector<Axis>& space) {
  std::set<std::string> covered;
  std::vector<Scalar> factors;
  collect_factors(product, factors);
  for (const Scalar& factor : factors) {
    if (factor.kind() != Scalar::Kind::Read) continue;
    const auto shape = program.shape_of(factor.tensor());
    for (size_t d = 0; d < shape.size(); ++d) {
      for (const Axis& axis : space) {
        if (factor.indices()[d] == Index::iterator(axis.name) && axis.extent == shape[d]) {
          covered.insert(axis.name);
        }
      }
    }
  }
  return covered;
}

/// Whether some read could lie outside its tensor, where the fill matters.
bool reads_outside(const Program& program, const Scalar& scalar, const std::vector<Axis>& space) {
  for (const Scalar& read : reads(scalar)) {
    const auto shape = program.shape_of(read.tensor());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!inside(read.indices()[d], shape[d], space)) return true;
    }
  }
  return false;
}

bool gather(const Program& program, const Scalar& read, const std::vector<Axis>& space,
            const Scalar& upstream, double fill, Stage& result) {
  const auto symbols = program.symbols();
  const auto inversion = invert(read.indices(), program.shape_of(read.tensor()), space,
                                {symbols.begin(), symbols.end()});
  if (!inversion) return false;
  if (points(inversion->element) * points(inversion->remaining) >
      kGatherAdvantage * points(space)) {
    return false;
  }
  // Solved iterators may leave their domain; a factor that is read at the bare iterator is 0
  // there, provided that reads outside are.
  std::set<std::string> covered;
  const bool other_fill = fill != 0 && reads_outside(program, upstream, space);
  if (!other_fill) covered = covered_iterators(program, upstream, space);
  std::optional<Scalar> condition;
  for (const Inversion::Guard& guard : inversion->guards) {
    if (!guard.iterator.empty() && covered.contains(guard.iterator)) continue;
    const Scalar value = Scalar::position(guard.value);
    condition = both(condition, in_domain(value, guard.extent));
  }
  result.axes = inversion->element;
  result.reduction_axes = inversion->remaining;
  result.reduction = inversion->remaining.empty() ? Reduction::None : Reduction::Sum;
  result.fill = other_fill ? fill : 0;
  const Ranges ranges = ranges_of(result);
  result.body = transform_indices(upstream, [&](const Index& index) {
    return simplify(substitute(index,
                               [&](const Index& leaf) -> const Index* {
                                 if (leaf.kind() != Index::Kind::Iterator) return nullptr;
                                 return &inversion->solution.at(leaf.name());
                               }),
                    ranges);
  });
  if (condition) result.body = Scalar::select(*condition, result.body, Scalar::constant(0));
  return true;
}

}  // namespace

Stage adjoint(const Program& program, const Scalar& read, const std::vector<Axis>& space,
              const Scalar& upstream, double fill, ElementType accumulation) {
  Stage result;
  if (!gather(program, read, space, upstream, fill, result)) {
    result = Stage();
    result.axes = space;
    result.target = read.indices();
    result.target_shape = program.shape_of(read.tensor());
    result.body = upstream;
    result.fill = fill;
  }
  result.type = program.type_of(read.tensor());
  if (is_float(accumulation) && result.reduction != Reduction::None) {
    result.accumulation = accumulation;
  }
  return result;
}

}  // namespace opsmith::expression
