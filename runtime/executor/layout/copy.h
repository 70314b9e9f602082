#pragma once

#include <vector>

#include "runtime/schedule/layout.h"
#include "support/tensor.h"

namespace opsmith {
class ThreadTeam;
}

namespace opsmith::executor {

/// Zeroes the halo of a tensor and nothing else.
void zero_halo(void* data, const schedule::Layout& layout, const Shape& shape, ElementType type);

/// Copies a tensor between layouts with the threads of `team`; the destination's halo and
/// channel padding become zero. Fast between row-major and channel-blocked f32, with any halos.
void change_layout(const void* source, const schedule::Layout& from, void* destination,
                   const schedule::Layout& to, const Shape& shape, ElementType type,
                   ThreadTeam& team);

/// One part of a concatenation along the channels.
struct JoinPart {
  const void* data = nullptr;
  schedule::Layout layout;
  int64_t channels = 0;
};

/// Concatenates channel-blocked f32 tensors along dimension 1; every part but the last is a whole
/// number of blocks. `shape` is that of the result. The destination's halo becomes zero. Parts that
/// already lie in their place (and have cleared their halo) are left alone.
void join_channels(const std::vector<JoinPart>& parts, void* destination,
                   const schedule::Layout& to, const Shape& shape, ThreadTeam& team);

}  // namespace opsmith::executor
