#include "search/tuning/tune.h"

#include <gtest/gtest.h>

#include "runtime/compiler/compiler.h"
#include "runtime/expression/canonical.h"
#include "runtime/expression/interpreter.h"
#include "search/tuning/candidate.h"
#include "tests/runtime/executor/models.h"

// The space of schedules, and the search with its database. No time is asserted.

namespace opsmith::search {
namespace {

using executor::Session;
using executor::SessionOptions;
using executor::Tensors;
using opsmith::testing::ModelMaker;
using opsmith::testing::random_tensor;
using opsmith::testing::shared_compiler;

/// Seconds in which a few schedules are compiled and measured, on a busy machine and sanitized too.
constexpr double kEnough = 4;

graph::Model small_model(ModelMaker& m) {
  const graph::ValueId conv = m.convolution(m.x, 16, 24, 3);
  return m.finish({m.convolution(m.node("Relu", {conv}), 24, 16, 1)});
}

TEST(Tuning, EveryPointOfTheSpaceComputesTheKernel) {
  ModelMaker m({1, 16, 7, 9});
  const graph::Model model = small_model(m);
  const Tensor x = random_tensor(m.random(), {1, 16, 7, 9});
  const Tensor expected = executor::run_reference(model, {{"x", x}}).begin()->second;
  const schedule::Target target = schedule::detect_target("native", 2);
  SessionOptions options;
  options.threads = 2;
  const auto profile = Session(model, shared_compiler(), options).profile({{"x", x}});
  Random random(3);
  int tried = 0;
  for (int round = 0; round < 8; ++round) {
    // One schedule for each kernel, wherever a walk has come to.
    const auto database = std::make_shared<schedule::ScheduleDatabase>(":memory:");
    for (const executor::StepProfile& step : profile) {
      if (!step.problem) continue;
      const auto starts = starting_points(*step.problem, target, {});
      TuningPoint point = starts.at(static_cast<size_t>(round) % starts.size());
      for (int i = 0; i < round; ++i) point = neighbour(point, *step.problem, target, random);
      const auto choice = choice_at(point, *step.problem, target);
      ASSERT_TRUE(choice.has_value());
      database->add(schedule::kernel_key(step.problem->program, step.problem->layouts, target),
                    {choice->variant.name, joined(choice->schedule), 1e-9, "test", "0"});
      ++tried;
    }
    options.schedules = std::make_shared<schedule::ScheduleLibrary>(database, nullptr);
    const Session session(model, shared_compiler(), options);
    EXPECT_LT(relative_error(session.run({{"x", x}}).begin()->second, expected), 1e-4);
  }
  EXPECT_GE(tried, 16);
}

TEST(Tuning, MeasurementsAreKeptAndNotRepeated) {
  ModelMaker m({1, 16, 6, 6});
  const graph::Model model = small_model(m);
  const Tensors inputs = {{"x", random_tensor(m.random(), {1, 16, 6, 6})}};
  schedule::ScheduleDatabase database(":memory:");
  TuneOptions options;
  options.seconds = kEnough;
  const auto first = tune(model, inputs, shared_compiler(), database, options);
  ASSERT_FALSE(first.empty());
  const int64_t rows = database.size();
  EXPECT_GT(rows, 2);
  for (const TunedKernel& kernel : first) {
    EXPECT_GT(kernel.seconds_before, 0);
    EXPECT_LE(kernel.seconds_after, kernel.seconds_before);
  }
  options.seconds = 1e-9;  // over before it begins: nothing is measured, nothing is lost
  EXPECT_TRUE(tune(model, inputs, shared_compiler(), database, options).empty());
  EXPECT_EQ(database.size(), rows);
  options.seconds = kEnough;
  const auto second = tune(model, inputs, shared_compiler(), database, options);
  EXPECT_GE(database.size(), rows);
  EXPECT_DOUBLE_EQ(second.at(0).seconds_before, first.at(0).seconds_before);
}

TEST(Tuning, ASessionTakesWhatWasTuned) {
  ModelMaker m({1, 16, 6, 6});
  const graph::Model model = small_model(m);
  const Tensors inputs = {{"x", random_tensor(m.random(), {1, 16, 6, 6})}};
  const auto database = std::make_shared<schedule::ScheduleDatabase>(":memory:");
  TuneOptions tuning;
  tuning.seconds = kEnough;
  tune(model, inputs, shared_compiler(), *database, tuning);
  SessionOptions options;
  options.schedules = std::make_shared<schedule::ScheduleLibrary>(database, nullptr);
  const Session session(model, shared_compiler(), options);
  int64_t tuned = 0;
  for (const executor::StepProfile& step : session.profile(inputs)) {
    tuned += step.variant.ends_with("(tuned)") ? 1 : 0;
  }
  EXPECT_GT(tuned, 0);
  EXPECT_LT(relative_error(session.run(inputs).begin()->second,
                           executor::run_reference(model, inputs).begin()->second),
            1e-4);
}

}  // namespace
}  // namespace opsmith::search
