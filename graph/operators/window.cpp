#include "graph/operators/window.h"

namespace opsmith::graph {
namespace {

/// Sizes beyond this are damage, and their sums could overflow.
constexpr int64_t kLargest = int64_t{1} << 31;

void check(const Inference& inference, const std::vector<int64_t>& values, const char* name,
           size_t length, int64_t least) {
  if (values.size() != length) {
    inference.fail(std::string(name) + " has " + std::to_string(values.size()) + " entries, but " +
                   std::to_string(length) + " are needed");
  }
  for (const int64_t value : values) {
    if (value < least || value > kLargest) {
      inference.fail(std::string(name) + " has the entry " + std::to_string(value));
    }
  }
}

}  // namespace

Window Window::read(const Inference& inference, std::vector<int64_t> kernel_extents) {
  const Node& node = inference.node();
  const size_t rank = kernel_extents.size();
  Window window;
  window.kernel = std::move(kernel_extents);
  const std::vector<int64_t> ones(rank, 1);
  window.strides = node.integers("strides", ones);
  window.dilations = node.integers("dilations", ones);
  std::vector<int64_t> pads = node.integers("pads", std::vector<int64_t>(2 * rank, 0));
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    window.padding = Padding::Same;
  } else if (automatic == "VALID") {
    pads.assign(2 * rank, 0);
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    inference.fail("auto_pad '" + automatic + "' does not exist");
  }
  check(inference, window.kernel, "kernel_shape", rank, 1);
  check(inference, window.strides, "strides", rank, 1);
  check(inference, window.dilations, "dilations", rank, 1);
  check(inference, pads, "pads", 2 * rank, -kLargest);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  return window;
}

Dimension Window::extent(const Inference& inference, const Dimension& input, size_t i,
                         bool ceil_mode) const {
  const int64_t stride = strides[i];
  Dimension result;
  if (padding == Padding::Same) {
    result = ceil_divide(input, stride);
  } else {
    // floor((input + slack) / stride) + 1, written as one division.
    const int64_t slack = pads_begin[i] + pads_end[i] - reach(i);
    const Dimension last = input + Dimension(slack + stride + (ceil_mode ? stride - 1 : 0));
    result = floor_divide(last, stride);
    if (ceil_mode && stride + pads_end[i] > reach(i)) {
      // The last window may begin beyond the input: whether, shows only with a number.
      if (!input.known()) return {};
      if ((*result.size - 1) * stride >= *input.size + pads_begin[i]) result = result - 1;
    }
  }
  if (result.known() && *result.size < 1 && !(input.known() && *input.size == 0)) {
    inference.fail("its window of extent " + std::to_string(reach(i)) +
                   " does not fit into the padded input, whose shape is " +
                   to_string(*inference.shape(0)));
  }
  return result;
}

}  // namespace opsmith::graph
