#include <algorithm>

#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

void infer_concat(Inference& inference) {
  for (size_t i = 0; i < inference.input_count(); ++i) {
    if (inference.type(i) != ElementType::Undefined) inference.set_type(0, inference.type(i));
  }
  const SymbolicShape* first = inference.shape(0);
  if (!first) return;
  const size_t axis = inference.axis(inference.node().integer("axis", 1), first->size());
  SymbolicShape y = *first;
  bool whole = true;
  for (size_t i = 1; i < inference.input_count(); ++i) {
    const SymbolicShape* next = inference.shape(i);
    if (!next) {
      whole = false;
      continue;
    }
    bool fits = next->size() == y.size();
    for (size_t k = 0; fits && k < y.size(); ++k) {
      if (k == axis) {
        y[k] = y[k] + (*next)[k];
      } else {
        const auto same = unify(y[k], (*next)[k]);
        fits = same.has_value();
        if (fits) y[k] = *same;
      }
    }
    if (!fits) {
      inference.fail("tensors of shapes " + to_string(*first) + " and " + to_string(*next) +
                     " cannot be concatenated along axis " + std::to_string(axis));
    }
  }
  if (!whole) y[axis] = Dimension();
  if (y.size() == 1 && y[0].known() && *y[0].size <= kMostElements) {
    Elements joined;
    for (size_t i = 0; i < inference.input_count(); ++i) {
      if (const Elements* part = inference.elements(i)) {
        joined.insert(joined.end(), part->begin(), part->end());
      } else {
        joined.resize(joined.size() + static_cast<size_t>(*(*inference.shape(i))[0].size));
      }
    }
    inference.set_elements(0, std::move(joined));
  }
  inference.set_shape(0, std::move(y));
}

/// Extents of the parts when nothing but their number is said.
std::vector<Dimension> equal_parts(const Dimension& whole, size_t count) {
  std::vector<Dimension> parts(count);
  if (!whole.known()) {
    for (Dimension& part : parts) part = floor_divide(whole, static_cast<int64_t>(count));
    return parts;
  }
  const int64_t share = *ceil_divide(whole, static_cast<int64_t>(count)).size;
  int64_t rest = *whole.size;
  for (Dimension& part : parts) {
    part = std::min(share, rest);
    rest -= *part.size;
  }
  return parts;
}

void infer_split(Inference& inference) {
  const size_t count = inference.node().outputs.size();
  for (size_t i = 0; i < count; ++i) inference.set_type(i, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x || count == 0) return;
  const size_t axis = inference.axis(inference.node().integer("axis", 0), x->size());
  const bool as_input = inference.opset() >= 13;
  std::vector<Dimension> parts(count);
  if (as_input ? inference.has_input(1) : inference.node().has("split")) {
    const Inference::Setting split = inference.attribute_or_input("split", 13, 1);
    if (split.values) {
      parts.assign(split.values->begin(), split.values->end());
      const Dimension sum = [&] {
        Dimension total(0);
        for (const Dimension& part : parts) total = total + part;
        return total;
      }();
      if (parts.size() != count || !unify(sum, (*x)[axis])) {
        inference.fail("split " + to_string(parts) + " does not fit axis " + std::to_string(axis) +
                       " of " + to_string(*x));
      }
    }
  } else {
    parts = equal_parts((*x)[axis], count);
  }
  for (size_t i = 0; i < count; ++i) {
    SymbolicShape y = *x;
    y[axis] = parts[i];
    inference.set_shape(i, std::move(y));
  }
  const Elements* elements = inference.elements(0);
  if (!elements || x->size() != 1) return;
  size_t begin = 0;
  for (size_t i = 0; i < count && parts[i].known(); ++i) {
    const auto size = static_cast<size_t>(*parts[i].size);
    if (begin + size > elements->size()) return;
    const auto from = elements->begin() + static_cast<std::ptrdiff_t>(begin);
    inference.set_elements(i, Elements(from, from + static_cast<std::ptrdiff_t>(size)));
    begin += size;
  }
}

/// One axis of a Slice, as numpy understands it.
struct Cut {
  Dimension begin, end, step;
};

/// From here on an end means "to the end".
constexpr int64_t kFar = int64_t{1} << 30;

/// First index and number of indices of a cut through an axis of known extent.
std::pair<int64_t, int64_t> resolve(int64_t extent, int64_t begin, int64_t end, int64_t step) {
  if (begin < 0) begin = begin < -extent ? -1 - extent * (step > 0) : begin + extent;
  if (end < 0) end = end < -extent ? -1 : end + extent;
  if (step > 0) {
    begin = std::clamp<int64_t>(begin, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {begin, end > begin ? (end - begin - 1) / step + 1 : 0};
  }
  begin = std::clamp<int64_t>(begin, -1, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  if (step == INT64_MIN) return {begin, begin > end ? 1 : 0};
  return {begin, begin > end ? (begin - end - 1) / -step + 1 : 0};
}

Dimension cut_extent(const Dimension& whole, const Cut& cut) {
  if (!cut.step.known()) return {};
  const int64_t step = *cut.step.size;
  if (whole.known() && cut.begin.known() && cut.end.known()) {
    return resolve(*whole.size, *cut.begin.size, *cut.end.size, step).second;
  }
  const bool to_end =
      (cut.end.known() && *cut.end.size >= kFar) || (!cut.end.symbol.empty() && cut.end == whole);
  if (step == 1 && cut.begin.known() && *cut.begin.size >= 0 && !whole.known()) {
    if (to_end) return whole - cut.begin;
    if (cut.end.known() && *cut.end.size < 0) return whole + cut.end - cut.begin;
  }
  // Symbols stand for sizes: an end that is one does not count from behind.
  const bool forward = !cut.end.known() || *cut.end.size >= 0;
  if (step == 1 && cut.begin == Dimension(0) && forward) return minimum(whole, cut.end);
  const bool reversed =
      step == -1 && cut.begin == Dimension(-1) && cut.end.known() && *cut.end.size <= -kFar;
  return reversed ? whole : Dimension();
}

void infer_slice(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  const auto read = [&](const std::string& name, size_t i) -> std::optional<Elements> {
    if (inference.opset() < 10) {
      if (!inference.node().has(name)) return std::nullopt;
      const std::vector<int64_t> values = inference.node().integers(name);
      return Elements(values.begin(), values.end());
    }
    const Elements* elements = inference.elements(i);
    return elements ? std::optional(*elements) : std::nullopt;
  };
  const bool has_axes =
      inference.opset() < 10 ? inference.node().has("axes") : inference.has_input(3);
  const std::optional<Elements> starts = read("starts", 1);
  const std::optional<Elements> ends = read("ends", 2);
  std::optional<Elements> axes = read("axes", 3);
  std::optional<Elements> steps = read("steps", 4);
  const bool has_steps = inference.opset() >= 10 && inference.has_input(4);
  if (has_axes && !axes) return inference.set_shape(0, SymbolicShape(x->size()));
  if (!has_axes) {
    const size_t count = starts ? starts->size() : ends ? ends->size() : x->size();
    axes.emplace();
    for (size_t i = 0; i < count; ++i) axes->emplace_back(static_cast<int64_t>(i));
  }
  if (!has_steps) steps = Elements(axes->size(), Dimension(1));
  SymbolicShape y = *x;
  for (size_t i = 0; i < axes->size(); ++i) {
    if (!(*axes)[i].known()) return inference.set_shape(0, SymbolicShape(x->size()));
    const size_t axis = inference.axis(*(*axes)[i].size, x->size());
    const auto at = [i](const std::optional<Elements>& e) {
      return e && i < e->size() ? (*e)[i] : Dimension();
    };
    const Cut cut = {at(starts), at(ends), at(steps)};
    if (cut.step == Dimension(0)) inference.fail("one of its steps is 0");
    const Dimension whole = y[axis];
    y[axis] = cut_extent(whole, cut);
    const Elements* elements = inference.elements(0);
    if (elements && x->size() == 1 && whole.known() && y[0].known() && cut.begin.known() &&
        cut.end.known()) {
      auto [from, count] = resolve(*whole.size, *cut.begin.size, *cut.end.size, *cut.step.size);
      Elements chosen;
      for (; count > 0; --count, from += *cut.step.size) {
        chosen.push_back(elements->at(static_cast<size_t>(from)));
      }
      inference.set_elements(0, std::move(chosen));
    }
  }
  inference.set_shape(0, std::move(y));
}

void infer_expand(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  const Elements* target = inference.elements(1);
  if (!x || !target) return;
  const auto y = broadcast(*x, *target);
  if (!y) {
    inference.fail("a tensor of shape " + to_string(*x) + " cannot be expanded to " +
                   to_string(*target));
  }
  inference.set_shape(0, *y);
  const Elements* elements = inference.elements(0);
  if (elements && elements->size() == 1 && y->size() == 1 && (*y)[0].known() &&
      *(*y)[0].size <= kMostElements) {
    inference.set_elements(0, Elements(static_cast<size_t>(*(*y)[0].size), (*elements)[0]));
  }
}

void infer_tile(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x || inference.opset() < 6) return;
  const Elements* repeats = inference.elements(1);
  SymbolicShape y(x->size());
  if (repeats) {
    if (repeats->size() != x->size()) {
      inference.fail("its repeats " + to_string(*repeats) + " do not fit " + to_string(*x));
    }
    for (size_t i = 0; i < y.size(); ++i) y[i] = (*x)[i] * (*repeats)[i];
  }
  inference.set_shape(0, std::move(y));
}

void infer_pad(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  Elements pads;
  if (inference.opset() < 11) {
    const char* name = inference.opset() < 2 ? "paddings" : "pads";
    const std::vector<int64_t> given = inference.node().integers(name);
    pads.assign(given.begin(), given.end());
  } else if (const Elements* given = inference.elements(1)) {
    pads = *given;
  } else {
    return inference.set_shape(0, SymbolicShape(x->size()));
  }
  std::vector<int64_t> axes;
  if (inference.opset() >= 18 && inference.has_input(3)) {
    const auto given = inference.numbers(3);
    if (!given) return inference.set_shape(0, SymbolicShape(x->size()));
    axes = *given;
  } else {
    for (size_t i = 0; i < x->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) {
    inference.fail("pads has " + std::to_string(pads.size()) + " entries for " +
                   std::to_string(axes.size()) + " axes");
  }
  SymbolicShape y = *x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = inference.axis(axes[i], x->size());
    y[axis] = y[axis] + (pads[i] + pads[i + axes.size()]);
    if (y[axis].known() && *y[axis].size < 0) inference.fail("its pads leave a negative extent");
  }
  inference.set_shape(0, std::move(y));
}

int64_t block_size(const Inference& inference) {
  const int64_t block = inference.node().integer("blocksize", 0);
  if (block < 1 || block > (1 << 20)) inference.fail("blocksize is " + std::to_string(block));
  return block;
}

void infer_depth_to_space(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.expect_rank(0, 4, 4);
  const int64_t block = block_size(inference);
  if (const SymbolicShape* x = inference.shape(0)) {
    inference.set_shape(
        0, {(*x)[0], floor_divide((*x)[1], block * block), (*x)[2] * block, (*x)[3] * block});
  }
}

void infer_space_to_depth(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.expect_rank(0, 4, 4);
  const int64_t block = block_size(inference);
  if (const SymbolicShape* x = inference.shape(0)) {
    inference.set_shape(0, {(*x)[0], (*x)[1] * (block * block), floor_divide((*x)[2], block),
                            floor_divide((*x)[3], block)});
  }
}

void infer_same(Inference& inference) {
  inference.set(0, inference.type(0), inference.info(0).shape);
}

/// Axes cropped or padded to the extents of the second input.
void infer_center_crop_pad(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  const Elements* target = inference.elements(1);
  SymbolicShape y(x->size());
  if (target) {
    y = *x;
    std::vector<int64_t> axes = inference.node().integers("axes");
    if (!inference.node().has("axes")) {
      for (size_t i = 0; i < x->size(); ++i) axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.size() != target->size()) inference.fail("its shape does not fit its axes");
    for (size_t i = 0; i < axes.size(); ++i) y[inference.axis(axes[i], y.size())] = (*target)[i];
  }
  inference.set_shape(0, std::move(y));
}

}  // namespace

std::span<const OperatorDefinition> movement_operators() {
  static const OperatorDefinition operators[] = {
      {"CenterCropPad", infer_center_crop_pad},
      {"Concat", infer_concat},
      {"DepthToSpace", infer_depth_to_space},
      {"Expand", infer_expand},
      {"Pad", infer_pad},
      {"ReverseSequence", infer_same},
      {"Slice", infer_slice},
      {"SpaceToDepth", infer_space_to_depth},
      {"Split", infer_split},
      {"Tile", infer_tile},
      {"Trilu", infer_same},
  };
  return operators;
}

}  // namespace opsmith::graph
