#include "runtime/executor/operation.h"

#include <algorithm>

namespace opsmith::executor {

std::vector<std::vector<size_t>> OperationList::readers() const {
  std::vector<std::vector<size_t>> result(values.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    for (ValueId id : operations[i].inputs) {
      if (id == graph::kNoValue) continue;
      std::vector<size_t>& readers = result[static_cast<size_t>(id)];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
  }
  return result;
}

bool OperationList::is_output(ValueId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

std::string tensor_name(ValueId id) { return "v" + std::to_string(id); }

}  // namespace opsmith::executor
