#include "search/synthesis/canvas/choices.h"

#include <algorithm>

namespace opsmith::synthesis::canvas {

namespace {

using substitute::MapFunction;

Step step_on(Primitive primitive, int operand) {
  Step step;
  step.primitive = primitive;
  step.operands[0] = static_cast<int8_t>(operand);
  return step;
}

void add_groups(const TensorShape& shape, Step step, std::vector<Step>& steps) {
  if (shape.grouped || shape.rank == 0) return;
  step.each_channel = true;
  steps.push_back(step);
  step.each_channel = false;
  if (shape.rank < TensorShape::most_channels) steps.push_back(step);
}

/// The subsets of the spatial dimensions that a shape has.
template <typename Add>
void for_each_spatial(const TensorShape& shape, const Add& add) {
  for (const uint8_t spatial : {AlongHeight, AlongWidth, AlongBoth})
    if ((shape.spatial & spatial) == spatial) add(spatial);
}

void add_shifts(const TensorShape& shape, Step step, std::vector<Step>& steps) {
  for_each_spatial(shape, [&](uint8_t spatial) {
    step.spatial = spatial;
    for (const int8_t amount : {1, -1}) {
      step.amount = amount;
      steps.push_back(step);
    }
  });
}

void add_unfolds(const TensorShape& shape, Step step, std::vector<Step>& steps) {
  for_each_spatial(shape, [&](uint8_t spatial) {
    if (shape.rank + (spatial == AlongBoth ? 2 : 1) > TensorShape::most_channels) return;
    step.spatial = spatial;
    steps.push_back(step);
  });
}

void add_element_wise(Step step, std::vector<Step>& steps) {
  for (const MapFunction function :
       {MapFunction::Relu, MapFunction::Absolute, MapFunction::Exp, MapFunction::Sin,
        MapFunction::Tanh, MapFunction::Sigmoid, MapFunction::Negate}) {
    step.function = function;
    steps.push_back(step);
  }
}

void add_folds(const TensorShape& shape, Step step, std::vector<Step>& steps) {
  for (const bool maximum : {false, true}) {
    step.maximum = maximum;
    step.first = -1;
    for_each_spatial(shape, [&](uint8_t spatial) {
      step.spatial = spatial;
      steps.push_back(step);
    });
    step.spatial = NoSpatial;
    for (int i = 0; i < shape.rank; ++i) {
      step.first = static_cast<int8_t>(i);
      steps.push_back(step);
    }
  }
}

void add_softmaxes(const TensorShape& shape, Step step, std::vector<Step>& steps) {
  for (int first = 0; first < shape.dimensions(); ++first)
    for (int last = first; last < shape.dimensions(); ++last) {
      step.first = static_cast<int8_t>(first);
      step.last = static_cast<int8_t>(last);
      steps.push_back(step);
    }
}

void add_broadcasts(const Kernel& kernel, std::vector<Step>& steps) {
  for (int left = 0; left < kernel.size(); ++left)
    for (int right = 0; right < kernel.size(); ++right) {
      if (left == right) continue;
      Step step = step_on(Primitive::Broadcast, left);
      step.operands[1] = static_cast<int8_t>(right);
      for (const MapFunction function :
           {MapFunction::Add, MapFunction::Subtract, MapFunction::Multiply, MapFunction::Minimum,
            MapFunction::Maximum}) {
        step.function = function;
        steps.push_back(step);
      }
    }
}

int dynamic_powers(const TensorShape& shape) {
  int count = 0;
  for (int i = 0; i < shape.rank; ++i)
    for (size_t v = FirstDynamic; v < Extent::capacity; ++v)
      count += std::abs(shape.channels[static_cast<size_t>(i)].power(v));
  return count;
}

bool is_legal(Targets& targets, const TensorShape& shape) {
  if (dynamic_powers(shape) > 1) return false;
  for (int i = 0; i < shape.rank; ++i)
    if (!targets.may_be_whole(shape.channels[static_cast<size_t>(i)])) return false;
  return true;
}

/// Elements of a tensor, dynamic variables counting one, over those of the layer's input.
bool too_large(const Targets& targets, const KernelLimits& limits, const TensorShape& shape) {
  const Extent elements = shape.elements();
  for (size_t layer = 0; layer < targets.layers().size(); ++layer) {
    const auto size = targets.static_part(elements, layer);
    const auto input =
        targets.value(Channels, layer) * targets.value(Height, layer) * targets.value(Width, layer);
    if (static_cast<double>(size.above) >
        limits.most_elements * static_cast<double>(input * size.below))
      return true;
  }
  return false;
}

/// What replaces the free width of a shape so that its channels multiply to C.
bool closing(Targets& targets, const TensorShape& shape, int& variable, Extent& by) {
  Extent wanted;
  wanted.set_power(Channels, 1);
  wanted = wanted / shape.channel_product();
  variable = dynamic_variable(wanted);
  if (variable < 0) return wanted.is_one();
  if (wanted.power(static_cast<size_t>(variable)) != -1) return false;
  by = wanted;
  by.set_power(static_cast<size_t>(variable), 0);
  return dynamic_variable(by) < 0 && targets.may_be_whole(by);
}

/// Whether nothing but a free width stands between a shape and [C, H, W].
bool is_closed(Targets& targets, const TensorShape& shape) {
  int variable = -1;
  Extent by;
  return shape.spatial == AlongBoth && closing(targets, shape, variable, by);
}

bool has_weights(const Kernel& kernel) {
  return std::any_of(kernel.nodes().begin() + 1, kernel.nodes().end(), [](const Node& node) {
    return node.step.primitive == Primitive::FullyConnected;
  });
}

/// Steps that have to follow at least, when `step` is taken and makes `made`: leaves are joined in
/// pairs, directions that no leaf has looked along need another step, and so does making weights
/// or, where no leaf is nearly [C, H, W], such a leaf.
int least_steps(Targets& targets, const KernelLimits& limits, const Kernel& kernel,
                const Step& step, const TensorShape& made) {
  int leaves = 1;
  bool closed = is_closed(targets, made);
  uint8_t looks = 0;
  if (step.primitive == Primitive::Shift || step.primitive == Primitive::Unfold)
    looks |= step.spatial;
  for (int i = 0; i < kernel.size(); ++i) {
    const bool taken = step.operands[0] == i || step.operands[1] == i;
    if (taken || kernel.is_leaf(i)) looks |= kernel.node(i).looks;
    if (taken || !kernel.is_leaf(i)) continue;
    ++leaves;
    closed = closed || is_closed(targets, kernel.node(i).shape);
  }
  const bool weights =
      !limits.weights || step.primitive == Primitive::FullyConnected || has_weights(kernel);
  return leaves - 1 + (limits.neighbours && looks != AlongBoth ? 1 : 0) +
         (closed && weights ? 0 : 1);
}

bool consistent(Targets& targets, const Kernel& kernel) {
  for (const Node& node : kernel.nodes())
    if (!is_legal(targets, node.shape)) return false;
  return std::all_of(kernel.requirements().begin(), kernel.requirements().end(),
                     [&](const Extent& extent) { return targets.may_be_whole(extent); });
}

}  // namespace

std::vector<Step> choices(const Kernel& kernel, Primitive primitive) {
  std::vector<Step> steps;
  if (primitive == Primitive::Broadcast) {
    add_broadcasts(kernel, steps);
    return steps;
  }
  for (int i = 0; i < kernel.size(); ++i) {
    const TensorShape& shape = kernel.node(i).shape;
    const Step step = step_on(primitive, i);
    switch (primitive) {
      case Primitive::Group:
        add_groups(shape, step, steps);
        break;
      case Primitive::Shift:
        add_shifts(shape, step, steps);
        break;
      case Primitive::Unfold:
        add_unfolds(shape, step, steps);
        break;
      case Primitive::FullyConnected:
        if (kernel.has_fresh_variable()) steps.push_back(step);
        break;
      case Primitive::ElementWise:
        add_element_wise(step, steps);
        break;
      case Primitive::Fold:
        add_folds(shape, step, steps);
        break;
      case Primitive::Softmax:
        add_softmaxes(shape, step, steps);
        break;
      case Primitive::Broadcast:
        break;
    }
  }
  return steps;
}

bool is_legal(Targets& targets, const KernelLimits& limits, const Kernel& kernel, const Step& step,
              int remaining) {
  const TensorShape made = kernel.shape_after(step);
  if (least_steps(targets, limits, kernel, step, made) > remaining) return false;
  if (step.substituted < 0) {
    if (!is_legal(targets, made) || too_large(targets, limits, made)) return false;
    if (remaining > 0) return true;
  }
  Kernel grown = kernel;
  grown.append(step);
  if (step.substituted >= 0 &&
      (!consistent(targets, grown) || too_large(targets, limits, grown.nodes().back().shape)))
    return false;
  return remaining > 0 || close(targets, limits, grown);
}

bool close(Targets& targets, const KernelLimits& limits, Kernel& kernel) {
  const Node& last = kernel.nodes().back();
  if (last.shape.spatial != AlongBoth) return false;
  if (limits.neighbours && last.looks != AlongBoth) return false;
  if (limits.weights && !has_weights(kernel)) return false;
  int variable = -1;
  Extent by;
  if (!closing(targets, last.shape, variable, by)) return false;
  if (variable < 0) return true;
  kernel.substitute(variable, by);
  return consistent(targets, kernel);
}

}  // namespace opsmith::synthesis::canvas
