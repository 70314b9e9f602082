#pragma once

#include <cstdint>
#include <limits>

namespace opsmith::synthesis {

/// How far operators are enumerated. The defaults are those published with Syno; what is counted
/// is a primitive, a whole contraction (the Shares with one weight) being one.
struct Limits {
  static constexpr int unlimited = std::numeric_limits<int>::max();

  int depth = 10;   ///< primitives in an operator
  int tensors = 2;  ///< data and weights
  int reductions = 2;
  int splits = unlimited;
  int merges = unlimited;
  int shifts = unlimited;
  int strides = unlimited;
  int unfolds = unlimited;
  int expands = 0;                   ///< those outside contractions
  int reshape_chain = 5;             ///< Splits and Merges in a row on one dimension
  int finalizations = 5;             ///< ways to match one state to the input
  int powers = 5;                    ///< powers of one variable to try in a new extent: -2 ... 2
  int size_variables = 3;            ///< different variables in a new extent
  int size_degree = 2;               ///< sum of the powers of its coefficients, signs apart
  double reduction_multiplier = 32;  ///< reduced elements over the elements of the input
  double pooling = 8;                ///< elements summed over without a weight
  double least_weight = 100;         ///< parameters in a weight, in every layer
  double largest_window = 30;
  double largest_stride = 30;
  double unfold_ratio = 2;          ///< least extent over window
  double shift_block = 5;           ///< largest block of a Merge above a Shift
  double memory = 6.0 * (1 << 30);  ///< bytes of a tensor of 4-byte elements, for one image
  bool odd_windows = true;
  /// Multiply-accumulates and parameters of an operator over those of what it replaces.
  double least_macs = 0;
  double most_macs = std::numeric_limits<double>::infinity();
  double most_parameters = std::numeric_limits<double>::infinity();

  bool canonical = true;       ///< rules that lose no meaning
  bool approximate = true;     ///< rules that drop what is nearly the same or of low quality
  bool shape_distance = true;  ///< give up what cannot reach the input any more

  /// As Syno searched ResNet-18: deeper, more reductions, few views, 0.15 to 0.9 of the original's
  /// multiply-accumulates. Three tensors, which its two published operators have.
  static Limits resnet18();
};

}  // namespace opsmith::synthesis
