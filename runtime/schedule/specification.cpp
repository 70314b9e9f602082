#include "runtime/schedule/schedule.h"
#include "support/hash.h"

namespace opsmith::schedule {

std::string KernelSpecification::hash() const {
  Hasher hasher;
  hasher.text(expression::print(program)).text(to_json(schedule));
  for (const auto& [tensor, layout] : layouts) hasher.text(tensor).text(to_string(layout));
  hasher.text(target.cpu).text(target.features);
  return hasher.hex();
}

}  // namespace opsmith::schedule
