#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "runtime/expression/program.h"
#include "runtime/kernels/lowering.h"

namespace opsmith::substitute {

/// A node of a model whose shapes are all concrete as a program; nullopt where the runtime has no
/// expression for it.
std::optional<kernels::Lowered> lower_node(const graph::Model& model, const graph::Node& node);

/// A node of domain "opsmith" that computes one stage of a program whose extents are bound.
/// `tensors` holds the value of everything that the stage reads; the output is a new value.
graph::Node make_stage_node(graph::Graph& graph, const expression::Program& program,
                            const expression::Stage& stage,
                            const std::map<std::string, graph::ValueId>& tensors,
                            const std::string& name);

/// Replaces every node whose expression has several stages by one node per stage, so that what one
/// stage hands to the next is a value of the graph that a backward pass can read.
void split_into_stages(graph::Model& model);

/// A value's shape as numbers. Throws InternalError where it is not known.
Shape known_shape(const graph::Graph& graph, graph::ValueId id);

}  // namespace opsmith::substitute
