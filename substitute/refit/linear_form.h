#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/expression/program.h"
#include "substitute/operator/candidate.h"
#include "support/tensor.h"

namespace opsmith::substitute {

/// One element of the input, as seen from an output position whose top left input position (output
/// position times stride) is the origin.
struct InputOffset {
  int64_t channel = 0;
  int64_t row = 0;
  int64_t column = 0;
  auto operator<=>(const InputOffset&) const = default;
};

/// The rectangle of input positions, relative to the origin above, that an operator reads.
struct Window {
  int64_t row_begin = 0, row_end = 1;
  int64_t column_begin = 0, column_end = 1;

  int64_t rows() const { return row_end - row_begin; }
  int64_t columns() const { return column_end - column_begin; }
  /// Elements of a patch, ordered by channel, row, column.
  int64_t patch_size(int64_t channels) const { return channels * rows() * columns(); }
  int64_t patch_index(const InputOffset& offset) const {
    return (offset.channel * rows() + offset.row - row_begin) * columns() + offset.column -
           column_begin;
  }
  /// The smallest window around both.
  Window united(const Window& other) const;
  bool operator==(const Window&) const = default;
};

/// The window of the layer itself.
Window window_of(const LayerShape& layer);

/// A weight of the operator and where its elements begin among all weight elements.
struct WeightSpan {
  std::string name;
  Shape shape;
  int64_t begin = 0;
  int64_t count = 0;
};

/// values[rows] += W values[columns], where W[r][c] = coefficient[r][c] times the weight elements
/// factor[0][r][c], factor[1][r][c], ... An element of -1 stands for one.
struct LinearBlock {
  std::vector<int32_t> rows, columns;
  std::vector<std::vector<int32_t>> factors;  ///< each [rows x columns]
  std::vector<float> coefficients;            ///< [rows x columns]; empty: all one
  bool operator==(const LinearBlock&) const = default;
};

/// A program seen from one output position: the linear map from the input elements that reach it
/// to its output channels, as a chain of blocks of weight elements. The map is the same at every
/// position as long as no read leaves the input (outside, zeros are read, which gives the same
/// result unless an intermediate stage is padded in its own right or wraps around).
struct LinearForm {
  std::vector<WeightSpan> weights;
  int64_t weight_count = 0;
  std::vector<InputOffset> inputs;  ///< values 0 ... inputs.size() - 1, sorted
  int64_t values = 0;               ///< inputs, then intermediate elements, then outputs
  std::vector<int32_t> outputs;     ///< values that are the output channels, in order
  std::vector<LinearBlock> blocks;  ///< a value is complete before a later block reads it

  Window window() const;
  bool operator==(const LinearForm& other) const;
};

/// Traces a candidate's program for a layer. Throws Unsupported, naming the stage, where the
/// program is not linear in its input, uses a weight in two stages, or differs from one position
/// to the next.
LinearForm linear_form(const expression::Program& program, const LayerShape& layer);

}  // namespace opsmith::substitute
