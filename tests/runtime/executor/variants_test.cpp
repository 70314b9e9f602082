#include <algorithm>

#include "models.h"
#include "runtime/schedule/choice.h"
#include "support/error.h"

// Which program a convolution runs as: by rule, by measurement, and where that is forbidden.

namespace opsmith::testing {
namespace {

using executor::Session;
using executor::SessionOptions;
using graph::ValueId;
using schedule::ScheduleDatabase;
using schedule::ScheduleLibrary;

/// Two convolutions with padding, a residual and an activation, of shapes that Winograd suits.
graph::Model residual_model(ModelMaker& m) {
  const ValueId first = m.node("Relu", {m.convolution(m.x, 64, 64, 3)});
  const ValueId second = m.convolution(first, 64, 64, 3);
  return m.finish({m.node("Relu", {m.node("Add", {second, m.x})})});
}

std::vector<std::string> variants(const Session& session, const Tensor& x) {
  std::vector<std::string> names;
  for (const executor::StepProfile& step : session.profile({{"x", x}})) {
    if (step.multiply_accumulates > 0) names.push_back(step.variant);
  }
  return names;
}

bool all_begin_with(const std::vector<std::string>& names, const std::string& start) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(start);
  });
}

TEST(Variants, RuleTakesWinogradAndExactForbidsIt) {
  ModelMaker m({2, 64, 18, 15});
  const graph::Model model = residual_model(m);
  const Tensor x = random_tensor(m.random(), {2, 64, 18, 15});
  const Tensor expected = executor::run_reference(model, {{"x", x}}).begin()->second;
  const auto run = [&](const SessionOptions& options, const std::string& variant, double error) {
    const Session session(model, shared_compiler(), options);
    const std::vector<std::string> names = variants(session, x);
    EXPECT_TRUE(all_begin_with(names, variant)) << names.at(0);
    EXPECT_LT(relative_error(session.run({{"x", x}}).begin()->second, expected), error);
    return session.weight_bytes();
  };
  SessionOptions options;
  options.threads = 2;
  const int64_t winograd = run(options, "winograd4", 1e-4);
  options.exact = true;
  EXPECT_LT(run(options, "direct", 1e-6), winograd);
  options.exact = false;
  options.low_memory = true;
  EXPECT_LT(run(options, "direct", 1e-6), winograd);
}

TEST(Variants, PreparedWeightsAreSharedByPlans) {
  ModelMaker m({1, 64, 16, 16});
  const Session session(residual_model(m), shared_compiler());
  session.run({{"x", random_tensor(m.random(), {1, 64, 16, 16})}});
  const int64_t once = session.weight_bytes();
  session.run({{"x", random_tensor(m.random(), {1, 64, 16, 16})}});
  EXPECT_EQ(session.weight_bytes(), once);
}

/// What a session asks for: notes the last convolution and its layouts.
class Recorder : public schedule::KernelProvider {
 public:
  std::shared_ptr<const compiler::LoadedKernel> kernel(
      const schedule::KernelSpecification& specification) override {
    last = specification;
    return shared_compiler()->kernel(specification);
  }
  schedule::KernelSpecification last;
};

struct Measured {
  graph::Model model;
  Tensor x, expected;
  schedule::ScheduleKey key;
  schedule::KernelSpecification direct;
};

Measured one_convolution() {
  ModelMaker m({1, 32, 9, 9});
  Measured result;
  result.model = m.finish({m.convolution(m.x, 32, 32, 3)});
  result.x = random_tensor(m.random(), {1, 32, 9, 9});
  result.expected = executor::run_reference(result.model, {{"x", result.x}}).begin()->second;
  const auto recorder = std::make_shared<Recorder>();
  SessionOptions options;
  options.low_memory = true;
  Session(result.model, recorder, options).run({{"x", result.x}});
  result.direct = recorder->last;
  std::map<std::string, schedule::Layout> data = result.direct.layouts;
  for (const auto& weight : result.direct.program.weights) data.erase(weight.name);
  result.key = schedule::kernel_key(result.direct.program, data, result.direct.target);
  return result;
}

TEST(Variants, AMeasuredScheduleIsTaken) {
  const Measured measured = one_convolution();
  const auto database = std::make_shared<ScheduleDatabase>(":memory:");
  schedule::VariantSchedule schedule;
  schedule.schedule = measured.direct.schedule;
  for (const auto& weight : measured.direct.program.weights) {
    const auto layout = measured.direct.layouts.find(weight.name);
    if (layout != measured.direct.layouts.end()) schedule.weights[weight.name] = layout->second;
  }
  database->add(measured.key, {"direct", joined(schedule), 1e-6, "test", "0"});
  database->add(measured.key, {"no such variant", {}, 1e-9, "test", "0"});
  SessionOptions options;
  options.low_memory = true;
  options.schedules = std::make_shared<ScheduleLibrary>(database, nullptr);
  const Session session(measured.model, shared_compiler(), options);
  EXPECT_NE(variants(session, measured.x).at(0).find("(tuned)"), std::string::npos);
  EXPECT_LT(relative_error(session.run({{"x", measured.x}}).begin()->second, measured.expected),
            1e-6);
}

TEST(Variants, AScheduleThatDoesNotFitIsSkipped) {
  const Measured measured = one_convolution();
  const auto database = std::make_shared<ScheduleDatabase>(":memory:");
  schedule::Schedule wrong;
  wrong.directives = {{"split", "no such stage", {"a", "b", "c"}, 2, ""}};
  database->add(measured.key, {"direct", wrong, 1e-6, "test", "0"});
  wrong.directives = {{"pack", "", {"no such weight"}, 0, "0,1"}};
  database->add(measured.key, {"direct", wrong, 1e-7, "test", "0"});
  SessionOptions options;
  options.low_memory = true;
  options.schedules = std::make_shared<ScheduleLibrary>(nullptr, database);
  const Session session(measured.model, shared_compiler(), options);
  EXPECT_EQ(variants(session, measured.x).at(0).find("(tuned)"), std::string::npos);
  EXPECT_LT(relative_error(session.run({{"x", measured.x}}).begin()->second, measured.expected),
            1e-6);
}

}  // namespace
}  // namespace opsmith::testing
