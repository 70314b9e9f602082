#include "compiled.h"
#include "runtime/compiler/loop_nest.h"
#include "support/error.h"

// Stages computed inside loops of others, against the interpreter; refusals.

namespace opsmith::compiler::testing {
namespace {

using schedule::Directive;

schedule::KernelSpecification specify(const std::string& text, std::vector<Directive> directives) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(text);
  specification.target = schedule::detect_target();
  specification.schedule.directives = std::move(directives);
  return specification;
}

// Neighbouring parts of y overlap and reach beyond it.
const char* const kStencils = R"(
program stencils(x: f32[2, 5, 11, 13];) -> z
  y: f32[n: 2, c: 5, h: 11, w: 13] = sum[f32](a: 3, b: 3) x[n, c, h + a - 1, w + b - 1] epilogue _ * 0.5
  z: f32[n: 2, c: 5, h: 11, w: 13] = sum[f32](a: 3, b: 3) y[n, c, h + a - 1, w + b - 1] epilogue _ + y[n, c, h, w])";

TEST(ComputeAt, OverlappingPartsForEveryBlockOfRows) {
  for (const int64_t rows : {1, 2, 3, 4, 11, 20}) {
    SCOPED_TRACE(rows);
    expect_like_interpreter(specify(kStencils, {
                                                   {"split", "z", {"h", "ho", "hi"}, rows, ""},
                                                   {"parallel", "z", {"n", "c", "ho"}, 0, ""},
                                                   {"compute_at", "y", {"ho"}, 0, "z"},
                                                   {"vectorize", "y", {"w"}, 0, ""},
                                               }));
  }
}

TEST(ComputeAt, BlocksOfTwoAxes) {
  expect_like_interpreter(specify(kStencils, {
                                                 {"split", "z", {"h", "ho", "hi"}, 4, ""},
                                                 {"split", "z", {"w", "wo", "wi"}, 5, ""},
                                                 {"reorder", "z", {"ho", "wo", "hi", "wi"}, 0, ""},
                                                 {"compute_at", "y", {"wo"}, 0, "z"},
                                                 {"split", "y", {"h", "ho", "hi"}, 4, ""},
                                                 {"tile", "y", {"hi"}, 0, ""},
                                                 {"vectorize", "y", {"w"}, 0, ""},
                                             }));
}

TEST(ComputeAt, InsideAStageThatIsInsideAnother) {
  const std::string text = R"(
program chain(x: f32[3, 17, 40];) -> z
  u: f32[n: 3, t: 17, c: 40] = x[n, t, c] * 2
  v: f32[n: 3, t: 17, c: 40] = u[n, t, c] + u[n, t, 39 - c]
  w: f32[n: 3, t: 17] = sum[f32](c: 40) v[n, t, c]
  z: f32[n: 3, t: 17] = w[n, t] + v[n, t, 3])";
  for (const int64_t factor : {1, 4, 6}) {
    SCOPED_TRACE(factor);
    expect_like_interpreter(specify(text, {
                                              {"split", "z", {"t", "to", "ti"}, factor, ""},
                                              {"parallel", "z", {"n", "to"}, 0, ""},
                                              {"compute_at", "w", {"ti"}, 0, "z"},
                                              {"compute_at", "v", {"to"}, 0, "z"},
                                              {"store", "v", {}, 0, "0,2,1,2/16"},
                                              {"split", "v", {"c", "co", "ci"}, 16, ""},
                                              {"compute_at", "u", {"t"}, 0, "v"},
                                              {"vectorize", "v", {"ci"}, 0, ""},
                                          }));
  }
}

TEST(ComputeAt, QuotientsOfTheLoopsDecideThePart) {
  const std::string text = R"(
program upsample(x: f32[7, 21];) -> z
  y: f32[h: 7, w: 21] = x[h, w] * 3
  z: f32[h: 14, w: 63] = y[h/2, w/3] + position(h mod 2))";
  for (const int64_t rows : {1, 2, 4, 6}) {
    SCOPED_TRACE(rows);
    expect_like_interpreter(specify(text, {
                                              {"split", "z", {"h", "ho", "hi"}, rows, ""},
                                              {"compute_at", "y", {"ho"}, 0, "z"},
                                          }));
  }
}

void expect_refused(std::vector<Directive> directives, const std::string& reason) {
  const schedule::KernelSpecification specification = specify(kStencils, std::move(directives));
  try {
    apply(specification.program, specification.schedule, specification.layouts);
    ADD_FAILURE() << "was not refused: " << reason;
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(ComputeAt, MisuseIsRefusedWithAReason) {
  expect_refused({{"compute_at", "y", {}, 0, "z"}}, "one loop");
  expect_refused({{"compute_at", "y", {"h"}, 0, "q"}}, "no other stage");
  expect_refused({{"compute_at", "y", {"h"}, 0, "y"}}, "no other stage");
  expect_refused({{"compute_at", "z", {"h"}, 0, "y"}}, "output");
  expect_refused({{"compute_at", "y", {"q"}, 0, "z"}}, "no loop 'q'");
  expect_refused({{"compute_at", "y", {"a"}, 0, "z"}}, "not outside the reductions");
  expect_refused({{"compute_at", "y", {"h"}, 0, "z"}, {"compute_at", "y", {"w"}, 0, "z"}},
                 "already");
  expect_refused({{"split", "y", {"h", "o", "i"}, 2, ""}, {"compute_at", "y", {"h"}, 0, "z"}},
                 "split already");
  expect_refused({{"compute_at", "y", {"h"}, 0, "z"}, {"parallel", "y", {"n"}, 0, ""}}, "parallel");
  expect_refused({{"store", "y", {}, 0, "0,1,2,3 halo 2:1:1"}, {"compute_at", "y", {"h"}, 0, "z"}},
                 "halo");
}

TEST(ComputeAt, AnotherReaderOutsideIsRefused) {
  const schedule::KernelSpecification specification = specify(R"(
program fork(x: f32[4];) -> z
  y: f32[i: 4] = x[i] * 2
  v: f32[i: 4] = y[i] + 1
  z: f32[i: 4] = y[i] + v[3 - i])",
                                                              {{"compute_at", "y", {"i"}, 0, "z"}});
  EXPECT_THROW(apply(specification.program, specification.schedule, specification.layouts),
               UserError);
}

}  // namespace
}  // namespace opsmith::compiler::testing
