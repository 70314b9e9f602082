#pragma once

#include "runtime/schedule/variants/convolution_pattern.h"
#include "runtime/schedule/variants/variant.h"

namespace opsmith::schedule {

/// Names of the stages of a Winograd program whose output is `z`, in their order:
///   z.rows     [n, t, i, b, c]  tiles of the input, transformed along the height
///   z.input    [n, t, i, j, c]  and along the width
///   z.product  [n, t, i, j, o]  multiplied by the prepared weights, one product for each i, j
///   z.columns  [n, t, r, j, o]  transformed back along the height
///   z          [n, o, h, w]     and along the width, then the epilogue
/// where t numbers the tiles of m x m outputs row by row.
struct WinogradStages {
  explicit WinogradStages(const std::string& output)
      : rows(output + ".rows"),
        input(output + ".input"),
        product(output + ".product"),
        columns(output + ".columns"),
        output_(output) {}
  std::string rows, input, product, columns;
  const std::string& output() const { return output_; }

 private:
  std::string output_;
};

/// Whether F(m x m, 3 x 3) computes this convolution: stride 1, window 3 x 3 and channels enough
/// that products over tiles are worth their transforms.
bool winograd_fits(const ConvolutionPattern& convolution);

/// F(m x m, 3 x 3), m = 2 or 4.
Variant winograd_variant(const expression::Program& defining, const ConvolutionPattern& convolution,
                         int64_t m);

/// How a Winograd program is run.
struct WinogradTiling {
  int64_t rows = 1;            ///< rows of tiles whose transformed inputs are in memory at once
  int64_t columns = 14;        ///< tiles of a register tile
  int64_t vectors = 2;         ///< vectors of outputs of a register tile
  bool whole_input = false;    ///< all inputs are transformed first, in a phase of their own
  bool whole_product = false;  ///< all outputs of a block are multiplied before any is transformed
};

/// Sizes of a Winograd program.
struct WinogradShape {
  int64_t m = 4;
  int64_t size = 6;  ///< m + 2
  int64_t batch = 1, channels = 1, outputs = 1;
  int64_t across = 1, down = 1;  ///< tiles
};
WinogradShape winograd_shape(const Variant& variant);

/// What the rules choose.
WinogradTiling default_winograd_tiling(const WinogradShape& shape, const Target& target);
VariantSchedule winograd_schedule(const Variant& variant, const WinogradTiling& tiling,
                                  const Target& target);

}  // namespace opsmith::schedule
