#include "runtime/expression/interpreter/index_code.h"

#include "runtime/expression/integer.h"
#include "support/error.h"

namespace opsmith::expression::interpreter {

IndexCode::IndexCode(const Index& index, const Slots& slots) {
  Affine affine;
  if (as_affine(index, affine)) {
    affine_ = true;
    constant_ = affine.constant;
    for (const auto& [iterator, coefficient] : affine.coefficients) {
      terms_.emplace_back(slots.at(iterator), coefficient);
    }
    return;
  }
  append(index, slots);
  stack_.resize(code_.size());
}

void IndexCode::append(const Index& index, const Slots& slots) {
  switch (index.kind()) {
    case Index::Kind::Constant:
      code_.push_back({index.kind(), index.value()});
      return;
    case Index::Kind::Symbol:
      throw UserError("size '" + index.name() + "' is not bound");
    case Index::Kind::Iterator:
      code_.push_back({index.kind(), static_cast<int64_t>(slots.at(index.name()))});
      return;
    default:
      append(index.left(), slots);
      append(index.right(), slots);
      code_.push_back({index.kind(), 0});
  }
}

bool IndexCode::evaluate(const int64_t* iterators, int64_t& value) const {
  if (affine_) {
    bool overflow = false;
    value = constant_;
    for (const auto& [slot, coefficient] : terms_) {
      int64_t term = 0;
      overflow |= __builtin_mul_overflow(iterators[slot], coefficient, &term);
      overflow |= __builtin_add_overflow(value, term, &value);
    }
    if (overflow) throw UserError("an index overflows 64 bits");
    return true;
  }
  bool overflow = false;
  int64_t* top = stack_.data() - 1;
  for (const Operation& operation : code_) {
    switch (operation.kind) {
      case Index::Kind::Constant:
      case Index::Kind::Symbol:
        *++top = operation.operand;
        continue;
      case Index::Kind::Iterator:
        *++top = iterators[operation.operand];
        continue;
      default:
        break;
    }
    const int64_t right = *top--;
    int64_t& left = *top;
    switch (operation.kind) {
      case Index::Kind::Add:
        overflow |= __builtin_add_overflow(left, right, &left);
        break;
      case Index::Kind::Sub:
        overflow |= __builtin_sub_overflow(left, right, &left);
        break;
      case Index::Kind::Mul:
        overflow |= __builtin_mul_overflow(left, right, &left);
        break;
      case Index::Kind::Within:
        if (left < 0 || left >= right) return false;
        break;
      default:
        if (right == 0) throw UserError("an index divides by zero");
        if (right == -1 && left == INT64_MIN) throw UserError("an index overflows 64 bits");
        left = operation.kind == Index::Kind::Mod ? integer::floor_modulo(left, right)
                                                  : integer::floor_divide(left, right);
        break;
    }
  }
  if (overflow) throw UserError("an index overflows 64 bits");
  value = *top;
  return true;
}

}  // namespace opsmith::expression::interpreter
