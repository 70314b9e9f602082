#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "substitute/operator/primitive.h"
#include "substitute/operator/region.h"
#include "substitute/operator/size.h"
#include "substitute/operator/text/lexer.h"
#include "tests/support/temporary_folder.h"

namespace opsmith::substitute {
namespace {

using opsmith::testing::user_error;
using ::testing::HasSubstr;

TEST(Primitive, EveryCoordinateIsMadeOnceAndTakenOnce) {
  // One of each kind: what the region took and made is what the primitives say.
  Region region;
  const Coordinate o = region.output("o", Size::variable("C_out"));
  const Coordinate h = region.output("h", Size::variable("H"));
  const Coordinate w = region.output("w", Size::variable("W"));
  const Coordinate forgotten = region.output("e", Size(5));
  const Coordinate c = region.reduce("c", Size::variable("C_in"));
  const Coordinate k = region.reduce("k", Size::variable("k"));
  region.expand(forgotten);
  const auto [outer, inner] = region.merge(o, Size::variable("g"));
  const Coordinate joined = region.split(inner, outer);
  const Coordinate moved = region.shift(h, Amount{1, ""});
  const Coordinate rows = region.unfold(moved, k);
  const Coordinate columns = region.stride(w, Size::variable("s"));
  const auto [first, second] = region.share(c);
  region.read("x", {first, rows, columns});
  region.weight("weight", {joined, second});
  EXPECT_TRUE(region.open().empty());

  std::map<Coordinate, int> made, taken;
  std::vector<std::string> verbs;
  for (const Coordinate coordinate : region.outputs()) ++made[coordinate];
  for (const Primitive& primitive : region.primitives()) {
    for (const Coordinate coordinate : results(primitive)) ++made[coordinate];
    for (const Coordinate coordinate : sources(primitive)) {
      ++taken[coordinate];
      EXPECT_EQ(made[coordinate], 1) << "taken before it is made";
    }
    verbs.push_back(verb(primitive));
  }
  for (const auto* operands : {&region.data(), &region.weights()}) {
    for (const Operand& operand : *operands) {
      for (const Coordinate coordinate : operand.coordinates) ++taken[coordinate];
      EXPECT_EQ(region.shape_of(operand).size(), operand.coordinates.size());
    }
  }
  for (Coordinate i = 0; i < static_cast<Coordinate>(region.coordinates().size()); ++i) {
    EXPECT_EQ(made[i], 1) << region.name(i);
    EXPECT_EQ(taken[i], 1) << region.name(i);
    EXPECT_EQ(region.find(region.name(i)), i) << "names are unique";
  }
  EXPECT_EQ(region.find("nowhere"), -1);
  std::sort(verbs.begin(), verbs.end());
  EXPECT_EQ(verbs, (std::vector<std::string>{"expand", "merge", "reduce", "reduce", "share",
                                             "shift", "split", "stride", "unfold"}));
}

TEST(Operand, HasTheExtentsOfItsCoordinates) {
  Region region;
  const Coordinate o = region.output("o", Size::variable("C_out"));
  const Coordinate w = region.output("w", Size::variable("W"));
  const Coordinate k = region.reduce("k", Size::variable("k"));
  const auto [outer, inner] = region.merge(o, Size::variable("g"));
  region.read("x", {region.split(outer, k), region.stride(w, Size(3)), inner});
  const auto shape = region.shape_of(region.data()[0]);
  ASSERT_EQ(shape.size(), 3U);
  EXPECT_EQ(to_string(shape[0]), to_string(parse_size("C_out*k/g")));
  EXPECT_EQ(to_string(shape[1]), to_string(parse_size("3*W")));
  EXPECT_EQ(to_string(shape[2]), "g");
}

TEST(Amount, IsItsNameOrItsNumber) {
  EXPECT_EQ(to_string(Amount{-3, ""}), "-3");
  EXPECT_EQ(to_string(Amount{0, "pad_top"}), "pad_top");
}

TEST(Lexer, TakesTokensOfEveryKind) {
  text::Lexer lexer("conv-3x3 (k_1 -> 12) # rest (\n x-");
  EXPECT_TRUE(lexer.next_is_word());
  EXPECT_FALSE(lexer.accept("conv"));
  EXPECT_EQ(lexer.dashed_word("a name"), "conv-3x3");
  lexer.expect("(");
  EXPECT_EQ(lexer.word("a word"), "k_1");
  EXPECT_FALSE(lexer.next_is("-")) << "an arrow is one token";
  lexer.expect("->");
  EXPECT_TRUE(lexer.next_is_number());
  EXPECT_EQ(lexer.number(), 12);
  EXPECT_TRUE(lexer.accept(")"));
  EXPECT_EQ(lexer.word("a word"), "x") << "a dash at the end is none of it";
  EXPECT_FALSE(lexer.at_end());
  lexer.expect("-");
  EXPECT_TRUE(lexer.at_end());
  EXPECT_NO_THROW(lexer.expect_end());
  EXPECT_FALSE(lexer.next_is(""));
  EXPECT_FALSE(lexer.accept(""));
}

TEST(Lexer, ComplaintsSayWhereAndWhat) {
  const auto complaint = [](const std::string& text, const auto& work) {
    return user_error([&] {
      text::Lexer lexer(text);
      work(lexer);
    });
  };
  using text::Lexer;
  EXPECT_THAT(complaint("\n  # c\n   7", [](Lexer& l) { l.word("a name"); }),
              HasSubstr("line 3, column 4: expected a name, found '7'"));
  EXPECT_THAT(complaint("", [](Lexer& l) { l.number(); }),
              HasSubstr("line 1, column 1: expected a number, found the end"));
  EXPECT_THAT(complaint("a-b", [](Lexer& l) { l.word("a size"); }), HasSubstr("a size"));
  EXPECT_THAT(complaint("x", [](Lexer& l) { l.expect("("); }), HasSubstr("expected '('"));
  EXPECT_THAT(complaint("x", [](Lexer& l) { l.expect_end(); }), HasSubstr("expected the end"));
  EXPECT_THAT(complaint("9999999999999999999", [](Lexer& l) { l.number(); }),
              HasSubstr("too large"));
  EXPECT_THAT(complaint("?", [](Lexer& l) { l.word("a name"); }), HasSubstr("'?'"));
  EXPECT_NE(complaint("\xff", [](Lexer& l) { l.number(); }), "");
}

TEST(ReadSize, StopsAtTheEndOfTheSize) {
  text::Lexer lexer("2 * C_in / (g * s^2) , rest");
  EXPECT_EQ(text::read_size(lexer), parse_size("2*C_in/g/s/s"));
  EXPECT_TRUE(lexer.accept(","));
}

TEST(ReadSize, RefusesWhatIsNoSize) {
  for (const std::string text : {"", "*", "2*", "(2", "2)", "0", "k^", "k^17", "k^-1", "a-b", "2 3",
                                 "-2", "999999999999999999^2", "1/0"}) {
    EXPECT_NE(user_error([&] { parse_size(text); }), "") << text;
  }
  // Not the stack but the text is at fault.
  const auto nested = [](size_t levels) {
    std::string text(levels, '(');
    text.push_back('k');
    text.append(levels, ')');
    return text;
  };
  EXPECT_THAT(user_error([&] { parse_size(nested(1000000)); }), HasSubstr("nested"));
  EXPECT_EQ(parse_size(nested(50)), Size::variable("k"));
}

}  // namespace
}  // namespace opsmith::substitute
