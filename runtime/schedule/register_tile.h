#pragma once

#include <cstdint>
#include <vector>

namespace opsmith::schedule {

/// A register tile: `vectors` vectors of outputs for each of rows x columns points. Every
/// reduction step loads `vectors` vectors and one scalar for each point.
struct RegisterTile {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t vectors = 1;
  double cost = 0;  ///< machine cycles of one reduction step over the whole domain, modelled
};

struct TileProblem {
  int64_t rows = 1;                    ///< extent of the outer tiled axis; 1: there is none
  int64_t columns = 1;                 ///< extent of the inner tiled axis
  int64_t vectors = 1;                 ///< vectors along the vectorized axis
  std::vector<int64_t> vector_counts;  ///< those that a tile may have; empty: any
  int64_t registers = 32;
  bool shares_vectors = true;  ///< all points use the same loaded vectors
  bool shares_scalars = true;  ///< all vectors use the same loaded scalars
};

/// The tile with the least modelled cost: multiply-adds against loads against latency, with the
/// shorter tiles at the ends of the axes.
RegisterTile choose_tile(const TileProblem& problem);

}  // namespace opsmith::schedule
