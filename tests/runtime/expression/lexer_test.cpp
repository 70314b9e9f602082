#include "runtime/expression/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/support/temporary_folder.h"

namespace opsmith::expression::text {
namespace {

using ::testing::HasSubstr;
using Kind = Token::Kind;

std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> found;
  for (const Token& token : tokenize(text)) found.push_back(token.text);
  return found;
}

TEST(Lexer, CutsTokensOfEveryKind) {
  const std::string text = "f32 x.y'1 \"a \\\"b\\\\\\n\" 12 0.5e-3 -> - > (";
  // '>' alone is no token.
  EXPECT_THROW(tokenize(text), UserError);
  const auto tokens = tokenize("f32 x.y'1 \"a \\\"b\\\\\\n\" 12 0.5e-3 -> - (");
  const std::vector<std::pair<Kind, std::string>> expected = {
      {Kind::Name, "f32"},  {Kind::Name, "x.y'1"},    {Kind::QuotedName, "a \"b\\\n"},
      {Kind::Number, "12"}, {Kind::Number, "0.5e-3"}, {Kind::Sign, "->"},
      {Kind::Sign, "-"},    {Kind::Sign, "("},        {Kind::End, ""}};
  ASSERT_EQ(tokens.size(), expected.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens[i].kind, expected[i].first) << i;
    EXPECT_EQ(tokens[i].text, expected[i].second) << i;
  }
}

TEST(Lexer, OffsetsPointIntoTheText) {
  const std::string text = "  ab # note (1)\n\tc+12.5->d\r\n";
  for (const Token& token : tokenize(text)) {
    EXPECT_EQ(text.substr(token.offset, token.text.size()), token.text);
  }
  EXPECT_EQ(texts(text), (std::vector<std::string>{"ab", "c", "+", "12.5", "->", "d", ""}));
  EXPECT_EQ(tokenize(text).back().offset, text.size());
}

TEST(Lexer, NothingIsOneEnd) {
  for (const char* text : {"", "   ", "# only a comment", "#\n"}) {
    const auto tokens = tokenize(text);
    ASSERT_EQ(tokens.size(), 1U) << text;
    EXPECT_EQ(tokens[0].kind, Kind::End);
  }
}

TEST(Lexer, NumbersEndWhereTheyMust) {
  EXPECT_EQ(texts("1e5"), (std::vector<std::string>{"1e5", ""}));
  EXPECT_EQ(texts("1e+"), (std::vector<std::string>{"1", "e", "+", ""}));
  EXPECT_EQ(texts("3x"), (std::vector<std::string>{"3", "x", ""}));
  EXPECT_EQ(texts("1-2"), (std::vector<std::string>{"1", "-", "2", ""}));
}

TEST(Token, IsAWordOnlyWithoutQuotes) {
  EXPECT_TRUE(tokenize("sum")[0].is("sum"));
  EXPECT_FALSE(tokenize("\"sum\"")[0].is("sum"));
  EXPECT_FALSE(tokenize("12")[0].is("12"));
  EXPECT_FALSE(tokenize("")[0].is(""));
  EXPECT_TRUE(tokenize("->")[0].is("->"));
}

TEST(Lexer, SaysWhereItsFaultsAre) {
  const auto error = [](const std::string& text) {
    return opsmith::testing::user_error([&] { tokenize(text); });
  };
  EXPECT_THAT(error("a b\n  c ?"), HasSubstr("program text, line 2, column 5"));
  EXPECT_THAT(error("?"), HasSubstr("line 1, column 1"));
  EXPECT_THAT(error("a \"never closed"), HasSubstr("line 1, column 3"));
  EXPECT_THAT(error("\"ends in a backslash\\"), HasSubstr("never closed"));
  EXPECT_NE(error(std::string("a\0b", 3)), "");
  EXPECT_NE(error("\xc3\xa4"), "");
  const auto told = [](const std::string& text, size_t offset) {
    return opsmith::testing::user_error([&] { fail_at(text, offset, "why"); });
  };
  EXPECT_EQ(told("ab\ncd", 3), "program text, line 2, column 1: why");
  EXPECT_EQ(told("ab\ncd", 2), "program text, line 1, column 3: why");
  EXPECT_EQ(told("ab\ncd", 99), "program text, line 2, column 3: why");
  EXPECT_EQ(told("", 0), "program text, line 1, column 1: why");
}

}  // namespace
}  // namespace opsmith::expression::text
