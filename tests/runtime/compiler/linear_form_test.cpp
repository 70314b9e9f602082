#include "runtime/compiler/linear_form.h"

#include <gtest/gtest.h>

namespace opsmith::compiler {
namespace {

TEST(LinearForm, BlocksFoldAway) {
  Atoms atoms;
  const LinearForm outer = atoms.loop({0, 10});
  const LinearForm inner = atoms.loop({0, 16});
  const LinearForm whole = outer * 16 + inner;
  EXPECT_EQ(atoms.quotient(whole, 16), outer);
  EXPECT_EQ(atoms.remainder(whole, 16), inner);
  EXPECT_EQ(atoms.quotient(whole * 2, 32), outer);
  EXPECT_EQ(atoms.quotient(whole + 16, 16), outer + 1);
}

TEST(LinearForm, QuotientAndRemainderJoinAgain) {
  Atoms atoms;
  const LinearForm fused = atoms.loop({0, 77});
  const LinearForm row = atoms.quotient(fused, 7);
  const LinearForm column = atoms.remainder(fused, 7);
  EXPECT_EQ(atoms.recombine(row * 7 + column), fused);
  EXPECT_EQ(atoms.recombine(row * 70 + column * 10 + 3), fused * 10 + 3);
  EXPECT_NE(atoms.recombine(row * 9 + column), fused);
}

TEST(LinearForm, NestedQuotientsBecomeOne) {
  Atoms atoms;
  const LinearForm i = atoms.loop({0, 1000});
  EXPECT_EQ(atoms.quotient(atoms.quotient(i, 5), 7), atoms.quotient(i, 35));
}

TEST(LinearForm, RangesAndNegativeNumbers) {
  Atoms atoms;
  const LinearForm i = atoms.loop({0, 5});
  const expression::Range range = atoms.range(i * -2 + 1);
  EXPECT_EQ(range.begin, -7);
  EXPECT_EQ(range.end, 2);
  EXPECT_EQ(atoms.quotient(LinearForm(-1), 4), LinearForm(-1));
  EXPECT_EQ(atoms.remainder(LinearForm(-1), 4), LinearForm(3));
  EXPECT_EQ(atoms.remainder(i, 5), i);
}

TEST(LinearForm, ReplaceSimplifiesAgain) {
  Atoms atoms;
  const LinearForm i = atoms.loop({0, 64});
  const LinearForm form = atoms.quotient(i, 8) * 100 + atoms.remainder(i, 8);
  EXPECT_EQ(atoms.replace(form, i.terms[0].atom, 19), LinearForm(203));
  EXPECT_TRUE(atoms.depends(form, i.terms[0].atom));
  EXPECT_EQ(atoms.product(i, LinearForm(3)), i * 3);
}

TEST(LinearForm, LoopsOfOneIterationAreNumbers) {
  Atoms atoms;
  EXPECT_EQ(atoms.loop({0, 1}), LinearForm(0));
  EXPECT_FALSE(atoms.lane(1).is_constant());
}

}  // namespace
}  // namespace opsmith::compiler
