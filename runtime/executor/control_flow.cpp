#include "runtime/executor/control_flow.h"

#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/plain/pieces.h"
#include "support/error.h"

namespace opsmith::executor {
namespace {

using graph::Graph;
using graph::Node;
using Values = std::vector<Tensor>;

const Graph& body_of(const Node& node, const std::string& attribute) {
  const auto found = node.attributes.find(attribute);
  const auto* body = found == node.attributes.end()
                         ? nullptr
                         : std::get_if<std::shared_ptr<Graph>>(&found->second);
  if (body == nullptr) throw UserError(describe(node) + ": no subgraph " + attribute);
  return **body;
}

int64_t first_number(const Tensor& tensor, const Node& node) {
  if (tensor.count() < 1 || !is_plain_data(tensor.type())) {
    throw UserError(describe(node) + ": a condition or count is empty");
  }
  return tensor.cast(ElementType::Int64).data<int64_t>()[0];
}

Tensor with_axis(const Tensor& tensor, int64_t axis) {
  Shape shape = tensor.shape();
  shape.insert(shape.begin() + axis, 1);
  return tensor.reshaped(shape);
}

Tensor without_axis(const Tensor& tensor, size_t axis) {
  Shape shape = tensor.shape();
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  return tensor.reshaped(shape);
}

// What the body declares of its output, for loops that never run it; unknown extents are 0.
Tensor no_slices(const Graph& body, size_t output, int64_t axis) {
  const graph::Value& value = body.value(body.outputs.at(output));
  Shape shape;
  for (const graph::Dimension& dimension : value.shape.value_or(graph::SymbolicShape{})) {
    shape.push_back(dimension.size.value_or(0));
  }
  axis = std::clamp<int64_t>(axis, 0, static_cast<int64_t>(shape.size()));
  shape.insert(shape.begin() + axis, 0);
  return {is_plain_data(value.type) ? value.type : ElementType::Float32, shape};
}

// Slices one behind the other along a new axis, which may count from the end of the result.
Tensor stack(const Values& slices, const Node& node, const Graph& body, size_t output,
             int64_t axis) {
  if (slices.empty()) return no_slices(body, output, axis);
  axis = kernels::normalize_axis(axis, slices[0].rank() + 1, node);
  Values raised;
  for (const Tensor& slice : slices) {
    if (slice.rank() < axis) throw UserError(describe(node) + ": slices differ in rank");
    raised.push_back(with_axis(slice, axis));
  }
  return kernels::join(raised, static_cast<size_t>(axis), node);
}

Values unstack(const Tensor& tensor, const Node& node, int64_t axis) {
  const auto at = static_cast<size_t>(kernels::normalize_axis(axis, tensor.rank(), node));
  const std::vector<int64_t> ones(static_cast<size_t>(tensor.shape()[at]), 1);
  Values slices = kernels::cut(tensor, at, ones, node);
  for (Tensor& slice : slices) slice = without_axis(slice, at);
  return slices;
}

void check_outputs(const Node& node, const Values& results, size_t needed) {
  if (results.size() < needed) {
    throw UserError(describe(node) + ": its body has " + std::to_string(results.size()) +
                    " outputs where " + std::to_string(needed) + " are needed");
  }
}

// Inputs: trip count, condition, carried values. Body: (iteration, condition, carried) to
// (condition, carried, slices); the slices of all turns are stacked along a new first axis.
Values run_loop(const Node& node, std::span<const Tensor> inputs, const RunBody& run_body) {
  const Graph& body = body_of(node, "body");
  const bool limited = !inputs.empty() && inputs[0].defined();
  const int64_t trips = limited ? first_number(inputs[0], node) : 0;
  bool go_on = inputs.size() < 2 || !inputs[1].defined() || first_number(inputs[1], node) != 0;
  Values carried;
  if (inputs.size() > 2) carried.assign(inputs.begin() + 2, inputs.end());
  const size_t count = carried.size();
  if (body.outputs.size() < 1 + count) check_outputs(node, {}, 1 + count);
  std::vector<Values> scanned(body.outputs.size() - 1 - count);
  for (int64_t i = 0; go_on && (!limited || i < trips); ++i) {
    Values arguments = {Tensor::scalar(i), Tensor::scalar(true)};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    const Values results = run_body(body, arguments);
    go_on = first_number(results.at(0), node) != 0;
    for (size_t k = 0; k < count; ++k) carried[k] = results.at(1 + k);
    for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(results.at(1 + count + k));
  }
  for (size_t k = 0; k < scanned.size(); ++k) {
    carried.push_back(stack(scanned[k], node, body, 1 + count + k, 0));
  }
  return carried;
}

/// What a Scan slices and stacks, one entry per scanned input or output.
struct ScanPlan {
  size_t states = 0;
  std::vector<int64_t> input_axes, output_axes;
  std::vector<bool> input_reversed, output_reversed;
};

std::vector<bool> directions(const Node& node, const std::string& attribute, size_t count) {
  std::vector<bool> result;
  for (const int64_t direction : node.integers(attribute, std::vector<int64_t>(count, 0))) {
    result.push_back(direction != 0);
  }
  if (result.size() != count)
    throw UserError(describe(node) + ": " + attribute + " has no entry for each");
  return result;
}

// Body: (states, slices of scanned inputs) to (states, slices of scanned outputs).
Values run_scan(const Node& node, const ScanPlan& plan, std::span<const Tensor> inputs,
                const Graph& body, const RunBody& run_body) {
  Values states(inputs.begin(), inputs.begin() + static_cast<int64_t>(plan.states));
  std::vector<Values> slices;
  for (size_t i = plan.states; i < inputs.size(); ++i) {
    const size_t k = i - plan.states;
    slices.push_back(unstack(inputs[i], node, plan.input_axes[k]));
    if (plan.input_reversed[k]) std::reverse(slices[k].begin(), slices[k].end());
    if (slices[k].size() != slices[0].size()) {
      throw UserError(describe(node) + ": its scanned inputs differ in length");
    }
  }
  if (body.outputs.size() < plan.states) check_outputs(node, {}, plan.states);
  std::vector<Values> made(body.outputs.size() - plan.states);
  for (size_t step = 0; step < (slices.empty() ? 0 : slices[0].size()); ++step) {
    Values arguments = states;
    for (const Values& of : slices) arguments.push_back(of[step]);
    const Values results = run_body(body, arguments);
    for (size_t k = 0; k < states.size(); ++k) states[k] = results.at(k);
    for (size_t k = 0; k < made.size(); ++k) made[k].push_back(results.at(states.size() + k));
  }
  for (size_t k = 0; k < made.size(); ++k) {
    if (plan.output_reversed[k]) std::reverse(made[k].begin(), made[k].end());
    states.push_back(stack(made[k], node, body, plan.states + k, plan.output_axes[k]));
  }
  return states;
}

ScanPlan read_scan(const Node& node, size_t inputs, size_t outputs) {
  ScanPlan plan;
  const int64_t scanned = node.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(inputs)) {
    throw UserError(describe(node) + ": num_scan_inputs does not fit its inputs");
  }
  plan.states = inputs - static_cast<size_t>(scanned);
  const size_t made = outputs < plan.states ? 0 : outputs - plan.states;
  const auto count = static_cast<size_t>(scanned);
  plan.input_axes = node.integers("scan_input_axes", std::vector<int64_t>(count, 0));
  plan.output_axes = node.integers("scan_output_axes", std::vector<int64_t>(made, 0));
  plan.input_reversed = directions(node, "scan_input_directions", count);
  plan.output_reversed = directions(node, "scan_output_directions", made);
  if (plan.input_axes.size() != count || plan.output_axes.size() != made) {
    throw UserError(describe(node) + ": its axes do not fit its inputs or outputs");
  }
  return plan;
}

// Zeros behind the steps that a shorter sequence has.
Tensor padded(const Tensor& tensor, int64_t steps, const Node& node) {
  Shape missing = tensor.shape();
  missing.at(0) = steps - missing[0];
  if (missing[0] <= 0) return tensor;
  const Values parts = {tensor, Tensor::zeros(tensor.type(), missing)};
  return kernels::join(parts, 0, node);
}

// The form of operator set 8: a batch dimension in front of everything, sequences of different
// lengths (an optional first input), and one attribute for the directions of inputs.
Values run_batched_scan(const Node& node, std::span<const Tensor> inputs, const RunBody& run_body) {
  const Graph& body = body_of(node, "body");
  if (inputs.size() < 2) throw UserError(describe(node) + ": it scans nothing");
  const Values values(inputs.begin() + 1, inputs.end());
  ScanPlan plan = read_scan(node, values.size(), body.outputs.size());
  plan.input_reversed = directions(node, "directions", plan.input_axes.size());
  std::vector<Values> columns;  // per input the entries of the batch
  for (const Tensor& value : values) columns.push_back(unstack(value, node, 0));
  const size_t batch = columns[0].size();
  std::vector<int64_t> lengths;
  if (inputs[0].defined()) lengths = kernels::to_integers(inputs[0], node);
  std::vector<Values> results;
  for (size_t b = 0; b < batch; ++b) {
    Values row;
    int64_t steps = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      Tensor value = columns[i].at(b);
      if (i >= plan.states) {
        steps = value.shape().at(0);
        const int64_t length = lengths.empty() ? steps : lengths.at(b);
        if (length < 0 || length > steps) throw UserError(describe(node) + ": a sequence too long");
        value = kernels::cut(value, 0, {length, steps - length}, node)[0];
      }
      row.push_back(value);
    }
    Values made = run_scan(node, plan, row, body, run_body);
    for (size_t i = plan.states; i < made.size(); ++i) made[i] = padded(made[i], steps, node);
    results.resize(made.size());
    for (size_t i = 0; i < made.size(); ++i) results[i].push_back(made[i]);
  }
  Values outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.push_back(stack(results[i], node, body, i, 0));
  return outputs;
}

// The body on each element of the first input; further sequences of that length go along.
Values run_sequence_map(const Node& node, std::span<const Tensor> inputs, const RunBody& run_body) {
  const Graph& body = body_of(node, "body");
  if (inputs.empty() || inputs[0].type() != ElementType::Sequence) {
    throw UserError(describe(node) + ": its first input must be a sequence");
  }
  std::vector<Values> made(body.outputs.size());
  const auto length = static_cast<size_t>(inputs[0].count());
  for (size_t i = 0; i < length; ++i) {
    Values arguments;
    for (const Tensor& input : inputs) {
      const bool sequence = input.type() == ElementType::Sequence;
      if (sequence && input.tensors().size() != length) {
        throw UserError(describe(node) + ": its sequences differ in length");
      }
      arguments.push_back(sequence ? input.tensors()[i] : input);
    }
    const Values results = run_body(body, arguments);
    for (size_t k = 0; k < made.size(); ++k) made[k].push_back(results.at(k));
  }
  Values outputs;
  for (Values& elements : made) outputs.push_back(Tensor::sequence(std::move(elements)));
  return outputs;
}

}  // namespace

bool is_control_flow(const Node& node) {
  return node.is("If") || node.is("Loop") || node.is("Scan") || node.is("SequenceMap");
}

Values run_control_flow(const Node& node, int64_t opset, std::span<const Tensor> inputs,
                        const RunBody& run_body) {
  if (node.is("If")) {
    const bool condition = first_number(inputs[0], node) != 0;
    const Values results = run_body(body_of(node, condition ? "then_branch" : "else_branch"), {});
    check_outputs(node, results, node.outputs.size());
    return results;
  }
  if (node.is("SequenceMap")) return run_sequence_map(node, inputs, run_body);
  if (node.is("Loop")) return run_loop(node, inputs, run_body);
  if (opset < 9) return run_batched_scan(node, inputs, run_body);
  const Graph& body = body_of(node, "body");
  return run_scan(node, read_scan(node, inputs.size(), body.outputs.size()), inputs, body,
                  run_body);
}

}  // namespace opsmith::executor
