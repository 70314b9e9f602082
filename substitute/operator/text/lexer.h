#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "substitute/operator/size.h"

namespace opsmith::substitute::text {

/// Cuts the text form of operators into words, numbers and punctuation. `#` begins a comment that
/// ends with its line. Every complaint is a UserError with line and column.
class Lexer {
 public:
  explicit Lexer(const std::string& text);

  bool at_end() const { return tokens_[position_].kind == Kind::End; }
  /// Whether the next token is this word or punctuation; `accept` also takes it.
  bool next_is(const std::string& token) const;
  bool accept(const std::string& token);
  void expect(const std::string& token);
  void expect_end() const;

  bool next_is_word() const { return tokens_[position_].kind == Kind::Word; }
  bool next_is_number() const { return tokens_[position_].kind == Kind::Number; }
  /// An identifier: letters, digits and '_'.
  std::string word(const std::string& what);
  /// An operator's name, in which '-' may stand between letters and digits.
  std::string dashed_word(const std::string& what);
  int64_t number();

  [[noreturn]] void fail(const std::string& complaint) const;

 private:
  enum class Kind : uint8_t { Word, Number, Punctuation, End };
  struct Token {
    Kind kind = Kind::End;
    std::string text;
    int line = 1;
    int column = 1;
  };
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

/// factor (('*' | '/') factor)*, where a factor is a number, a variable, either with '^' and a
/// power, or a size in parentheses.
Size read_size(Lexer& lexer);

}  // namespace opsmith::substitute::text
