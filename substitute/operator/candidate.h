#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/expression/program.h"

namespace opsmith::substitute {

/// The layer in whose place an operator stands. A convolution maps [N, C, H, W] to
/// [N, O, H / stride, W / stride] ("same" up to the padding rule of its window); a product maps
/// [..., K] to [..., O] and has window 1 and H = W = 1.
struct LayerShape {
  enum class Kind { Convolution, Product };
  Kind kind = Kind::Convolution;
  int64_t input_channels = 0;   ///< C, or K of a product
  int64_t output_channels = 0;  ///< O
  int64_t height = 1;           ///< of the input; 0 when it is dynamic
  int64_t width = 1;
  int64_t kernel_height = 1;
  int64_t kernel_width = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padding_top = 0;
  int64_t padding_left = 0;
  int64_t padding_bottom = 0;
  int64_t padding_right = 0;
};

/// An operator of the algebra instantiated for one layer, in the forms that the rest of the house
/// needs.
struct Candidate {
  std::string name;     ///< "grouped-then-pointwise g=4": unique among a layer's candidates
  std::string formula;  ///< one line for people
  std::string text;     ///< the operator in the algebra's text form
  /// Input "x", weights "w1", "w2", ..., output "y". Channels, window, groups and strides are
  /// bound; N, H and W (of the input) stay symbols. Products: input [M, K], output [M, O].
  expression::Program program;

  int64_t macs(const LayerShape& layer, int64_t batch = 1) const;
  int64_t parameters() const;
};

/// Every catalogue operator that is legal for this layer (group counts, ranks and widths are
/// enumerated), cheapest last; empty when none fits.
std::vector<Candidate> catalogue(const LayerShape& layer);

/// The ONNX function of a candidate in domain "opsmith", made of standard operators of the
/// model's own opset (9 to 22), with inputs x, w1, w2, ... (and bias when `with_bias`), output y,
/// for any batch. The body holds for the layer's H and W where they are fixed and for any H and W
/// where the layer's are 0. The documentation string is the formula. Prefers Conv, MatMul, Slice,
/// Pad, Reshape.
graph::Function onnx_function(const Candidate& candidate, const LayerShape& layer, int64_t opset,
                              const std::string& function_name, bool with_bias);

}  // namespace opsmith::substitute
