#include "search/synthesis/canvas/identity.h"

#include <vector>

#include "search/synthesis/mix.h"

namespace opsmith::synthesis::canvas {

namespace {

/// Whether the operands may change places.
bool commutes(const Kernel& kernel, const Step& step) {
  return step.operands[1] >= 0 && step.function != substitute::MapFunction::Subtract &&
         kernel.node(step.operands[0]).shape == kernel.node(step.operands[1]).shape;
}

uint64_t label_of(const Step& step) {
  uint64_t label = mix(static_cast<uint64_t>(step.primitive) + 1);
  const bool has_function =
      step.primitive == Primitive::ElementWise || step.primitive == Primitive::Broadcast;
  label = mix(label + (has_function ? static_cast<uint64_t>(step.function) + 1 : 0));
  label = mix(label + step.spatial);
  label = mix(label + static_cast<uint64_t>(step.first + 1) * 16 +
              static_cast<uint64_t>(step.last + 1));
  return mix(label + static_cast<uint64_t>(step.amount + 1) * 4 + (step.each_channel ? 2 : 0) +
             (step.maximum ? 1 : 0));
}

}  // namespace

uint64_t identity(const Kernel& kernel, int64_t groups) {
  const auto count = static_cast<size_t>(kernel.size());
  std::vector<uint64_t> labels(count), variables(Extent::capacity, 1);
  bool grouped = false;
  for (size_t i = 0; i < count; ++i) labels[i] = i == 0 ? 7 : label_of(kernel.nodes()[i].step);

  const auto extent_label = [&](const Extent& extent) {
    grouped = grouped || extent.power(Groups) != 0;
    uint64_t label = 0;
    for (size_t v = 0; v < Extent::capacity; ++v)
      if (extent.power(v) != 0)
        label += mix(mix(v < FirstDynamic ? v + 100 : variables[v]) +
                     static_cast<uint64_t>(extent.power(v) + 64));
    return mix(label);
  };
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint64_t> next(count), from_users(count, 0), from_nodes(Extent::capacity, 0);
    for (size_t i = 0; i < count; ++i) {
      const Node& node = kernel.nodes()[i];
      uint64_t label = mix(labels[i] + 0x51);
      for (int d = 0; d < node.shape.rank; ++d)
        label = mix(label + extent_label(node.shape.channels[static_cast<size_t>(d)]));
      if (i > 0) {
        const bool even = commutes(kernel, node.step);
        uint64_t operands = 0;
        for (int o = 0; o < node.step.operand_count(); ++o) {
          const auto operand = static_cast<size_t>(node.step.operands[static_cast<size_t>(o)]);
          const uint64_t place = even ? 0 : static_cast<uint64_t>(o);
          // Operands before this node have their new labels already: depth is no limit downwards.
          operands += mix(next[operand] + 3 * place);
          from_users[operand] += mix(labels[i] ^ mix(place + 11));
        }
        label = mix(label ^ mix(operands));
      }
      next[i] = label;
      for (int d = 0; d < node.shape.rank; ++d) {
        const int v = dynamic_variable(node.shape.channels[static_cast<size_t>(d)]);
        if (v >= 0) from_nodes[static_cast<size_t>(v)] += mix(label + static_cast<uint64_t>(d));
      }
    }
    for (size_t i = 0; i < count; ++i) labels[i] = mix(next[i] + mix(from_users[i]));
    for (size_t v = FirstDynamic; v < Extent::capacity; ++v) variables[v] = mix(from_nodes[v]);
  }
  uint64_t total = mix(count);
  for (const uint64_t label : labels) total += mix(label);
  return grouped ? mix(total + static_cast<uint64_t>(groups)) : mix(total);
}

}  // namespace opsmith::synthesis::canvas
