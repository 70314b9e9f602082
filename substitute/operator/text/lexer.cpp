#include "substitute/operator/text/lexer.h"

#include <cctype>

#include "support/error.h"

namespace opsmith::substitute::text {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

Lexer::Lexer(const std::string& text) {
  int line = 1;
  size_t line_start = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      line_start = ++i;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
      continue;
    }
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      continue;
    }
    Token token;
    token.line = line;
    token.column = static_cast<int>(i - line_start) + 1;
    const size_t begin = i;
    if (is_letter(c)) {
      token.kind = Kind::Word;
      while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]) ||
                                 (text[i] == '-' && i + 1 < text.size() &&
                                  (is_letter(text[i + 1]) || is_digit(text[i + 1])))))
        ++i;
    } else if (is_digit(c)) {
      token.kind = Kind::Number;
      while (i < text.size() && is_digit(text[i])) ++i;
    } else {
      token.kind = Kind::Punctuation;
      i += text.compare(i, 2, "->") == 0 ? 2 : 1;
    }
    token.text = text.substr(begin, i - begin);
    tokens_.push_back(std::move(token));
  }
  Token end;
  end.line = line;
  end.column = static_cast<int>(text.size() - line_start) + 1;
  tokens_.push_back(std::move(end));
}

bool Lexer::next_is(const std::string& token) const {
  return !at_end() && tokens_[position_].text == token;
}

bool Lexer::accept(const std::string& token) {
  if (!next_is(token)) return false;
  ++position_;
  return true;
}

void Lexer::expect(const std::string& token) {
  if (!accept(token)) fail("expected '" + token + "'");
}

void Lexer::expect_end() const {
  if (!at_end()) fail("expected the end");
}

std::string Lexer::word(const std::string& what) {
  if (next_is_word() && tokens_[position_].text.find('-') != std::string::npos)
    fail("'-' may not stand in " + what);
  return dashed_word(what);
}

std::string Lexer::dashed_word(const std::string& what) {
  if (!next_is_word()) fail("expected " + what);
  return tokens_[position_++].text;
}

int64_t Lexer::number() {
  if (!next_is_number()) fail("expected a number");
  if (tokens_[position_].text.size() > 18) fail("this number is too large");
  return std::stoll(tokens_[position_++].text);
}

void Lexer::fail(const std::string& complaint) const {
  const Token& token = tokens_[position_];
  throw UserError("operator text, line " + std::to_string(token.line) + ", column " +
                  std::to_string(token.column) + ": " + complaint + ", found " +
                  (token.kind == Kind::End ? "the end" : "'" + token.text + "'"));
}

namespace {

/// Levels of parentheses: more are no size but an attack on the stack.
constexpr int kMaximumNesting = 100;

Size read_product(Lexer& lexer, int depth);

Size read_factor(Lexer& lexer, int depth) {
  if (lexer.accept("(")) {
    if (depth == kMaximumNesting) lexer.fail("parentheses are nested too deeply");
    Size size = read_product(lexer, depth + 1);
    lexer.expect(")");
    return size;
  }
  Size base;
  if (lexer.next_is_number()) {
    const int64_t value = lexer.number();
    if (value == 0) lexer.fail("a size cannot be zero");
    base = Size(value);
  } else {
    base = Size::variable(lexer.word("a size"));
  }
  if (!lexer.accept("^")) return base;
  const int64_t power = lexer.number();
  if (power > 16) lexer.fail("a power above 16 is surely a mistake");
  Size result;
  for (int64_t i = 0; i < power; ++i) result = result * base;
  return result;
}

Size read_product(Lexer& lexer, int depth) {
  Size size = read_factor(lexer, depth);
  for (;;) {
    if (lexer.accept("*"))
      size = size * read_factor(lexer, depth);
    else if (lexer.accept("/"))
      size = size / read_factor(lexer, depth);
    else
      return size;
  }
}

}  // namespace

Size read_size(Lexer& lexer) { return read_product(lexer, 0); }

}  // namespace opsmith::substitute::text
