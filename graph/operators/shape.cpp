#include <algorithm>

#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

/// Elements stay what they are when only the shape around them changes.
void keep_elements(Inference& inference) {
  if (const Elements* elements = inference.elements(0)) inference.set_elements(0, *elements);
}

void reshape(Inference& inference, const Elements& target, bool zero_copies) {
  const SymbolicShape* x = inference.shape(0);
  SymbolicShape y(target.size());
  SymbolicShape whole = x ? *x : SymbolicShape{};
  SymbolicShape parts;
  std::vector<size_t> copied;
  std::optional<size_t> open;
  bool unknown = !x;
  for (size_t i = 0; i < target.size(); ++i) {
    const Dimension& entry = target[i];
    if (entry.known() && *entry.size == -1) {
      if (open) inference.fail("shape " + to_string(target) + " has -1 twice");
      open = i;
    } else if (entry.known() && *entry.size == 0 && zero_copies) {
      if (x && i >= x->size()) inference.fail("its shape copies a dimension that is not there");
      if (x) {
        y[i] = (*x)[i];
        copied.push_back(i);
      }
    } else if (entry.known() && *entry.size < 0) {
      inference.fail("shape " + to_string(target) + " has a negative entry");
    } else {
      y[i] = entry;
      parts.push_back(entry);
      unknown = unknown || (!entry.known() && entry.symbol.empty());
    }
  }
  // Copied dimensions stand on both sides, known or not.
  for (auto it = copied.rbegin(); it != copied.rend(); ++it) {
    whole.erase(whole.begin() + static_cast<std::ptrdiff_t>(*it));
  }
  if (!unknown) {
    const std::optional<Dimension> rest = quotient(whole, parts);
    const bool complete =
        concrete(whole) && concrete(parts) && product(parts, 0, parts.size()) != 0;
    if (!rest || (!open && complete && *rest != Dimension(1))) {
      inference.fail("a tensor of shape " + to_string(*x) + " cannot be reshaped to " +
                     to_string(target));
    }
    if (open) y[*open] = *rest;
  }
  inference.set_shape(0, std::move(y));
}

void infer_reshape(Inference& inference) {
  inference.set_type(0, inference.type(0));
  keep_elements(inference);
  if (inference.opset() < 5) {
    const std::vector<int64_t> shape = inference.node().integers("shape");
    reshape(inference, Elements(shape.begin(), shape.end()), true);
    return;
  }
  const bool zero_copies = inference.node().integer("allowzero", 0) == 0;
  const SymbolicShape* length = inference.shape(1);
  if (const Elements* target = inference.elements(1)) {
    reshape(inference, *target, zero_copies);
  } else if (length && length->size() == 1 && (*length)[0].known() && *(*length)[0].size >= 0 &&
             *(*length)[0].size <= 64) {
    inference.set_shape(0, SymbolicShape(static_cast<size_t>(*(*length)[0].size)));
  }
}

void infer_flatten(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return inference.set_shape(0, SymbolicShape(2));
  int64_t axis = inference.node().integer("axis", 1);
  const auto rank = static_cast<int64_t>(x->size());
  if (axis < -rank || axis > rank) inference.axis(axis, x->size());
  if (axis < 0) axis += rank;
  const auto middle = static_cast<size_t>(axis);
  inference.set_shape(0, {product(*x, 0, middle), product(*x, middle, x->size())});
}

void infer_squeeze(Inference& inference) {
  inference.set_type(0, inference.type(0));
  keep_elements(inference);
  const SymbolicShape* x = inference.shape(0);
  const Inference::Setting axes = inference.attribute_or_input("axes", 13, 1);
  if (!x || (axes.given && !axes.values)) return;
  std::vector<char> drop(x->size(), 0);
  if (axes.given) {
    for (const int64_t a : *axes.values) {
      const size_t i = inference.axis(a, x->size());
      if ((*x)[i].known() && *(*x)[i].size != 1) {
        inference.fail("axis " + std::to_string(a) + " of shape " + to_string(*x) +
                       " cannot be squeezed");
      }
      drop[i] = 1;
    }
  } else {
    for (size_t i = 0; i < x->size(); ++i) {
      if (!(*x)[i].known()) return;  // it might be 1
      drop[i] = *(*x)[i].size == 1;
    }
  }
  SymbolicShape y;
  for (size_t i = 0; i < x->size(); ++i) {
    if (!drop[i]) y.push_back((*x)[i]);
  }
  inference.set_shape(0, std::move(y));
}

void infer_unsqueeze(Inference& inference) {
  inference.set_type(0, inference.type(0));
  keep_elements(inference);
  const SymbolicShape* x = inference.shape(0);
  const Inference::Setting axes = inference.attribute_or_input("axes", 13, 1);
  if (!x || !axes.values) return;
  const size_t rank = x->size() + axes.values->size();
  std::vector<char> added(rank, 0);
  for (const int64_t a : *axes.values) added[inference.axis(a, rank)] = 1;
  if (std::count(added.begin(), added.end(), 1) != static_cast<int64_t>(axes.values->size())) {
    inference.fail("its axes name one dimension twice");
  }
  SymbolicShape y;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) y.push_back(added[i] ? Dimension(1) : (*x)[next++]);
  inference.set_shape(0, std::move(y));
}

void infer_transpose(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  if (x->size() < 2) keep_elements(inference);
  std::vector<int64_t> order = inference.node().integers("perm");
  if (!inference.node().has("perm")) {
    for (size_t i = x->size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  std::vector<char> seen(x->size(), 0);
  SymbolicShape y;
  for (const int64_t from : order) {
    const size_t i = inference.axis(from, x->size());
    if (seen[i]++) inference.fail("perm names one dimension twice");
    y.push_back((*x)[i]);
  }
  if (y.size() != x->size()) inference.fail("perm does not fit the shape " + to_string(*x));
  inference.set_shape(0, std::move(y));
}

void infer_shape(Inference& inference) {
  inference.set_type(0, ElementType::Int64);
  const SymbolicShape* x = inference.shape(0);
  if (!x) return inference.set_shape(0, SymbolicShape(1));
  const auto rank = static_cast<int64_t>(x->size());
  const auto clamp = [rank](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const int64_t begin = clamp(inference.node().integer("start", 0));
  const int64_t end = std::max(begin, clamp(inference.node().integer("end", rank)));
  inference.set_shape(0, {Dimension(end - begin)});
  inference.set_elements(0, Elements(x->begin() + begin, x->begin() + end));
}

void infer_size(Inference& inference) {
  inference.set(0, ElementType::Int64, SymbolicShape{});
  if (const SymbolicShape* x = inference.shape(0)) {
    inference.set_elements(0, {product(*x, 0, x->size())});
  }
}

}  // namespace

std::span<const OperatorDefinition> shape_operators() {
  static const OperatorDefinition operators[] = {
      {"Flatten", infer_flatten},     {"Reshape", infer_reshape}, {"Shape", infer_shape},
      {"Size", infer_size},           {"Squeeze", infer_squeeze}, {"Transpose", infer_transpose},
      {"Unsqueeze", infer_unsqueeze},
  };
  return operators;
}

}  // namespace opsmith::graph
