#include <algorithm>

#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

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

std::span<const OperatorDefinition> slicing_operators() {
  static const OperatorDefinition operators[] = {
      {"CenterCropPad", infer_center_crop_pad},
      {"Slice", infer_slice},
  };
  return operators;
}

}  // namespace opsmith::graph
