#include "runtime/compiler/codegen/halo_fill.h"

#include <algorithm>

namespace opsmith::compiler {

std::vector<KernelObject::ZeroFill> halo_fills(const schedule::Layout& layout, const Shape& shape,
                                               int64_t element_bytes, int64_t argument,
                                               int64_t base) {
  struct Span {
    int64_t begin = 0;
    int64_t count = 0;
  };
  const std::vector<int64_t> extents = layout.piece_extents(shape);
  const std::vector<int64_t> strides = layout.piece_strides(shape);
  const size_t pieces = extents.size();
  std::vector<Span> whole(pieces);
  for (size_t i = 0; i < pieces; ++i) whole[i] = {0, extents[i]};
  std::vector<KernelObject::ZeroFill> fills;

  const auto add = [&](const std::vector<Span>& spans) {
    if (std::any_of(spans.begin(), spans.end(), [](const Span& s) { return s.count <= 0; })) return;
    KernelObject::ZeroFill fill;
    fill.argument = argument;
    fill.offset = base;
    int64_t run = 1;
    size_t i = pieces;
    // Inner pieces that are covered whole are one run of bytes with the first that is not.
    while (i > 0 && spans[i - 1].count == extents[i - 1]) run *= extents[--i];
    if (i > 0) {
      --i;
      run *= spans[i].count;
      fill.offset += spans[i].begin * strides[i] * element_bytes;
    }
    for (size_t outer = 0; outer < i; ++outer) {
      fill.offset += spans[outer].begin * strides[outer] * element_bytes;
      fill.loops.push_back({spans[outer].count, strides[outer] * element_bytes});
    }
    fill.bytes = run * element_bytes;
    fills.push_back(fill);
  };

  // The halo of each piece, inside the halo of none before.
  std::vector<Span> spans = whole;
  for (size_t i = 0; i < pieces; ++i) {
    if (layout.order[i].block != 0) continue;
    const schedule::Layout::Halo halo = layout.halo_of(layout.order[i].dimension);
    spans[i] = {0, halo.before};
    add(spans);
    spans[i] = {extents[i] - halo.after, halo.after};
    add(spans);
    spans[i] = {halo.before, extents[i] - halo.before - halo.after};
  }
  return fills;
}

}  // namespace opsmith::compiler
