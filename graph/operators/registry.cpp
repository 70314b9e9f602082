#include <unordered_map>

#include "graph/operators/families.h"

namespace opsmith::graph {

const OperatorDefinition* find_operator(const std::string& type) {
  static const auto* const operators = [] {
    auto* all = new std::unordered_map<std::string, const OperatorDefinition*>;
    for (const auto family :
         {arithmetic_operators(), constant_operators(), control_operators(),
          convolution_operators(), elementwise_operators(), indexing_operators(),
          matrix_operators(), movement_operators(), normalization_operators(), pooling_operators(),
          quantization_operators(), recurrent_operators(), reduction_operators(),
          resizing_operators(), shape_operators(), slicing_operators()}) {
      for (const OperatorDefinition& definition : family) {
        all->emplace(definition.type, &definition);
      }
    }
    return all;
  }();
  const auto found = operators->find(type);
  return found == operators->end() ? nullptr : found->second;
}

}  // namespace opsmith::graph
