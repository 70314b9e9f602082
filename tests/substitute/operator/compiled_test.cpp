#include <gtest/gtest.h>

#include "substitute/operator/candidate.h"
#include "substitute/operator/layer.h"
#include "tests/runtime/compiler/compiled.h"
#include "tests/substitute/operator/layers.h"

namespace opsmith::substitute {
namespace {

/// Every candidate's program, compiled with the default schedule, against the interpreter.
void check_compiled(const LayerShape& layer, const expression::Binding& sizes) {
  const schedule::Target target = schedule::detect_target("native", 1);
  for (const Candidate& candidate : catalogue(layer)) {
    SCOPED_TRACE(candidate.name + " for " + to_string(layer));
    schedule::KernelSpecification specification;
    specification.program = expression::instantiate(candidate.program, sizes);
    specification.target = target;
    specification.schedule = schedule::default_schedule(specification.program, {}, target);
    compiler::testing::expect_like_interpreter(specification, 1e-5, 1);
  }
}

TEST(CompiledOperators, AgreeWithTheInterpreterOnAwkwardLayers) {
  for (const LayerShape& layer : testing::awkward_layers())
    check_compiled(layer, {{"N", 2}, {"H", layer.height}, {"W", layer.width}});
}

TEST(CompiledOperators, AgreeWithTheInterpreterOnProducts) {
  check_compiled(testing::product(20, 12), {{"M", 3}});
}

}  // namespace
}  // namespace opsmith::substitute
