#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace opsmith::expression {

/// Sizes bound to symbols when a program is used.
using Binding = std::map<std::string, int64_t>;

/// An integer expression over iterators and size symbols: an index of a read, an extent, a shape.
/// Immutable and cheap to copy. Division and modulo are floored (Euclidean for positive divisors):
/// -1 / 4 = -1 and -1 mod 4 = 3.
class Index {
 public:
  enum class Kind : uint8_t { Constant, Symbol, Iterator, Add, Sub, Mul, FloorDiv, Mod, Within };

  Index() : Index(0) {}
  Index(int64_t value);  // NOLINT: a number is an index
  static Index symbol(std::string name);
  static Index iterator(std::string name);
  static Index binary(Kind kind, Index left, Index right);

  Kind kind() const { return node_->kind; }
  int64_t value() const { return node_->value; }           ///< of a Constant
  const std::string& name() const { return node_->name; }  ///< of a Symbol or an Iterator
  const Index& left() const { return *node_->left; }       ///< of the other kinds
  const Index& right() const { return *node_->right; }
  bool has_within() const { return node_->has_within; }  ///< a Within stands somewhere inside
  bool is_constant() const { return kind() == Kind::Constant; }
  bool is_constant(int64_t v) const { return is_constant() && value() == v; }

 private:
  struct Node {
    Kind kind;
    int64_t value = 0;
    std::string name;
    bool has_within = false;
    std::shared_ptr<const Index> left, right;
  };
  explicit Index(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

Index operator+(const Index& a, const Index& b);
Index operator-(const Index& a, const Index& b);
Index operator*(const Index& a, const Index& b);
Index floor_div(const Index& a, const Index& b);
Index mod(const Index& a, const Index& b);
/// The value of `e`; where `e` is outside [0, extent) the whole read around it is the fill value.
Index within(const Index& e, const Index& extent);

bool operator==(const Index& a, const Index& b);  ///< structural
/// A total order of structures, for maps: negative, zero or positive.
int compare(const Index& a, const Index& b);
std::string to_string(const Index& index);

/// Replaces iterators and symbols for which `replacement` returns a value.
Index substitute(const Index& index,
                 const std::function<const Index*(const Index& leaf)>& replacement);

/// Calls `visitor` on every node, parents first.
void visit(const Index& index, const std::function<void(const Index&)>& visitor);

/// Evaluates with every symbol and iterator bound (iterators by name, in the same map).
/// `Within` evaluates to its left side; use `in_bounds` for the test. Throws UserError on an
/// unbound name, a division by zero and a 64-bit overflow.
int64_t evaluate(const Index& index, const Binding& values);
/// False when a `within` inside is violated.
bool in_bounds(const Index& index, const Binding& values);

/// Half-open range of values.
struct Range {
  int64_t begin = 0;
  int64_t end = 1;
  bool operator==(const Range&) const = default;
};
/// By name of iterator or symbol.
using Ranges = std::map<std::string, Range>;

/// Simplifies with what is known of the iterators' ranges: (o*16 + i) / 16 = o for i in [0, 16).
/// Constants fold; affine parts are gathered; `within` that always holds disappears, any other is
/// kept. The value is the same wherever every `within` inside holds.
Index simplify(const Index& index, const Ranges& ranges = {});

/// The values that an index whose symbols are bound can take; nullopt when it cannot be told.
std::optional<Range> value_range(const Index& index, const Ranges& ranges);

/// Writes index = sum(coefficient[i] * iterator i) + constant; false when it is not affine in its
/// iterators with constant coefficients, or holds a `within`.
struct Affine {
  std::map<std::string, int64_t> coefficients;  ///< of iterators, none zero
  int64_t constant = 0;
};
bool as_affine(const Index& index, Affine& affine);

/// index = sum(coefficient[i] * factor[i]) + constant after simplification, where a factor is an
/// iterator, a symbol, a quotient, a remainder, a guarded expression or a product of such.
struct LinearForm {
  struct Term {
    Index factor;
    int64_t coefficient = 1;
  };
  std::vector<Term> terms;
  int64_t constant = 0;

  Index index() const;
};
LinearForm linear_form(const Index& index, const Ranges& ranges = {});

}  // namespace opsmith::expression
