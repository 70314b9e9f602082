#include <algorithm>

#include "substitute/operator/region.h"
#include "support/error.h"

namespace opsmith::substitute {

using expression::Axis;
using expression::Index;
using expression::Scalar;

namespace {

/// Values of a region's coordinates as index expressions over its iterators.
class CoordinateValues {
 public:
  CoordinateValues(const Region& region, const SizeValues& values)
      : region_(region),
        values_(values),
        indices_(region.coordinates().size()),
        clipped_(region.coordinates().size(), false) {
    for (const Coordinate c : region.outputs()) set(c, Index::iterator(region.name(c)));
    for (const Primitive& primitive : region.primitives())
      std::visit([&](const auto& p) { apply(p); }, primitive);
  }

  /// At a dimension of a tensor, whose end is where the zeros of an unfolded coordinate begin.
  const Index& at_tensor(Coordinate c) const { return indices_[static_cast<size_t>(c)]; }

  Index extent(Coordinate c) const { return region_.extent(c).to_index(values_); }

 private:
  /// For further arithmetic: an unfolded coordinate must not bleed into its neighbour.
  Index inside(Coordinate c) const {
    const Index& index = at_tensor(c);
    return clipped_[static_cast<size_t>(c)] ? within(index, extent(c)) : index;
  }

  void set(Coordinate c, Index index, bool clipped = false) {
    indices_[static_cast<size_t>(c)] = std::move(index);
    clipped_[static_cast<size_t>(c)] = clipped;
  }

  Index amount(const Amount& amount) const {
    if (amount.name.empty()) return Index(amount.value);
    const auto found = values_.find(amount.name);
    if (found == values_.end()) throw UserError("the amount " + amount.name + " has no value");
    return found->second;
  }

  void apply(const Split& p) { set(p.result, inside(p.outer) * extent(p.inner) + inside(p.inner)); }
  void apply(const Merge& p) {
    const Index source = inside(p.source), block = p.block.to_index(values_);
    extent(p.outer);  // complains when the block does not divide
    set(p.outer, floor_div(source, block));
    set(p.inner, mod(source, block));
  }
  void apply(const Shift& p) {
    set(p.result, mod(inside(p.source) + amount(p.amount), extent(p.source)));
  }
  void apply(const Expand&) {}
  void apply(const Unfold& p) {
    const Index before = p.before ? amount(*p.before) : floor_div(extent(p.window), Index(2));
    set(p.result, inside(p.position) + inside(p.window) - before, true);
  }
  void apply(const Stride& p) { set(p.result, inside(p.source) * p.stride.to_index(values_)); }
  void apply(const Reduce& p) { set(p.result, Index::iterator(region_.name(p.result))); }
  void apply(const Share& p) {
    const bool clipped = clipped_[static_cast<size_t>(p.source)];
    set(p.first, at_tensor(p.source), clipped);
    set(p.second, at_tensor(p.source), clipped);
  }

  const Region& region_;
  const SizeValues& values_;
  std::vector<Index> indices_;
  std::vector<bool> clipped_;
};

}  // namespace

expression::Stage lower(const Region& region, const std::string& stage_name,
                        const SizeValues& values) {
  validate(region);
  const CoordinateValues coordinates(region, values);
  expression::Stage stage;
  stage.name = stage_name;
  const auto axis = [&](Coordinate c) { return Axis{region.name(c), coordinates.extent(c)}; };
  for (const Coordinate c : region.outputs()) stage.axes.push_back(axis(c));
  for (const Primitive& primitive : region.primitives())
    if (const auto* reduce = std::get_if<Reduce>(&primitive))
      stage.reduction_axes.push_back(axis(reduce->result));
  if (!stage.reduction_axes.empty()) stage.reduction = expression::Reduction::Sum;

  std::optional<Scalar> product;
  for (const auto* operands : {&region.data(), &region.weights()})
    for (const Operand& operand : *operands) {
      std::vector<Index> indices;
      for (const Coordinate c : operand.coordinates) indices.push_back(coordinates.at_tensor(c));
      const Scalar read = Scalar::read(operand.tensor, std::move(indices));
      product = product ? *product * read : read;
    }
  stage.body = *product;
  return stage;
}

std::vector<expression::TensorDeclaration> lower_weights(const Region& region,
                                                         const SizeValues& values) {
  std::vector<expression::TensorDeclaration> declarations;
  for (const Operand& operand : region.weights()) {
    expression::TensorDeclaration declaration;
    declaration.name = operand.tensor;
    for (const Size& extent : region.shape_of(operand))
      declaration.shape.push_back(extent.to_index(values));
    declarations.push_back(std::move(declaration));
  }
  return declarations;
}

}  // namespace opsmith::substitute
