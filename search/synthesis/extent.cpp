#include "search/synthesis/extent.h"

#include <algorithm>
#include <limits>

#include "support/error.h"

namespace opsmith::synthesis {

using substitute::Size;

SizeTable::SizeTable(std::vector<Variable> variables) : variables_(std::move(variables)) {
  if (variables_.size() > Extent::capacity)
    throw UserError("a search takes at most 16 size variables, not " +
                    std::to_string(variables_.size()));
  for (const Variable& variable : variables_) {
    if (variable.values.empty() || variable.values.size() != variables_[0].values.size())
      throw UserError("the size variable " + variable.name +
                      " needs one value for each layer of the search");
    for (const int64_t value : variable.values)
      if (value < 1) throw UserError("the size variable " + variable.name + " is not positive");
    primary_.push_back(substitute::variable_kind(variable.name) !=
                       substitute::VariableKind::Coefficient);
  }
  for (size_t i = 0; i < variables_.size(); ++i)
    if (primary_[i]) primaries_.set_power(i, 1);
  for (size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].open) opens_.set_power(i, 1);
}

double SizeTable::value(const Extent& extent, size_t layer) const {
  double above = 1, below = 1;
  for (size_t i = 0; i < variables_.size(); ++i)
    for (int p = 0; p < std::abs(extent.power(i)); ++p)
      (extent.power(i) > 0 ? above : below) *= static_cast<double>(variables_[i].values[layer]);
  return above / below;
}

bool SizeTable::is_whole(const Extent& extent) const {
  for (size_t i = 0; i < variables_.size(); ++i)
    if (primary_[i] && extent.power(i) < 0) return false;
  for (size_t layer = 0; layer < layers(); ++layer) {
    int64_t above = 1, below = 1;
    for (size_t i = 0; i < variables_.size(); ++i)
      for (int p = 0; p < std::abs(extent.power(i)); ++p) {
        int64_t& side = extent.power(i) > 0 ? above : below;
        if (__builtin_mul_overflow(side, variables_[i].values[layer], &side)) return false;
      }
    if (above % below != 0) return false;
  }
  return true;
}

const SizeInfo* SizeTable::find(const Extent& extent) {
  const uint64_t hash = extent.hash();
  const SizeInfo** found =
      known_.find(hash, [&](const SizeInfo* info) { return info->extent == extent; });
  if (found != nullptr) return *found;
  SizeInfo info;
  info.extent = extent;
  info.hash = hash;
  info.whole = is_whole(extent);
  info.smallest = std::numeric_limits<double>::infinity();
  for (size_t layer = 0; layer < layers(); ++layer) {
    const double here = value(extent, layer);
    info.smallest = std::min(info.smallest, here);
    info.largest = std::max(info.largest, here);
    info.values.push_back(here);
  }
  for (size_t i = 0; i < variables_.size(); ++i)
    if (extent.power(i) != 0) {
      info.primary = info.primary || primary_[i];
      info.primaries += primary_[i] ? extent.power(i) : 0;
      info.open = info.open || variables_[i].open;
    }
  infos_.push_back(info);
  return *known_.insert(hash, &infos_.back());
}

const SizeInfo* SizeTable::find(const Size& size) {
  if (size.numerator() != 1 || size.denominator() != 1)
    throw UserError("the size " + to_string(size) +
                    " holds a number; a search needs a named variable for it");
  Extent extent;
  for (const auto& [name, power] : size.powers()) {
    size_t i = 0;
    while (i < variables_.size() && variables_[i].name != name) ++i;
    if (i == variables_.size())
      throw UserError("the size " + to_string(size) + " holds " + name +
                      ", which is no variable of the search");
    extent.set_power(i, power);
  }
  return find(extent);
}

Size SizeTable::size(const SizeInfo* info) const {
  Size size;
  for (size_t i = 0; i < variables_.size(); ++i)
    if (info->extent.power(i) != 0)
      size = size * Size::variable(variables_[i].name, info->extent.power(i));
  return size;
}

}  // namespace opsmith::synthesis
