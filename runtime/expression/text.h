#pragma once

#include <string>

namespace opsmith::expression::text {

/// The name as the text form spells it: bare where it is an identifier and no reserved word, in
/// double quotes otherwise (backslash escapes the quote, itself and, as \n, the newline).
std::string name(const std::string& raw);
bool is_reserved(const std::string& word);
/// A letter or '_' first; then also digits, '.' and '\''.
bool is_identifier(const std::string& word);

/// The shortest decimal that reads back as the same double; "inf", "-inf", "nan".
std::string number(double value);

/// Levels of nesting that an expression may have in a text; deeper ones are refused when parsed.
inline constexpr int kMaximumDepth = 1000;
/// Levels of parentheses, calls and signs.
inline constexpr int kMaximumNesting = 200;

}  // namespace opsmith::expression::text
