#include "substitute/refit/weight_use.h"

#include <algorithm>
#include <map>

namespace opsmith::substitute {

namespace {

/// Whether a block's entries are distinct elements and nothing else.
bool is_matrix(const LinearBlock& block) {
  if (block.factors.size() != 1 || !block.coefficients.empty()) return false;
  std::vector<int32_t> elements = block.factors.front();
  std::sort(elements.begin(), elements.end());
  return elements.front() >= 0 &&
         std::adjacent_find(elements.begin(), elements.end()) == elements.end();
}

}  // namespace

std::vector<WeightUse> weight_uses(const Chain& chain) {
  const LinearForm& form = chain.form();
  std::vector<WeightUse> uses;
  for (size_t w = 0; w < form.weights.size(); ++w) {
    WeightUse use;
    use.weight = static_cast<int>(w);
    use.matrices = true;
    std::map<std::vector<int32_t>, size_t> ties;
    std::vector<int32_t> elements;
    for (size_t b = 0; b < form.blocks.size(); ++b) {
      const LinearBlock& block = form.blocks[b];
      if (!chain.uses(block, use.weight)) continue;
      use.blocks.push_back(b);
      use.matrices = use.matrices && is_matrix(block);
      if (!use.matrices) continue;
      const auto& factor = block.factors.front();
      const auto [tie, fresh] = ties.emplace(factor, use.ties.size());
      if (fresh) {
        use.ties.emplace_back();
        elements.insert(elements.end(), factor.begin(), factor.end());
      }
      use.ties[tie->second].blocks.push_back(b);
    }
    if (use.blocks.empty()) continue;
    std::sort(elements.begin(), elements.end());
    const bool disjoint = std::adjacent_find(elements.begin(), elements.end()) == elements.end();
    use.matrices = use.matrices && disjoint;
    uses.push_back(std::move(use));
  }
  std::stable_sort(uses.begin(), uses.end(), [](const WeightUse& a, const WeightUse& b) {
    return a.blocks.front() < b.blocks.front();
  });
  return uses;
}

}  // namespace opsmith::substitute
