#include "search/synthesis/canvas/targets.h"

#include <algorithm>
#include <numeric>

#include "support/error.h"

namespace opsmith::synthesis::canvas {

using substitute::LayerShape;
using substitute::Size;

namespace {

Target target_of(const LayerShape& layer) {
  if (const std::string why = why_not_same_window(layer); !why.empty())
    throw UserError("no kernel can be sought for " + to_string(layer) + ": " + why);
  const auto [least, most] = std::minmax(layer.input_channels, layer.output_channels);
  if (most % least != 0)
    throw UserError("no kernel can be sought for " + to_string(layer) +
                    ": neither of its channel counts is a multiple of the other");
  return {layer, least, most / least};
}

SizeTable table(const std::vector<LayerShape>& layers, int64_t groups) {
  std::vector<Variable> variables(Extent::capacity);
  for (size_t i = 0; i < variables.size(); ++i) variables[i].name = variable_name(i);
  variables[Height].open = variables[Width].open = true;
  for (const LayerShape& layer : layers) {
    const auto typical = substitute::typical_binding(layer);
    const std::vector<int64_t> values = {target_of(layer).channels, typical.at("H"),
                                         typical.at("W"),           layer.kernel_height,
                                         layer.kernel_width,        groups};
    for (size_t i = 0; i < variables.size(); ++i)
      variables[i].values.push_back(i < FirstDynamic ? values[i] : 1);
  }
  return SizeTable(std::move(variables));
}

}  // namespace

std::string variable_name(size_t variable) {
  static const std::vector<std::string> names = {"C", "H", "W", "kh", "kw", "g"};
  return variable < names.size() ? names[variable]
                                 : "x_" + std::to_string(variable - FirstDynamic + 1);
}

Size to_size(const Extent& extent) {
  Size size;
  for (size_t i = 0; i < Extent::capacity; ++i)
    if (extent.power(i) != 0) size = size * Size::variable(variable_name(i), extent.power(i));
  return size;
}

int dynamic_variable(const Extent& extent) {
  for (size_t i = FirstDynamic; i < Extent::capacity; ++i)
    if (extent.power(i) != 0) return static_cast<int>(i);
  return -1;
}

std::vector<int64_t> Targets::group_choices(const std::vector<LayerShape>& layers) {
  int64_t common = 0;
  for (const LayerShape& layer : layers) common = std::gcd(common, target_of(layer).channels);
  std::vector<int64_t> choices;
  for (int64_t g = 2; g <= common; ++g)
    if (common % g == 0) choices.push_back(g);
  return choices;
}

Targets::Targets(const std::vector<LayerShape>& layers, int64_t groups)
    : groups_(groups), sizes_(table(layers, groups)) {
  if (layers.empty()) throw UserError("a search needs at least one layer");
  for (const LayerShape& layer : layers) {
    targets_.push_back(target_of(layer));
    if (targets_.back().channels % groups != 0)
      throw UserError(std::to_string(groups) + " groups do not divide the channels of " +
                      to_string(layer));
    original_macs_ += static_cast<double>(layer_macs(layer));
    original_parameters_ += static_cast<double>(layer.input_channels * layer.output_channels *
                                                layer.kernel_height * layer.kernel_width);
  }
}

Targets::Fraction Targets::static_part(const Extent& extent, size_t layer) const {
  Fraction fraction;
  for (size_t i = 0; i < FirstDynamic; ++i)
    for (int p = 0; p < std::abs(extent.power(i)); ++p)
      (extent.power(i) > 0 ? fraction.above : fraction.below) *=
          sizes_.variables()[i].values[layer];
  const int64_t common = std::gcd(fraction.above, fraction.below);
  return {fraction.above / common, fraction.below / common};
}

bool Targets::may_be_whole(const Extent& extent) {
  for (const SizeVariable primary : {Channels, Height, Width})
    if (extent.power(primary) < 0) return false;
  const int dynamic = dynamic_variable(extent);
  if (dynamic < 0) return sizes_.find(extent)->whole;
  return extent.power(static_cast<size_t>(dynamic)) == 1;
}

}  // namespace opsmith::synthesis::canvas
