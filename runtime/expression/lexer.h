#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace opsmith::expression::text {

struct Token {
  enum class Kind : uint8_t { Name, QuotedName, Number, Sign, End };
  Kind kind = Kind::End;
  std::string text;  ///< of a quoted name without its quotes and escapes
  size_t offset = 0;

  /// This very sign or unquoted word.
  bool is(const char* expected) const {
    return (kind == Kind::Name || kind == Kind::Sign) && text == expected;
  }
};

/// Cuts a program text into tokens, the last of which is the End. White space and comments (from #
/// to the end of the line) separate. Throws UserError.
std::vector<Token> tokenize(const std::string& text);

/// Throws UserError "program text, line 3, column 14: <message>".
[[noreturn]] void fail_at(const std::string& text, size_t offset, const std::string& message);

}  // namespace opsmith::expression::text
