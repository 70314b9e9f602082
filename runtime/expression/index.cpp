#include "runtime/expression/index.h"

#include "runtime/expression/integer.h"
#include "support/error.h"

namespace opsmith::expression {

Index::Index(int64_t value) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Constant;
  node->value = value;
  node_ = std::move(node);
}

Index Index::symbol(std::string name) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Symbol;
  node->name = std::move(name);
  return Index(std::shared_ptr<const Node>(std::move(node)));
}

Index Index::iterator(std::string name) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Iterator;
  node->name = std::move(name);
  return Index(std::shared_ptr<const Node>(std::move(node)));
}

namespace {

/// The value of an operation on constants; false when it has none (division by zero, overflow).
bool fold(Index::Kind kind, int64_t a, int64_t b, int64_t& result) {
  switch (kind) {
    case Index::Kind::Add:
      return !__builtin_add_overflow(a, b, &result);
    case Index::Kind::Sub:
      return !__builtin_sub_overflow(a, b, &result);
    case Index::Kind::Mul:
      return !__builtin_mul_overflow(a, b, &result);
    case Index::Kind::FloorDiv:
      if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
      result = integer::floor_divide(a, b);
      return true;
    case Index::Kind::Mod:
      if (b == 0) return false;
      result = integer::floor_modulo(a, b);
      return true;
    case Index::Kind::Within:
      result = a;
      return a >= 0 && a < b;
    default:
      return false;
  }
}

}  // namespace

Index Index::binary(Kind kind, Index left, Index right) {
  require(kind >= Kind::Add, "Index::binary: not the kind of an operation");
  if (left.is_constant() && right.is_constant()) {
    int64_t folded = 0;
    if (fold(kind, left.value(), right.value(), folded)) return folded;
  }
  switch (kind) {
    case Kind::Add:
      if (left.is_constant(0)) return right;
      if (right.is_constant(0)) return left;
      break;
    case Kind::Sub:
      if (right.is_constant(0)) return left;
      break;
    case Kind::Mul:
      if (left.is_constant(1)) return right;
      if (right.is_constant(1)) return left;
      // A `within` that vanished with its factor would unguard the read.
      if (left.is_constant(0) && !right.has_within()) return left;
      if (right.is_constant(0) && !left.has_within()) return right;
      break;
    case Kind::FloorDiv:
      if (right.is_constant(1)) return left;
      break;
    case Kind::Mod:
      if (right.is_constant(1) && !left.has_within()) return 0;
      break;
    default:
      break;
  }
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->has_within = kind == Kind::Within || left.has_within() || right.has_within();
  node->left = std::make_shared<const Index>(std::move(left));
  node->right = std::make_shared<const Index>(std::move(right));
  return Index(std::shared_ptr<const Node>(std::move(node)));
}

Index operator+(const Index& a, const Index& b) { return Index::binary(Index::Kind::Add, a, b); }
Index operator-(const Index& a, const Index& b) { return Index::binary(Index::Kind::Sub, a, b); }
Index operator*(const Index& a, const Index& b) { return Index::binary(Index::Kind::Mul, a, b); }
Index floor_div(const Index& a, const Index& b) {
  return Index::binary(Index::Kind::FloorDiv, a, b);
}
Index mod(const Index& a, const Index& b) { return Index::binary(Index::Kind::Mod, a, b); }
Index within(const Index& e, const Index& extent) {
  return Index::binary(Index::Kind::Within, e, extent);
}

int compare(const Index& a, const Index& b) {
  if (a.kind() != b.kind()) return a.kind() < b.kind() ? -1 : 1;
  switch (a.kind()) {
    case Index::Kind::Constant:
      return a.value() < b.value() ? -1 : a.value() > b.value() ? 1 : 0;
    case Index::Kind::Symbol:
    case Index::Kind::Iterator:
      return a.name().compare(b.name());
    default: {
      if (&a.left() == &b.left() && &a.right() == &b.right()) return 0;
      const int left = compare(a.left(), b.left());
      return left != 0 ? left : compare(a.right(), b.right());
    }
  }
}

bool operator==(const Index& a, const Index& b) { return compare(a, b) == 0; }

Index substitute(const Index& index,
                 const std::function<const Index*(const Index& leaf)>& replacement) {
  switch (index.kind()) {
    case Index::Kind::Constant:
      return index;
    case Index::Kind::Symbol:
    case Index::Kind::Iterator: {
      const Index* found = replacement(index);
      return found ? *found : index;
    }
    default:
      return Index::binary(index.kind(), substitute(index.left(), replacement),
                           substitute(index.right(), replacement));
  }
}

void visit(const Index& index, const std::function<void(const Index&)>& visitor) {
  visitor(index);
  if (index.kind() < Index::Kind::Add) return;
  visit(index.left(), visitor);
  visit(index.right(), visitor);
}

int64_t evaluate(const Index& index, const Binding& values) {
  switch (index.kind()) {
    case Index::Kind::Constant:
      return index.value();
    case Index::Kind::Symbol:
    case Index::Kind::Iterator: {
      const auto found = values.find(index.name());
      if (found == values.end()) throw UserError("size '" + index.name() + "' is not bound");
      return found->second;
    }
    case Index::Kind::Within:
      return evaluate(index.left(), values);
    default: {
      const int64_t a = evaluate(index.left(), values);
      const int64_t b = evaluate(index.right(), values);
      int64_t result = 0;
      if (fold(index.kind(), a, b, result)) return result;
      throw UserError("index " + to_string(index) +
                      (b == 0 ? " divides by zero" : " overflows 64 bits"));
    }
  }
}

bool in_bounds(const Index& index, const Binding& values) {
  if (!index.has_within()) return true;
  if (!in_bounds(index.left(), values) || !in_bounds(index.right(), values)) return false;
  if (index.kind() != Index::Kind::Within) return true;
  const int64_t value = evaluate(index.left(), values);
  return value >= 0 && value < evaluate(index.right(), values);
}

}  // namespace opsmith::expression
