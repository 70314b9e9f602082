#include "search/synthesis/problem.h"

#include <map>

#include "support/error.h"

namespace opsmith::synthesis {

using substitute::LayerShape;
using substitute::Size;

std::vector<LayerShape> resnet18_layers() {
  std::vector<LayerShape> layers;
  for (const auto& [channels, extent] :
       std::map<int64_t, int64_t>{{64, 56}, {128, 28}, {256, 14}, {512, 7}}) {
    LayerShape layer;
    layer.input_channels = layer.output_channels = channels;
    layer.height = layer.width = extent;
    layer.kernel_height = layer.kernel_width = 3;
    layer.padding_top = layer.padding_left = layer.padding_bottom = layer.padding_right = 1;
    layers.push_back(layer);
  }
  return layers;
}

Problem problem_for(const std::vector<LayerShape>& layers,
                    const std::vector<std::pair<std::string, int64_t>>& coefficients) {
  if (layers.empty()) throw UserError("a search needs at least one layer");
  const bool spatial = layers[0].kind == LayerShape::Kind::Convolution;
  std::map<std::string, std::vector<int64_t>> values;
  Problem problem;
  for (const LayerShape& layer : layers) {
    if ((layer.kind == LayerShape::Kind::Convolution) != spatial)
      throw UserError("one search cannot be for convolutions and for products");
    if (const std::string why = why_not_same_window(layer); spatial && !why.empty())
      throw UserError("no operator can be sought for " + to_string(layer) + ": " + why);
    if (spatial) {
      const auto typical = substitute::typical_binding(layer);
      values["C_in"].push_back(layer.input_channels);
      values["H"].push_back(typical.at("H"));
      values["W"].push_back(typical.at("W"));
    } else {
      values["K"].push_back(layer.input_channels);
    }
    values["C_out"].push_back(layer.output_channels);
    problem.original_macs += static_cast<double>(layer_macs(layer));
    problem.original_parameters += static_cast<double>(
        layer.input_channels * layer.output_channels * layer.kernel_height * layer.kernel_width);
  }
  for (const char* name : {"C_in", "K", "C_out", "H", "W"})
    if (values.count(name) != 0)
      problem.variables.push_back({name, values[name], *name == 'H' || *name == 'W'});
  for (const auto& [name, value] : coefficients) {
    if (substitute::variable_kind(name) != substitute::VariableKind::Coefficient)
      throw UserError("the name " + name +
                      " is not that of a coefficient: start it with a small "
                      "letter");
    problem.variables.push_back({name, std::vector<int64_t>(layers.size(), value), false});
  }
  const auto axis = [](const char* name, const char* size, bool ordered) {
    return Axis{name, Size::variable(size), ordered};
  };
  if (spatial) {
    problem.carried = {axis("n", "N", false)};
    problem.output = {axis("o", "C_out", false), axis("h", "H", true), axis("w", "W", true)};
    problem.input = {axis("c", "C_in", false), axis("h", "H", true), axis("w", "W", true)};
  } else {
    problem.carried = {axis("m", "M", false)};
    problem.output = {axis("o", "C_out", false)};
    problem.input = {axis("i", "K", false)};
  }
  return problem;
}

}  // namespace opsmith::synthesis
