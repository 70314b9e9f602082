#include "substitute/operator/layer.h"

#include "support/error.h"

namespace opsmith::substitute {

using expression::Index;

namespace {

constexpr int64_t kTypicalExtent = 64;  // where a height or width is dynamic

/// (input + padding - dilation*(kernel-1) - 1) / stride + 1 with `input` a symbol.
Index output_index(const std::string& input, int64_t kernel, int64_t stride, int64_t dilation,
                   int64_t padding) {
  const int64_t constant = padding - dilation * (kernel - 1) - 1;
  const Index symbol = Index::symbol(input);
  const auto plus = [](const Index& index, int64_t value) {
    if (value == 0) return index;
    return value > 0 ? index + Index(value) : index - Index(-value);
  };
  if (stride == 1) return plus(symbol, constant + 1);
  return floor_div(plus(symbol, constant), Index(stride)) + Index(1);
}

}  // namespace

SizeValues layer_values(const LayerShape& layer) {
  if (layer.kind == LayerShape::Kind::Product)
    return {{"M", Index::symbol("M")},
            {"K", Index(layer.input_channels)},
            {"C_out", Index(layer.output_channels)}};
  return {{"N", Index::symbol("N")},
          {"H", Index::symbol("H")},
          {"W", Index::symbol("W")},
          {"C_in", Index(layer.input_channels)},
          {"C_out", Index(layer.output_channels)},
          {"kh", Index(layer.kernel_height)},
          {"kw", Index(layer.kernel_width)},
          {"stride", Index(layer.stride)},
          {"dilation", Index(layer.dilation)},
          {"pad_top", Index(layer.padding_top)},
          {"pad_left", Index(layer.padding_left)},
          {"H_out", output_index("H", layer.kernel_height, layer.stride, layer.dilation,
                                 layer.padding_top + layer.padding_bottom)},
          {"W_out", output_index("W", layer.kernel_width, layer.stride, layer.dilation,
                                 layer.padding_left + layer.padding_right)}};
}

expression::Binding fixed_extents(const LayerShape& layer) {
  expression::Binding fixed;
  if (layer.kind != LayerShape::Kind::Convolution) return fixed;
  if (layer.height > 0) fixed["H"] = layer.height;
  if (layer.width > 0) fixed["W"] = layer.width;
  return fixed;
}

expression::Binding typical_binding(const LayerShape& layer, int64_t batch) {
  if (layer.kind == LayerShape::Kind::Product) return {{"M", batch}};
  return {{"N", batch},
          {"H", layer.height > 0 ? layer.height : kTypicalExtent},
          {"W", layer.width > 0 ? layer.width : kTypicalExtent}};
}

int64_t output_extent(int64_t input, int64_t kernel, int64_t stride, int64_t dilation,
                      int64_t padding) {
  return (input + padding - dilation * (kernel - 1) - 1) / stride + 1;
}

int64_t layer_macs(const LayerShape& layer, int64_t batch) {
  const int64_t weights =
      layer.input_channels * layer.output_channels * layer.kernel_height * layer.kernel_width;
  if (layer.kind == LayerShape::Kind::Product) return batch * weights;
  const expression::Binding sizes = typical_binding(layer, batch);
  return batch * weights *
         output_extent(sizes.at("H"), layer.kernel_height, layer.stride, layer.dilation,
                       layer.padding_top + layer.padding_bottom) *
         output_extent(sizes.at("W"), layer.kernel_width, layer.stride, layer.dilation,
                       layer.padding_left + layer.padding_right);
}

std::string why_not_same_window(const LayerShape& layer) {
  if (layer.kind != LayerShape::Kind::Convolution) return "it is no convolution";
  if (layer.stride != 1) return "it has stride " + std::to_string(layer.stride);
  if (layer.dilation != 1) return "it has dilation " + std::to_string(layer.dilation);
  if (layer.kernel_height % 2 == 0 || layer.kernel_width % 2 == 0) return "its window is even";
  const int64_t vertical = layer.kernel_height / 2, horizontal = layer.kernel_width / 2;
  if (layer.padding_top != vertical || layer.padding_bottom != vertical ||
      layer.padding_left != horizontal || layer.padding_right != horizontal)
    return "its padding does not keep height and width";
  return "";
}

std::string to_string(const LayerShape& layer) {
  const std::string channels =
      std::to_string(layer.input_channels) + "->" + std::to_string(layer.output_channels);
  if (layer.kind == LayerShape::Kind::Product) return "product " + channels;
  const auto extent = [](int64_t value) {
    return value > 0 ? std::to_string(value) : std::string("?");
  };
  return "conv " + std::to_string(layer.kernel_height) + "x" + std::to_string(layer.kernel_width) +
         " " + channels + (layer.stride != 1 ? " stride " + std::to_string(layer.stride) : "") +
         (layer.dilation != 1 ? " dilation " + std::to_string(layer.dilation) : "") + " at " +
         extent(layer.height) + "x" + extent(layer.width);
}

}  // namespace opsmith::substitute
