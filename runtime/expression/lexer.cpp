#include "runtime/expression/lexer.h"

#include <algorithm>

#include "support/error.h"

namespace opsmith::expression::text {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The end of the decimal number that starts at `at`: digits [. digits] [e [sign] digits].
size_t end_of_number(const std::string& text, size_t at) {
  const auto digits = [&] {
    while (at < text.size() && is_digit(text[at])) ++at;
  };
  digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits();
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t exponent = at + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (exponent < text.size() && is_digit(text[exponent])) {
      at = exponent;
      digits();
    }
  }
  return at;
}

}  // namespace

void fail_at(const std::string& text, size_t offset, const std::string& message) {
  const auto place = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  const auto line = std::count(text.begin(), place, '\n') + 1;
  const auto start = std::find(std::make_reverse_iterator(place), text.rend(), '\n').base();
  throw UserError("program text, line " + std::to_string(line) + ", column " +
                  std::to_string(place - start + 1) + ": " + message);
}

std::vector<Token> tokenize(const std::string& text) {
  std::vector<Token> tokens;
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const size_t start = at;
    if (is_space(c)) {
      ++at;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (is_letter(c)) {
      while (at < text.size() &&
             (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.' || text[at] == '\'')) {
        ++at;
      }
      tokens.push_back({Token::Kind::Name, text.substr(start, at - start), start});
    } else if (is_digit(c)) {
      at = end_of_number(text, at);
      tokens.push_back({Token::Kind::Number, text.substr(start, at - start), start});
    } else if (c == '"') {
      std::string name;
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) {
          ++at;
          name += text[at] == 'n' ? '\n' : text[at];
        } else {
          name += text[at];
        }
      }
      if (at == text.size()) fail_at(text, start, "this quote is never closed");
      ++at;
      tokens.push_back({Token::Kind::QuotedName, std::move(name), start});
    } else if (text.compare(at, 2, "->") == 0) {
      at += 2;
      tokens.push_back({Token::Kind::Sign, "->", start});
    } else if (std::string("()[],;:+-*/=").find(c) != std::string::npos) {
      ++at;
      tokens.push_back({Token::Kind::Sign, std::string(1, c), start});
    } else {
      fail_at(text, start, std::string("unexpected character '") + c + "'");
    }
  }
  tokens.push_back({Token::Kind::End, "", text.size()});
  return tokens;
}

}  // namespace opsmith::expression::text
