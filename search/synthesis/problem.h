#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/synthesis/extent.h"
#include "substitute/operator/layer.h"

namespace opsmith::synthesis {

/// A dimension of the input or of the output.
struct Axis {
  std::string name;  ///< of the output's iterator; unused for the input
  substitute::Size size;
  bool ordered = false;  ///< neighbours mean something: rows and columns of an image
};

/// What an operator is sought for: shapes over size variables, and the layers that it has to fit.
struct Problem {
  std::vector<Variable> variables;
  /// Dimensions that the operator leaves alone (the batch), in front of the others.
  std::vector<Axis> carried;
  std::vector<Axis> output;
  std::vector<Axis> input;
  /// Multiply-accumulates and parameters of what is replaced, over all layers, for one image.
  double original_macs = 0;
  double original_parameters = 0;
};

/// [C_in, H, W] -> [C_out, H, W] for convolutions that keep height and width (window k), with the
/// coefficients k, s and g at the given values. [K] -> [C_out] for products.
/// Throws UserError for a layer whose stride, dilation or padding does not keep height and width.
Problem problem_for(const std::vector<substitute::LayerShape>& layers,
                    const std::vector<std::pair<std::string, int64_t>>& coefficients);

/// The convolutions that keep height and width in ResNet-18 for images of 224 x 224 pixels, one
/// of each shape.
std::vector<substitute::LayerShape> resnet18_layers();

}  // namespace opsmith::synthesis
