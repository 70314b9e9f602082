#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

void infer_if(Inference& inference) {
  const std::vector<ValueInfo> then = inference.infer_body("then_branch", {}, true);
  const std::vector<ValueInfo> otherwise = inference.infer_body("else_branch", {}, true);
  for (size_t i = 0; i < inference.node().outputs.size(); ++i) {
    if (i >= then.size() || i >= otherwise.size()) {
      inference.fail("its branches have fewer outputs than the node");
    }
    if (then[i].type == otherwise[i].type) inference.set_type(i, then[i].type);
    if (auto shape = common(then[i].shape, otherwise[i].shape)) {
      inference.set_shape(i, std::move(*shape));
    }
  }
}

/// What stays true of a value that each turn of the loop may replace.
ValueInfo type_and_shape(const ValueInfo& info) {
  ValueInfo result;
  result.type = info.type;
  result.shape = info.shape;
  return result;
}

/// Trip count, condition, carried values; the body takes iteration, condition, carried values and
/// gives condition, carried values, slices of the scanned outputs.
void infer_loop(Inference& inference) {
  const size_t carried = inference.input_count() < 2 ? 0 : inference.input_count() - 2;
  std::vector<ValueInfo> inputs(2 + carried);
  inputs[0].type = ElementType::Int64;
  inputs[0].shape = SymbolicShape{};
  inputs[1].type = ElementType::Bool;
  inputs[1].shape = SymbolicShape{};
  for (size_t i = 0; i < carried; ++i) inputs[2 + i] = type_and_shape(inference.info(2 + i));

  // Weakens what the body changes until it holds in every turn; ranks drop out last.
  std::vector<ValueInfo> outputs;
  for (bool stable = false; !stable;) {
    outputs = inference.infer_body("body", inputs, false);
    stable = true;
    for (size_t i = 0; i < carried && i + 1 < outputs.size(); ++i) {
      auto held = common(inputs[2 + i].shape, outputs[i + 1].shape);
      if (held != inputs[2 + i].shape) {
        inputs[2 + i].shape = std::move(held);
        stable = false;
      }
    }
  }
  inference.infer_body("body", inputs, true);
  for (size_t i = 0; i < inference.node().outputs.size() && i + 1 < outputs.size(); ++i) {
    const ValueInfo& found = outputs[i + 1];
    inference.set_type(i, found.type);
    if (i < carried) {
      if (inputs[2 + i].shape) inference.set_shape(i, *inputs[2 + i].shape);
    } else if (found.shape) {
      SymbolicShape stacked = *found.shape;
      stacked.insert(stacked.begin(), Dimension());
      inference.set_shape(i, std::move(stacked));
    }
  }
}

/// State values, then scanned inputs; the body gives state values, then slices.
void infer_scan(Inference& inference) {
  if (inference.opset() < 9) return;  // version 8 had a batch dimension and a first input more
  const int64_t scanned = inference.node().integer("num_scan_inputs", 0);
  const auto total = static_cast<int64_t>(inference.input_count());
  if (scanned < 0 || scanned > total) inference.fail("num_scan_inputs does not fit its inputs");
  const auto states = static_cast<size_t>(total - scanned);
  const auto axes = inference.node().integers("scan_input_axes");
  std::vector<ValueInfo> inputs;
  Dimension steps;
  for (size_t i = 0; i < inference.input_count(); ++i) {
    inputs.push_back(type_and_shape(inference.info(i)));
    std::optional<SymbolicShape>& shape = inputs.back().shape;
    if (i < states || !shape) continue;
    const size_t k = i - states;
    const size_t axis = inference.axis(k < axes.size() ? axes[k] : 0, shape->size());
    if (const auto same = unify(steps, (*shape)[axis])) steps = *same;
    shape->erase(shape->begin() + static_cast<std::ptrdiff_t>(axis));
  }
  const std::vector<ValueInfo> outputs = inference.infer_body("body", inputs, true);
  const auto output_axes = inference.node().integers("scan_output_axes");
  for (size_t i = 0; i < inference.node().outputs.size() && i < outputs.size(); ++i) {
    inference.set_type(i, outputs[i].type);
    if (!outputs[i].shape) continue;
    SymbolicShape shape = *outputs[i].shape;
    if (i >= states) {
      const size_t k = i - states;
      const size_t axis =
          inference.axis(k < output_axes.size() ? output_axes[k] : 0, shape.size() + 1);
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), steps);
    }
    inference.set_shape(i, std::move(shape));
  }
}

}  // namespace

std::span<const OperatorDefinition> control_operators() {
  static const OperatorDefinition operators[] = {
      {"If", infer_if},
      {"Loop", infer_loop},
      {"Scan", infer_scan},
  };
  return operators;
}

}  // namespace opsmith::graph
