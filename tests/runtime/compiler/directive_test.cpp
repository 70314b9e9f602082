#include "compiled.h"
#include "runtime/compiler/loop_nest.h"
#include "support/error.h"

// Directives: right on shapes that they do not divide, and refused with a reason where they do
// not fit.

namespace opsmith::compiler::testing {
namespace {

using schedule::Directive;

schedule::KernelSpecification matrix_product(std::vector<Directive> directives) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(R"(
program mm(x: f32[7, 19]; w: f32[19, 37]) -> z
  z: f32[m: 7, n: 37] = sum[f32](k: 19) x[m, k] * w[k, n] epilogue _ * 2)");
  specification.target = schedule::detect_target();
  specification.schedule.directives = std::move(directives);
  return specification;
}

TEST(Directive, SplitsWithRestsEverywhere) {
  expect_like_interpreter(matrix_product({
      {"split", "z", {"n", "no", "ni"}, 16, ""},
      {"split", "z", {"m", "mo", "mi"}, 4, ""},
      {"split", "z", {"k", "ko", "ki"}, 8, ""},
      {"split", "z", {"ki", "kio", "kii"}, 3, ""},
      {"reorder", "z", {"mo", "no", "ko", "kio", "kii", "mi", "ni"}, 0, ""},
      {"parallel", "z", {"mo", "no"}, 0, ""},
      {"unroll", "z", {"kii"}, 0, ""},
      {"tile", "z", {"mi"}, 0, ""},
      {"vectorize", "z", {"ni"}, 0, ""},
  }));
}

TEST(Directive, NestedSplitOfAVectorTile) {
  expect_like_interpreter(matrix_product({
      {"split", "z", {"n", "no", "ni"}, 32, ""},
      {"split", "z", {"ni", "nt", "nv"}, 16, ""},
      {"reorder", "z", {"no", "m", "k", "nt", "nv"}, 0, ""},
      {"tile", "z", {"nt"}, 0, ""},
      {"vectorize", "z", {"nv"}, 0, ""},
  }));
}

TEST(Directive, VectorizedReductionWithPartialSums) {
  expect_like_interpreter(matrix_product({
      {"split", "z", {"k", "ko", "ki"}, 8, ""},
      {"split", "z", {"ki", "kt", "kv"}, 4, ""},
      {"tile", "z", {"kt"}, 0, ""},
      {"vectorize", "z", {"kv"}, 0, ""},
  }));
}

TEST(Directive, FusedAxes) {
  expect_like_interpreter(matrix_product({
      {"fuse", "z", {"m", "n"}, 0, "mn"},
      {"split", "z", {"mn", "mno", "mni"}, 8, ""},
      {"reorder", "z", {"mno", "k", "mni"}, 0, ""},
      {"vectorize", "z", {"mni"}, 0, ""},
  }));
}

TEST(Directive, PackIntoABlockedCopy) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(R"(
program conv(x: f32[1, 20, 6, 7]; w: f32[9, 20, 3, 3]) -> z
  z: f32[n: 1, o: 9, h: 6, v: 7] = sum[f32](c: 20, a: 3, b: 3) x[n, c, h + a - 1, v + b - 1] * w[o, c, a, b])");
  specification.target = schedule::detect_target();
  specification.schedule.directives = {
      {"pack", "z", {"x", "x.packed"}, 0, "0,1,2,3,1/16 halo 2:1:1,3:1:1"}};
  expect_like_interpreter(specification);
}

TEST(Directive, StoreBetweenStagesWithHalo) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(R"(
program two(x: f32[2, 5, 9];) -> z
  y: f32[n: 2, c: 5, w: 9] = x[n, c, w] + 1
  z: f32[n: 2, c: 5, w: 9] = sum[f32](a: 3) y[n, c, w + a - 1])");
  specification.target = schedule::detect_target();
  specification.schedule.directives = {{"store", "y", {}, 0, "0,1,2,1/4 halo 2:1:1"}};
  expect_like_interpreter(specification);
}

void expect_refused(std::vector<Directive> directives, const std::string& reason) {
  const schedule::KernelSpecification specification = matrix_product(std::move(directives));
  try {
    apply(specification.program, specification.schedule, specification.layouts);
    ADD_FAILURE() << "was not refused: " << reason;
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(Directive, MisuseIsRefusedWithAReason) {
  expect_refused({{"turn", "z", {"m"}, 0, ""}}, "no such directive");
  expect_refused({{"split", "q", {"m", "a", "b"}, 2, ""}}, "no such stage");
  expect_refused({{"split", "z", {"q", "a", "b"}, 2, ""}}, "no loop 'q'");
  expect_refused({{"split", "z", {"m", "a"}, 2, ""}}, "two new names");
  expect_refused({{"split", "z", {"m", "a", "n"}, 2, ""}}, "taken");
  expect_refused({{"split", "z", {"m", "a", "b"}, 0, ""}}, "factor");
  expect_refused({{"split", "z", {"m", "a", "b"}, 2, ""}, {"split", "z", {"a", "c", "d"}, 2, ""}},
                 "rest");
  expect_refused({{"split", "z", {"m", "a", "b"}, 2, ""}, {"reorder", "z", {"b", "a"}, 0, ""}},
                 "makes it shorter");
  expect_refused({{"reorder", "z", {"m", "m"}, 0, ""}}, "twice");
  expect_refused({{"reorder", "z", {"k", "n"}, 0, ""}}, "inside a reduction loop");
  expect_refused({{"fuse", "z", {"n", "m"}, 0, "f"}}, "does not follow");
  expect_refused({{"fuse", "z", {"n", "k"}, 0, "f"}}, "reduction");
  expect_refused({{"parallel", "z", {"k"}, 0, ""}}, "reduction axis");
  expect_refused({{"parallel", "z", {"n"}, 0, ""}}, "not parallel");
  expect_refused({{"unroll", "z", {"m"}, 0, ""}}, "use tile");
  expect_refused({{"vectorize", "z", {"m"}, 0, ""}, {"vectorize", "z", {"n"}, 0, ""}}, "already");
  expect_refused({{"tile", "z", {"m", "n"}, 0, ""}}, "points");
  expect_refused({{"store", "z", {}, 0, "0,1"}}, "output");
  expect_refused({{"pack", "z", {"q", "p"}, 0, "0,1"}}, "does not read");
}

}  // namespace
}  // namespace opsmith::compiler::testing
