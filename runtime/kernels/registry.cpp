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
                      block_kernels}) {
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

std::vector<std::string> supported_operators() {
  std::vector<std::string> names;
  for (const auto& [type, definition] : registry()) {
    if (type != "opsmith") names.push_back(type);
  }
  return names;
}

}  // namespace opsmith::kernels
