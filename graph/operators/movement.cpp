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

}  // namespace

std::span<const OperatorDefinition> movement_operators() {
  static const OperatorDefinition operators[] = {
      {"Concat", infer_concat},        {"DepthToSpace", infer_depth_to_space},
      {"Expand", infer_expand},        {"Pad", infer_pad},
      {"ReverseSequence", infer_same}, {"SpaceToDepth", infer_space_to_depth},
      {"Split", infer_split},          {"Tile", infer_tile},
      {"Trilu", infer_same},
  };
  return operators;
}

}  // namespace opsmith::graph
