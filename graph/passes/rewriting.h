#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace opsmith::graph {

/// Calls `visit` for the main graph and the graphs inside its nodes, innermost first, and adds up
/// what it returns. Bodies of functions are left alone: they are what an operator is.
int for_each_graph(Model& model, const std::function<int(Graph&)>& visit);

/// Drops the nodes for which `dead` is set.
void erase_nodes(Graph& graph, const std::vector<char>& dead);

/// The index of the only node that reads a value, once; -1 if there are more or none, or it is an
/// output of the graph.
int32_t only_reader(const Graph& graph, const std::vector<std::vector<int32_t>>& consumers,
                    ValueId id);

/// Lets `from` go out of use in favour of `to`, as replace_uses does, and hands over type and
/// shape where `to` lacks them. False, with nothing changed, where the graph's own inputs and
/// outputs forbid it.
bool redirect(Graph& graph, ValueId from, ValueId to);

/// The number of a constant of one element; nullopt for anything else.
std::optional<double> scalar_of(const Graph& graph, ValueId id);

/// Whether the node gives another answer each time, or one that depends on hidden state.
bool is_random(const Node& node);

}  // namespace opsmith::graph
