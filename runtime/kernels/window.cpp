#include "runtime/kernels/window.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::kernels {
namespace {

std::vector<int64_t> per_dimension(const graph::Node& node, const std::string& attribute,
                                   size_t rank, int64_t fallback) {
  std::vector<int64_t> values = node.integers(attribute, std::vector<int64_t>(rank, fallback));
  if (values.size() != rank) {
    throw UserError(describe(node) + ": attribute " + attribute + " has " +
                    std::to_string(values.size()) + " numbers for " + std::to_string(rank) +
                    " spatial dimensions");
  }
  return values;
}

Window common(const graph::Node& node, const Shape& input, const Shape& kernel) {
  if (kernel.size() != input.size()) {
    throw UserError(describe(node) + ": a window of " + std::to_string(kernel.size()) +
                    " dimensions over an input with " + std::to_string(input.size()) +
                    " spatial dimensions");
  }
  Window window;
  window.kernel = kernel;
  window.strides = per_dimension(node, "strides", kernel.size(), 1);
  window.dilations = per_dimension(node, "dilations", kernel.size(), 1);
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i] < 1 || window.strides[i] < 1 || window.dilations[i] < 1) {
      throw UserError(describe(node) + ": kernel, strides and dilations must be positive");
    }
  }
  std::vector<int64_t> pads = per_dimension(node, "pads", 2 * kernel.size(), 0);
  auto middle = pads.begin() + static_cast<int64_t>(kernel.size());
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  return window;
}

}  // namespace

Window make_window(const graph::Node& node, const Shape& input, const Shape& kernel) {
  Window window = common(node, input, kernel);
  std::string auto_pad = node.text("auto_pad", "NOTSET");
  bool ceil_mode = node.integer("ceil_mode", 0) != 0;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t reach = window.dilations[i] * (kernel[i] - 1) + 1;
    int64_t stride = window.strides[i];
    int64_t extent = 0;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      extent = (input[i] + stride - 1) / stride;
      int64_t total = std::max<int64_t>(0, (extent - 1) * stride + reach - input[i]);
      int64_t half = auto_pad == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
      window.pads_begin[i] = half;
      window.pads_end[i] = total - half;
    } else {
      if (auto_pad == "VALID") window.pads_begin[i] = window.pads_end[i] = 0;
      int64_t room = input[i] + window.pads_begin[i] + window.pads_end[i] - reach;
      // Rounded up, a window that is larger than its input still has one place.
      if (room < 0 && !(ceil_mode && room > -stride)) {
        throw UserError(describe(node) + ": the window is larger than the padded input " +
                        to_string(input));
      }
      extent = room < 0 ? 0 : room / stride + 1;
      if (ceil_mode && (room < 0 || room % stride != 0)) {
        ++extent;
        // The last window must begin inside the input or its leading padding.
        if ((extent - 1) * stride >= input[i] + window.pads_begin[i]) --extent;
      }
    }
    window.output.push_back(extent);
  }
  return window;
}

Window make_transposed_window(const graph::Node& node, const Shape& input, const Shape& kernel) {
  Window window = common(node, input, kernel);
  std::vector<int64_t> output_padding = per_dimension(node, "output_padding", kernel.size(), 0);
  std::vector<int64_t> output_shape = node.integers("output_shape");
  std::string auto_pad = node.text("auto_pad", "NOTSET");
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t reach = window.dilations[i] * (kernel[i] - 1) + 1;
    int64_t full = window.strides[i] * (input[i] - 1) + output_padding[i] + reach;
    bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (!output_shape.empty() || same) {
      if (!output_shape.empty() && output_shape.size() < kernel.size()) {
        throw UserError(describe(node) + ": output_shape is shorter than the spatial dimensions");
      }
      int64_t wanted = output_shape.empty() ? input[i] * window.strides[i]
                                            : output_shape[output_shape.size() - kernel.size() + i];
      int64_t total = std::max<int64_t>(0, full - wanted);
      int64_t half = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads_begin[i] = half;
      window.pads_end[i] = total - half;
      window.output.push_back(wanted);
    } else {
      window.output.push_back(full - window.pads_begin[i] - window.pads_end[i]);
    }
    if (window.output.back() < 1) {
      throw UserError(describe(node) + ": the output would be empty");
    }
  }
  return window;
}

}  // namespace opsmith::kernels
