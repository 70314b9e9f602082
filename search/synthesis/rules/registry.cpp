#include "search/synthesis/rules/rule.h"

namespace opsmith::synthesis {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> collected;
    for (const auto& family : {general_rules(), merge_rules(), split_rules(), unfold_rules(),
                               shift_rules(), stride_rules(), expand_rules(), contraction_rules()})
      collected.insert(collected.end(), family.begin(), family.end());
    return collected;
  }();
  return all;
}

}  // namespace opsmith::synthesis
