#include "search/synthesis/canvas/designs.h"

#include <functional>

namespace opsmith::synthesis::canvas {

namespace {

using substitute::MapFunction;

bool is(const Kernel& kernel, int node, Primitive primitive) {
  return node > 0 && kernel.node(node).step.primitive == primitive;
}

int operand(const Kernel& kernel, int node, size_t which = 0) {
  return kernel.node(node).step.operands[which];
}

/// Whether `fits` holds for some node of the kernel.
bool any_node(const Kernel& kernel, const std::function<bool(int)>& fits) {
  for (int i = 1; i < kernel.size(); ++i)
    if (fits(i)) return true;
  return false;
}

/// Whether `fits` holds for a node from `node` down through single-operand primitives of the kinds
/// in `through`, `node` included.
bool chain(const Kernel& kernel, int node, const std::vector<Primitive>& through,
           const std::function<bool(int)>& fits) {
  while (node > 0) {
    if (fits(node)) return true;
    bool passes = false;
    for (const Primitive primitive : through) passes = passes || is(kernel, node, primitive);
    if (!passes) return false;
    node = operand(kernel, node);
  }
  return fits(node);
}

bool depends_on_weights(const Kernel& kernel, int node) {
  if (node == 0) return false;
  if (is(kernel, node, Primitive::FullyConnected)) return true;
  for (int o = 0; o < kernel.node(node).step.operand_count(); ++o)
    if (depends_on_weights(kernel, operand(kernel, node, static_cast<size_t>(o)))) return true;
  return false;
}

bool sums_each_channel(const Kernel& kernel, int node) {
  return is(kernel, node, Primitive::FullyConnected) &&
         kernel.group_count(kernel.node(node).step).power(Channels) > 0;
}

bool sums_all_channels(const Kernel& kernel, int node) {
  return is(kernel, node, Primitive::FullyConnected) &&
         kernel.group_count(kernel.node(node).step).is_one();
}

/// The directions in which a product sees neighbours: those of the windows right below it.
int window_of(const Kernel& kernel, int node) {
  int seen = NoSpatial;
  chain(kernel, operand(kernel, node), {Primitive::Unfold, Primitive::Group}, [&](int below) {
    if (is(kernel, below, Primitive::Unfold)) seen |= kernel.node(below).step.spatial;
    return false;
  });
  return seen;
}

bool depthwise_separable(const Kernel& kernel) {
  return any_node(kernel, [&](int mix) {
    return sums_all_channels(kernel, mix) &&
           chain(kernel, operand(kernel, mix), {Primitive::ElementWise}, [&](int depthwise) {
             return sums_each_channel(kernel, depthwise) &&
                    window_of(kernel, depthwise) == AlongBoth;
           });
  });
}

bool spatially_separable(const Kernel& kernel) {
  return any_node(kernel, [&](int second) {
    if (!is(kernel, second, Primitive::FullyConnected)) return false;
    const int window = window_of(kernel, second);
    if (window != AlongHeight && window != AlongWidth) return false;
    const std::vector<Primitive> between = {Primitive::Unfold, Primitive::Group,
                                            Primitive::ElementWise};
    return chain(kernel, operand(kernel, second), between, [&](int first) {
      return is(kernel, first, Primitive::FullyConnected) &&
             window_of(kernel, first) == (AlongBoth ^ window);
    });
  });
}

bool residual(const Kernel& kernel) {
  const int last = kernel.size() - 1;
  return chain(kernel, last, {Primitive::ElementWise}, [&](int sum) {
    if (!is(kernel, sum, Primitive::Broadcast) ||
        kernel.node(sum).step.function != MapFunction::Add)
      return false;
    const int left = operand(kernel, sum), right = operand(kernel, sum, 1);
    return (left == 0 && depends_on_weights(kernel, right)) ||
           (right == 0 && depends_on_weights(kernel, left));
  });
}

/// A product of a tensor with a gate that weights make of its folded form.
bool squeeze_and_excitation(const Kernel& kernel) {
  return any_node(kernel, [&](int gate) {
    if (!is(kernel, gate, Primitive::Broadcast) ||
        kernel.node(gate).step.function != MapFunction::Multiply)
      return false;
    bool weights = false;
    return chain(
        kernel, operand(kernel, gate),
        {Primitive::ElementWise, Primitive::FullyConnected, Primitive::Softmax, Primitive::Fold},
        [&](int node) {
          weights = weights || is(kernel, node, Primitive::FullyConnected);
          return weights && is(kernel, node, Primitive::Fold) &&
                 kernel.node(node).shape.spatial == NoSpatial;
        });
  });
}

/// Windows times weights that are made of the input for each pixel, then summed over the window.
bool involution(const Kernel& kernel) {
  return any_node(kernel, [&](int product) {
    if (!is(kernel, product, Primitive::Broadcast) ||
        kernel.node(product).step.function != MapFunction::Multiply)
      return false;
    const int made = operand(kernel, product), windows = operand(kernel, product, 1);
    const bool from_windows = chain(kernel, windows, {Primitive::Group},
                                    [&](int node) { return is(kernel, node, Primitive::Unfold); });
    const bool from_weights =
        kernel.node(made).shape.spatial == AlongBoth &&
        chain(kernel, made, {Primitive::Group, Primitive::ElementWise, Primitive::Softmax},
              [&](int node) { return is(kernel, node, Primitive::FullyConnected); });
    return from_windows && from_weights && any_node(kernel, [&](int fold) {
             return (is(kernel, fold, Primitive::Fold) ||
                     is(kernel, fold, Primitive::FullyConnected)) &&
                    chain(kernel, operand(kernel, fold), {Primitive::Fold},
                          [&](int node) { return node == product; });
           });
  });
}

/// Neighbours met by moving the image rather than by windows, and mixed over the channels.
bool shift_convolution(const Kernel& kernel) {
  return any_node(kernel, [&](int mix) {
    return sums_all_channels(kernel, mix) && window_of(kernel, mix) == NoSpatial &&
           chain(kernel, operand(kernel, mix), {Primitive::ElementWise},
                 [&](int node) { return is(kernel, node, Primitive::Shift); });
  });
}

}  // namespace

const std::vector<KnownDesign>& known_designs() {
  static const std::vector<KnownDesign> designs = {
      {"depthwise separable", "a window for each channel, then a product over all channels",
       depthwise_separable},
      {"spatially separable", "a window along one dimension, then along the other",
       spatially_separable},
      {"residual", "the input is added at the end", residual},
      {"squeeze-and-excitation", "a gate from the average or maximum over the image",
       squeeze_and_excitation},
      {"involution", "windows times weights made for each pixel", involution},
      {"shift", "the image is moved and its channels mixed", shift_convolution},
  };
  return designs;
}

}  // namespace opsmith::synthesis::canvas
