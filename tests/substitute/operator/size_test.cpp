#include "substitute/operator/size.h"

#include <gtest/gtest.h>

#include "support/error.h"

namespace opsmith::substitute {
namespace {

TEST(Size, MultipliesAndDividesExactly) {
  const Size channels = Size::variable("C_in"), groups = Size::variable("g");
  EXPECT_EQ(channels / groups * groups, channels);
  EXPECT_EQ(Size(6) / Size(4), Size(3) / Size(2));
  EXPECT_TRUE((channels / channels).is_constant(1));
  EXPECT_EQ((channels * Size::variable("k", 2)).power("k"), 2);
}

TEST(Size, TellsKindsByName) {
  EXPECT_EQ(variable_kind("C_in"), VariableKind::Primary);
  EXPECT_EQ(variable_kind("stride"), VariableKind::Coefficient);
  EXPECT_EQ(variable_kind("x_12"), VariableKind::Dynamic);
  EXPECT_EQ(variable_kind("x_"), VariableKind::Coefficient);
}

TEST(Size, OnlyCoefficientsMayDivide) {
  EXPECT_TRUE(parse_size("H/s").is_legal());
  EXPECT_FALSE(parse_size("s/H").is_legal());
  EXPECT_FALSE(parse_size("C_in/x_1").is_legal());
  EXPECT_FALSE(divide(parse_size("k"), parse_size("C_out")).has_value());
  EXPECT_EQ(*divide(parse_size("C_in*k"), parse_size("k*g")), parse_size("C_in/g"));
}

TEST(Size, EvaluatesOnlyWholeNumbers) {
  const Size size = parse_size("C_out/(g*s)");
  EXPECT_EQ(size.evaluate({{"C_out", 128}, {"g", 32}, {"s", 2}}), 2);
  EXPECT_EQ(size.evaluate({{"C_out", 32}, {"g", 32}, {"s", 2}}), std::nullopt);
  EXPECT_THROW(size.evaluate({{"C_out", 32}}), UserError);
  // 2/3 * 3 is whole although 2/3 is not.
  EXPECT_EQ((Size(2) / Size(3) * Size::variable("k")).evaluate({{"k", 3}}), 2);
}

TEST(Size, BecomesAnIndexOverOpenSymbols) {
  using expression::Index;
  const Size size = parse_size("C_in*H/(2*s)");
  const Index index =
      size.to_index({{"C_in", Index(6)}, {"H", Index::symbol("H")}, {"s", Index(3)}});
  EXPECT_EQ(expression::to_string(index), "H");
  EXPECT_EQ(
      expression::evaluate(parse_size("H/s").to_index({{"H", Index::symbol("H")}, {"s", Index(2)}}),
                           {{"H", 56}}),
      28);
  EXPECT_THROW(parse_size("C_in/g").to_index({{"C_in", Index(6)}, {"g", Index(4)}}), UserError);
}

TEST(Size, TextSurvivesARoundTrip) {
  for (const char* text : {"1", "12", "C_in", "1/2", "C_in/g", "2*C_in*k^2/(3*g*s^3)", "kh*x_1"}) {
    EXPECT_EQ(to_string(parse_size(text)), text);
  }
  EXPECT_EQ(to_string(parse_size("(H*s)/s")), "H");
}

TEST(Size, RejectsWhatIsNoSize) {
  for (const char* text : {"", "C_in +", "0", "C_in/0", "k^", "C_in g", "(k", "k^99"})
    EXPECT_THROW(parse_size(text), UserError) << text;
  EXPECT_THROW(Size(0), UserError);
  EXPECT_THROW(Size(int64_t{1} << 40) * Size(int64_t{1} << 40), UserError);
}

}  // namespace
}  // namespace opsmith::substitute
