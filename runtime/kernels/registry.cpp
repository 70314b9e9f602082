#include <algorithm>
#include <iterator>
#include <map>

#include "runtime/kernels/families.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

std::map<std::string, KernelDefinition> build_registry() {
  std::map<std::string, KernelDefinition> registry;
  for (auto family : {convolution_kernels,
                      transposed_convolution_kernels,
                      matrix_product_kernels,
                      pooling_kernels,
                      normalization_kernels,
                      softmax_kernels,
                      reduction_kernels,
                      unary_kernels,
                      activation_kernels,
                      binary_kernels,
                      selection_kernels,
                      synthesized_kernels,
                      view_kernels,
                      generator_kernels,
                      cast_kernels,
                      transpose_kernels,
                      join_kernels,
                      slice_kernels,
                      gather_kernels,
                      scatter_kernels,
                      pad_kernels,
                      resize_kernels,
                      repeat_kernels,
                      ranking_kernels,
                      triangle_kernels,
                      block_kernels,
                      integer_product_kernels,
                      quantization_kernels,
                      sequence_kernels,
                      string_kernels,
                      regular_expression_kernels,
                      ngram_kernels,
                      recurrent_kernels,
                      random_kernels,
                      dropout_kernels,
                      signal_kernels,
                      loss_kernels,
                      sampling_kernels,
                      region_kernels,
                      unpool_kernels,
                      unique_kernels,
                      selecting_kernels,
                      linear_algebra_kernels,
                      einsum_kernels}) {
    for (KernelDefinition& definition : family()) {
      std::string type = definition.type;
      bool fresh = registry.emplace(type, std::move(definition)).second;
      require(fresh, "operator " + type + " is registered twice");
    }
  }
  return registry;
}

const std::map<std::string, KernelDefinition>& registry() {
  static const std::map<std::string, KernelDefinition> instance = build_registry();
  return instance;
}

}  // namespace

const KernelDefinition* find_kernel(const std::string& domain, const std::string& type) {
  if (!domain.empty() && domain != "opsmith") return nullptr;
  auto found = registry().find(domain.empty() ? type : domain);
  if (found == registry().end() || (domain.empty() && type == "opsmith")) return nullptr;
  return &found->second;
}

bool computes_wide(const KernelDefinition& definition, const graph::Node& node) {
  const auto reduction = node.attributes.find("reduction");
  const auto* text =
      reduction == node.attributes.end() ? nullptr : std::get_if<std::string>(&reduction->second);
  if (text != nullptr && *text != "none") return true;  // a scatter that computes
  if (definition.handling == Handling::Default) return definition.lowering != nullptr;
  return definition.handling == Handling::Widened;
}

std::vector<std::string> supported_operators() {
  std::vector<std::string> names;
  for (const auto& [type, definition] : registry()) {
    if (type != "opsmith") names.push_back(type);
  }
  return names;
}

}  // namespace opsmith::kernels
