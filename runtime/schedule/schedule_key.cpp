#include "runtime/expression/visit.h"
#include "runtime/schedule/database.h"

namespace opsmith::schedule {
namespace {

using expression::Index;

/// Numbers become symbols "p0", "p1", ...; their values are noted.
Index make_parameters(const Index& index, std::vector<int64_t>& values) {
  switch (index.kind()) {
    case Index::Kind::Constant:
      values.push_back(index.value());
      return Index::symbol("p" + std::to_string(values.size() - 1));
    case Index::Kind::Symbol:
    case Index::Kind::Iterator:
      return index;
    default: {
      // In this order on every machine, which the evaluation order of arguments is not.
      const Index left = make_parameters(index.left(), values);
      const Index right = make_parameters(index.right(), values);
      return Index::binary(index.kind(), left, right);
    }
  }
}

}  // namespace

ScheduleKey schedule_key(const KernelSpecification& specification) {
  ScheduleKey key;
  std::vector<int64_t> values;
  const expression::Program parametric = expression::transform_program_indices(
      specification.program,
      [&](const Index& index, const expression::Stage*) { return make_parameters(index, values); });
  key.kernel_class = expression::content_hash(parametric);
  for (const int64_t value : values) {
    key.parameters += (key.parameters.empty() ? "" : ",") + std::to_string(value);
  }
  const auto add = [&](const std::string& tensor) {
    const auto given = specification.layouts.find(tensor);
    key.layouts += to_string(specification.program.type_of(tensor)) + ' ' +
                   (given == specification.layouts.end() ? "" : to_string(given->second)) + ';';
  };
  for (const auto& input : specification.program.inputs) add(input.name);
  for (const auto& weight : specification.program.weights) add(weight.name);
  for (const std::string& output : specification.program.outputs) add(output);
  key.target = specification.target.key();
  return key;
}

}  // namespace opsmith::schedule
