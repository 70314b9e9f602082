#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/expression/program.h"
#include "runtime/schedule/layout.h"

namespace opsmith::executor {

using graph::ValueId;

/// A tensor of a plan. The first ones are the graph's values, under their numbers; layout
/// assignment and stage splitting add more.
struct PlanValue {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::optional<Shape> shape;  ///< nullopt: depends on data, known only while running
  std::optional<Tensor> constant;
  /// Where given, the elements are what this program, which has one weight and one output, makes of
  /// the constant: computed once, while planning.
  std::shared_ptr<const expression::Program> preparation;
  schedule::Layout layout;  ///< where the elements lie; row-major until layouts are assigned
};

/// One step of a plan before it is bound to memory and machine code.
struct Operation {
  enum class Kind {
    Expression,  ///< a program: compiled
    Plain,       ///< a plain kernel on row-major tensors of known shape
    View,        ///< the same elements under another shape: nothing runs
    Convert,     ///< the same tensor in another layout
    Join,        ///< concatenation of channel-blocked tensors
    Dynamic,     ///< evaluated while running, because a shape depends on data
  };
  Kind kind = Kind::Plain;
  std::string name;                 ///< of the node; fused ones joined by '+'
  std::string type;                 ///< of the node that anchors it
  std::optional<graph::Node> node;  ///< of Plain and Dynamic
  expression::Program program;      ///< tensors are named tensor_name(value)
  /// The node's inputs; of an Expression the program's inputs, then its weights.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

/// What one plan is made of until it is bound.
struct OperationList {
  std::vector<PlanValue> values;
  std::vector<Operation> operations;  ///< in an order in which they can run
  std::vector<ValueId> inputs;        ///< of the graph
  std::vector<ValueId> outputs;
  /// Kernels may get another program than their own (schedule/variants): inputs need the halos of
  /// all.
  bool variants = false;

  PlanValue& value(ValueId id) { return values.at(static_cast<size_t>(id)); }
  const PlanValue& value(ValueId id) const { return values.at(static_cast<size_t>(id)); }
  ValueId add(PlanValue value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
  /// For each value the operations that read it, each once, in order.
  std::vector<std::vector<size_t>> readers() const;
  bool is_output(ValueId id) const;
};

/// The name of a value in the programs of a plan.
std::string tensor_name(ValueId id);

}  // namespace opsmith::executor
