#include "substitute/operator/intermediate_order.h"

#include <algorithm>
#include <map>
#include <vector>

namespace opsmith::substitute {

using expression::Axis;
using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;

namespace {

using Order = std::vector<size_t>;  ///< new position to old position

bool mentions(const Index& index, const std::string& iterator) {
  bool found = false;
  expression::substitute(index, [&](const Index& leaf) -> const Index* {
    found = found || (leaf.kind() == Index::Kind::Iterator && leaf.name() == iterator);
    return nullptr;
  });
  return found;
}

bool is_weight(const Program& program, const std::string& tensor) {
  return std::any_of(program.weights.begin(), program.weights.end(),
                     [&](const auto& weight) { return weight.name == tensor; });
}

/// The longest of the stage's axes in an index; the axes' number when there is none.
size_t longest_axis(const Stage& stage, const Index& index, const expression::Binding& typical) {
  size_t longest = stage.axes.size();
  int64_t extent = 0;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (!mentions(index, stage.axes[i].name)) continue;
    const int64_t length = expression::evaluate(stage.axes[i].extent, typical);
    if (length > extent) {
      extent = length;
      longest = i;
    }
  }
  return longest;
}

Order image_order(const Program& program, const Stage& stage, const expression::Binding& typical) {
  Order order(stage.axes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (const Scalar& read : expression::reads(stage.body)) {
    const std::vector<Index>& indices = read.indices();
    if (indices.size() < 4 || is_weight(program, read.tensor())) continue;
    // Batch, then channels in the order in which the tensor has them, then what it has not, then
    // height and width.
    const size_t spatial = indices.size() - 2;
    const size_t height = longest_axis(stage, indices[spatial], typical);
    const size_t width = longest_axis(stage, indices[spatial + 1], typical);
    const auto rank = [&](size_t axis) {
      if (axis == height) return indices.size() + 1;
      if (axis == width) return indices.size() + 2;
      for (size_t d = 0; d < spatial; ++d)
        if (mentions(indices[d], stage.axes[axis].name)) return d;
      return indices.size();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rank(a) < rank(b); });
    break;
  }
  return order;
}

}  // namespace

Program order_intermediates(const Program& program, const expression::Binding& typical) {
  Program result = program;
  std::map<std::string, Order> orders;
  for (Stage& stage : result.stages) {
    const auto follow = [&](const Scalar& scalar) {
      if (scalar.kind() != Scalar::Kind::Read || !orders.contains(scalar.tensor())) return scalar;
      std::vector<Index> indices;
      for (const size_t old : orders.at(scalar.tensor())) indices.push_back(scalar.indices()[old]);
      return Scalar::read(scalar.tensor(), std::move(indices));
    };
    stage.body = expression::transform(stage.body, follow);
    if (stage.epilogue) stage.epilogue = expression::transform(*stage.epilogue, follow);
    const bool is_output = std::find(program.outputs.begin(), program.outputs.end(), stage.name) !=
                           program.outputs.end();
    if (is_output || stage.scatters()) continue;
    const Order order = image_order(result, stage, typical);
    if (std::is_sorted(order.begin(), order.end())) continue;
    std::vector<Axis> axes;
    for (const size_t old : order) axes.push_back(stage.axes[old]);
    stage.axes = std::move(axes);
    orders[stage.name] = order;
  }
  return result;
}

}  // namespace opsmith::substitute
