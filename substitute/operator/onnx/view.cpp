#include "substitute/operator/onnx/view.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Scalar;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names names_of(const std::vector<Axis>& axes) {
  Names names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

void Views::fail(const std::string& why) const {
  throw Unsupported("stage " + stage_.name + " of the program " + context_.program.name +
                    " cannot be written with standard operators: " + why);
}

const Index& Views::extent(const std::string& iterator) const {
  const Axis* axis = find_axis(stage_.axes, iterator);
  return (axis != nullptr ? axis : find_axis(stage_.reduction_axes, iterator))->extent;
}

int64_t Views::fixed_extent(const std::string& iterator) const {
  if (!extent(iterator).is_constant()) fail("the extent of " + iterator + " is not fixed");
  return extent(iterator).value();
}

/// Dimensions of a read that share iterators, directly or through others, are taken together.
struct Views::Component {
  std::vector<size_t> dimensions;
  Names iterators;
};

std::vector<Views::Component> Views::components(const Scalar& read) const {
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

View Views::of(const Scalar& read) {
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
    result.iterators.insert(result.iterators.end(), group.iterators.begin(), group.iterators.end());
  }
  result.value = value;
  return result;
}

/// Replaces a dimension by one for each iterator of the component.
Value Views::take(const Value& value, int64_t dimension, const Scalar& read, const Component& group,
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

Value Views::arrange(const View& view, const Names& wanted, bool stretch) {
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

}  // namespace opsmith::substitute::onnx
