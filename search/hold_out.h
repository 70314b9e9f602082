#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace opsmith::search {

/// Which samples are held out: one in eight, evenly spread, at most `most`; whole batches stay
/// together. None when there is a single batch only.
std::vector<bool> hold_out(int64_t samples, int64_t batch, int64_t most);

/// Sample numbers by what they serve for.
struct Split {
  std::vector<int64_t> train;     ///< all that are not held out
  std::vector<int64_t> fit;       ///< evenly spread ones of them, on which layers are fitted
  std::vector<int64_t> held_out;  ///< all of them, where none could be held out
};
Split split_samples(const std::vector<bool>& held_out, int64_t batch);

/// The batch size that a model fixes; 1 where it leaves it open.
int64_t fixed_batch(const graph::Model& model);

}  // namespace opsmith::search
