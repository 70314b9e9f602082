#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/expression/index.h"

namespace opsmith::expression::interpreter {

/// Where each iterator's value stands.
using Slots = std::map<std::string, size_t>;

/// An index as a sequence of stack operations over iterator values, so that many points are
/// evaluated without looking up names.
class IndexCode {
 public:
  /// Throws UserError when a symbol is left.
  IndexCode(const Index& index, const Slots& slots);

  /// False when a `within` inside is violated; then `value` means nothing. Throws UserError on a
  /// division by zero and an overflow.
  bool evaluate(const int64_t* iterators, int64_t& value) const;

 private:
  struct Operation {
    Index::Kind kind;
    int64_t operand = 0;  ///< the constant, or the slot
  };
  void append(const Index& index, const Slots& slots);

  std::vector<Operation> code_;
  mutable std::vector<int64_t> stack_;
  bool affine_ = false;
  int64_t constant_ = 0;
  std::vector<std::pair<size_t, int64_t>> terms_;  ///< slot and coefficient, where affine
};

}  // namespace opsmith::expression::interpreter
