#include "search/synthesis/canvas/kernel.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::synthesis::canvas {

namespace {

Extent single(size_t variable) {
  Extent extent;
  extent.set_power(variable, 1);
  return extent;
}

Extent replaced(Extent extent, size_t variable, const Extent& by) {
  const int power = extent.power(variable);
  if (power == 0) return extent;
  extent.set_power(variable, 0);
  for (int p = 0; p < std::abs(power); ++p) extent = power > 0 ? extent * by : extent / by;
  return extent;
}

void push(TensorShape& shape, const Extent& extent) {
  require(shape.rank < TensorShape::most_channels, "a kernel's tensor has too many dimensions");
  shape.channels[static_cast<size_t>(shape.rank++)] = extent;
}

void fold_channel(TensorShape& shape, int dimension) {
  for (int i = dimension; i + 1 < shape.rank; ++i)
    shape.channels[static_cast<size_t>(i)] = shape.channels[static_cast<size_t>(i) + 1];
  shape.channels[static_cast<size_t>(--shape.rank)] = Extent{};
  if (dimension == 0) shape.grouped = false;
}

}  // namespace

std::string to_string(Primitive primitive) {
  static const std::array<std::string, primitive_types> names = {
      "group",        "shift", "unfold",  "fully-connected",
      "element-wise", "fold",  "softmax", "broadcast"};
  return names[static_cast<size_t>(primitive)];
}

Extent TensorShape::dimension(int i) const {
  if (i < rank) return channels[static_cast<size_t>(i)];
  return single(i == rank && (spatial & AlongHeight) != 0 ? Height : Width);
}

Extent TensorShape::channel_product() const {
  Extent product;
  for (int i = 0; i < rank; ++i) product = product * channels[static_cast<size_t>(i)];
  return product;
}

Extent TensorShape::elements() const {
  Extent product;
  for (int i = 0; i < dimensions(); ++i) product = product * dimension(i);
  return product;
}

Kernel::Kernel() {
  nodes_.reserve(16);
  Node input;
  push(input.shape, single(Channels));
  nodes_.push_back(input);
}

TensorShape Kernel::shape_after(const Step& step) const {
  const TensorShape& operand = node(step.operands[0]).shape;
  TensorShape shape = operand;
  switch (step.primitive) {
    case Primitive::Group:
      shape.grouped = true;
      if (!step.each_channel) {
        push(shape, Extent{});
        for (int i = shape.rank - 1; i > 0; --i)
          shape.channels[static_cast<size_t>(i)] = shape.channels[static_cast<size_t>(i) - 1];
        shape.channels[0] = single(Groups);
        shape.channels[1] = shape.channels[1] / single(Groups);
      }
      return shape;
    case Primitive::Unfold:
      if ((step.spatial & AlongHeight) != 0) push(shape, single(KernelHeight));
      if ((step.spatial & AlongWidth) != 0) push(shape, single(KernelWidth));
      return shape;
    case Primitive::FullyConnected: {
      TensorShape made;
      made.spatial = operand.spatial;
      const Extent groups = group_count(step);
      Extent channels = single(static_cast<size_t>(fresh_variable()));
      // What a primary variable counts must not divide: x for each of these groups instead.
      if (!makes_variable(step))
        channels = groups;
      else if (groups != Extent{} && groups != single(Groups))
        channels = channels * groups;
      push(made, channels);
      return made;
    }
    case Primitive::Fold:
      if (step.first >= 0)
        fold_channel(shape, step.first);
      else
        shape.spatial = static_cast<uint8_t>(shape.spatial & ~step.spatial);
      return shape;
    case Primitive::Broadcast:
      return node(step.operands[1]).shape;
    case Primitive::Shift:
    case Primitive::ElementWise:
    case Primitive::Softmax:
      return shape;
  }
  throw InternalError("unknown primitive");
}

Extent Kernel::group_count(const Step& step) const {
  const TensorShape& operand = node(step.operands[0]).shape;
  return operand.grouped ? operand.channels[0] : Extent{};
}

bool Kernel::makes_variable(const Step& step) const {
  return step.primitive == Primitive::FullyConnected && dynamic_variable(group_count(step)) < 0;
}

Extent Kernel::summed_channels(const Step& step) const {
  return node(step.operands[0]).shape.channel_product() / group_count(step);
}

void Kernel::append(const Step& step) {
  if (step.substituted >= 0) substitute(step.substituted, step.substitution);
  Node made;
  made.step = step;
  made.shape = shape_after(step);
  if (step.primitive == Primitive::FullyConnected) {
    const Extent groups = group_count(step);
    if (groups == single(Groups)) requirements_.push_back(made.shape.channels[0] / groups);
    // x filters for each channel need not grow with the channels.
    if (makes_variable(step))
      per_channel_[static_cast<size_t>(dynamic_count_++)] = groups.power(Channels) > 0;
  }
  if (step.primitive == Primitive::Broadcast) {
    const Mismatch rest = mismatch(node(step.operands[0]).shape, node(step.operands[1]).shape);
    if (rest.left != rest.right) requirements_.push_back(rest.right / rest.left);
  }
  for (int i = 0; i < step.operand_count(); ++i) {
    Node& operand = nodes_[static_cast<size_t>(step.operands[static_cast<size_t>(i)])];
    ++operand.users;
    made.looks |= operand.looks;
  }
  if (step.primitive == Primitive::Shift || step.primitive == Primitive::Unfold)
    made.looks |= step.spatial;
  nodes_.push_back(made);
}

void Kernel::substitute(int variable, const Extent& by) {
  const auto v = static_cast<size_t>(variable);
  for (Node& node : nodes_)
    for (int i = 0; i < node.shape.rank; ++i) {
      Extent& extent = node.shape.channels[static_cast<size_t>(i)];
      extent = replaced(extent, v, by);
    }
  for (Extent& requirement : requirements_) requirement = replaced(requirement, v, by);
  if (by.power(v) != 0 && by.power(Channels) > 0) per_channel_[v - FirstDynamic] = true;
}

int Kernel::leaves() const {
  return static_cast<int>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.users == 0; }));
}

std::vector<int> Kernel::free_variables() const {
  std::vector<int> variables;
  for (const Node& node : nodes_)
    for (int i = 0; i < node.shape.rank; ++i) {
      const int variable = dynamic_variable(node.shape.channels[static_cast<size_t>(i)]);
      if (variable >= 0 &&
          std::find(variables.begin(), variables.end(), variable) == variables.end())
        variables.push_back(variable);
    }
  std::sort(variables.begin(), variables.end());
  return variables;
}

Mismatch mismatch(const TensorShape& left, const TensorShape& right) {
  Mismatch result;
  const int l = left.dimensions(), r = right.dimensions(), shorter = std::min(l, r);
  while (result.prefix < shorter && left.dimension(result.prefix) == right.dimension(result.prefix))
    ++result.prefix;
  while (result.suffix < shorter - result.prefix &&
         left.dimension(l - 1 - result.suffix) == right.dimension(r - 1 - result.suffix))
    ++result.suffix;
  for (int i = result.prefix; i < l - result.suffix; ++i)
    result.left = result.left * left.dimension(i);
  for (int i = result.prefix; i < r - result.suffix; ++i)
    result.right = result.right * right.dimension(i);
  return result;
}

namespace {

std::string along(uint8_t spatial) {
  return spatial == AlongBoth ? "_hw" : spatial == AlongHeight ? "_h" : "_w";
}

std::string call(const Step& step) {
  switch (step.primitive) {
    case Primitive::Group:
      return step.each_channel ? "group_each" : "group";
    case Primitive::Shift:
      return "shift" + along(step.spatial) + (step.amount < 0 ? "_back" : "");
    case Primitive::Unfold:
      return "unfold" + along(step.spatial);
    case Primitive::FullyConnected:
      return "fully-connected";
    case Primitive::ElementWise:
    case Primitive::Broadcast:
      return to_string(step.function);
    case Primitive::Fold:
      return std::string(step.maximum ? "maximum" : "average") +
             (step.first >= 0 ? "_" + std::to_string(step.first) : along(step.spatial));
    case Primitive::Softmax:
      return "softmax_" + std::to_string(step.first) +
             (step.last > step.first ? "_" + std::to_string(step.last) : "");
  }
  throw InternalError("unknown primitive");
}

}  // namespace

std::string formula(const Kernel& kernel) {
  // A node with one user is written where it is used.
  std::vector<std::string> texts = {"x"};
  std::string definitions;
  for (int i = 1; i < kernel.size(); ++i) {
    const Step& step = kernel.node(i).step;
    std::string text = call(step) + "(" + texts[static_cast<size_t>(step.operands[0])];
    if (step.operands[1] >= 0) text += ", " + texts[static_cast<size_t>(step.operands[1])];
    text += ")";
    if (step.primitive == Primitive::FullyConnected)
      text += "[" + to_string(to_size(kernel.node(i).shape.channels[0])) + "]";
    const bool last = i + 1 == kernel.size();
    if (kernel.node(i).users != 1 || last) {
      const std::string name = last ? "y" : "t" + std::to_string(i);
      definitions += (definitions.empty() ? "" : "; ") + name + " = " + text;
      text = name;
    }
    texts.push_back(text);
  }
  return definitions;
}

}  // namespace opsmith::synthesis::canvas
