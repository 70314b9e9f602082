// Any text as a schedule (JSON) or a layout: parsing refuses or gives what prints and reads back
// the same; applying a schedule to a program refuses or gives a loop nest.

#include "runtime/compiler/loop_nest.h"
#include "runtime/schedule/layout.h"
#include "runtime/schedule/schedule.h"
#include "tests/fuzz/target.h"

using namespace opsmith;  // NOLINT: one target, one file

namespace {

constexpr const char* kProgram = R"(
program conv(x: f32[1, 20, 6, 7]; w: f32[9, 20, 3, 3]) -> z
  y: f32[n: 1, o: 9, h: 6, v: 7] = sum[f32](c: 20, a: 3, b: 3) x[n, c, h + a - 1, v + b - 1] * w[o, c, a, b]
  z: f32[n: 1, o: 9, h: 6, v: 7] = maximum(y[n, o, h, v], 0))";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const expression::Program program = expression::parse(kProgram);
  const std::string text(reinterpret_cast<const char*>(data), size);
  schedule::Schedule schedule;
  if (fuzz::accepts([&] { schedule = schedule::schedule_from_json(text); })) {
    const std::string printed = schedule::to_json(schedule);
    if (schedule::to_json(schedule::schedule_from_json(printed)) != printed) {
      fuzz::broken("this schedule prints otherwise the second time: " + printed);
    }
    fuzz::accepts([&] { compiler::apply(program, schedule, {}); });
  }
  schedule::Layout layout;
  if (fuzz::accepts([&] { layout = schedule::parse_layout(text); })) {
    const std::string printed = schedule::to_string(layout);
    if (schedule::to_string(schedule::parse_layout(printed)) != printed) {
      fuzz::broken("this layout prints otherwise the second time: " + printed);
    }
  }
  return 0;
}
