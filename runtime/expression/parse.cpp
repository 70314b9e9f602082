#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>

#include "runtime/expression/lexer.h"
#include "runtime/expression/program.h"
#include "runtime/expression/text.h"

namespace opsmith::expression {
namespace {

using text::Token;

/// An expression with the number of its levels: texts may be hostile, and everything downstream
/// recurses over expressions.
template <typename T>
struct Parsed {
  T value;
  int depth = 1;
};

class Parser {
 public:
  explicit Parser(const std::string& source) : source_(source), tokens_(text::tokenize(source)) {}

  Program program() {
    Program program;
    expect("program");
    program.name = name("the program's name");
    expect("(");
    program.inputs = declarations();
    if (accept(";")) program.weights = declarations();
    expect(")");
    expect("->");
    while (is_name(peek()) && !peek(1).is(":")) {
      program.outputs.push_back(name("an output"));
      if (!accept(",")) break;
    }
    while (peek().kind != Token::Kind::End) program.stages.push_back(stage());
    return program;
  }

 private:
  // Tokens.

  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
  }
  static bool is_name(const Token& token) {
    return token.kind == Token::Kind::QuotedName ||
           (token.kind == Token::Kind::Name && !text::is_reserved(token.text));
  }
  const Token& next() { return tokens_[std::min(position_++, tokens_.size() - 1)]; }
  bool accept(const char* expected) {
    if (!peek().is(expected)) return false;
    next();
    return true;
  }
  [[noreturn]] void fail(const std::string& message) const {
    text::fail_at(source_, peek().offset, message);
  }
  [[noreturn]] void fail_expected(const std::string& what) const {
    const bool end = peek().kind == Token::Kind::End;
    fail("expected " + what + ", found " +
         (end ? std::string("the end of the text") : "'" + peek().text.substr(0, 40) + "'"));
  }
  void expect(const char* expected) {
    if (!accept(expected)) fail_expected("'" + std::string(expected) + "'");
  }
  std::string name(const std::string& what) {
    if (!is_name(peek())) fail_expected(what);
    return next().text;
  }
  ElementType type() {
    const ElementType found =
        peek().kind == Token::Kind::Name ? parse_element_type(peek().text) : ElementType::Undefined;
    if (found == ElementType::Undefined) fail_expected("an element type such as f32");
    next();
    return found;
  }

  // Lists.

  template <typename Element>
  auto list(const char* closing, Element element) {
    std::vector<decltype(element())> elements;
    if (accept(closing)) return elements;
    do {
      elements.push_back(element());
    } while (accept(","));
    expect(closing);
    return elements;
  }
  std::vector<TensorDeclaration> declarations() {
    std::vector<TensorDeclaration> found;
    if (peek().is(";") || peek().is(")")) return found;
    do {
      TensorDeclaration declaration;
      declaration.name = name("a tensor's name");
      expect(":");
      declaration.type = type();
      expect("[");
      declaration.shape = indices();
      found.push_back(std::move(declaration));
    } while (accept(","));
    return found;
  }
  std::vector<Axis> axes(const char* closing) {
    return list(closing, [&] {
      Axis axis;
      axis.name = name("an iterator");
      expect(":");
      axis.extent = index().value;
      return axis;
    });
  }
  std::vector<Index> indices() {
    return list("]", [&] { return index().value; });
  }

  // Stages.

  Stage stage() {
    Stage stage;
    iterators_.clear();
    stage.name = name("a stage's name");
    expect(":");
    stage.type = type();
    expect("[");
    if (peek().is("]") || (is_name(peek()) && peek(1).is(":"))) {
      stage.axes = axes("]");
      add_iterators(stage.axes);
    } else {
      stage.target_shape = indices();
      expect("over");
      expect("(");
      stage.axes = axes(")");
      add_iterators(stage.axes);
      expect("at");
      expect("[");
      stage.target = indices();
    }
    expect("=");
    if (const auto found = reduction()) {
      stage.reduction = *found;
      next();
      expect("[");
      stage.accumulation = type();
      expect("]");
      expect("(");
      // Extents hold no iterators.
      std::set<std::string> outer;
      std::swap(outer, iterators_);
      stage.reduction_axes = axes(")");
      std::swap(outer, iterators_);
      add_iterators(stage.reduction_axes);
    }
    stage.body = scalar().value;
    if (accept("fill")) stage.fill = signed_number();
    if (accept("epilogue")) stage.epilogue = scalar().value;
    iterators_.clear();
    return stage;
  }
  void add_iterators(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) iterators_.insert(axis.name);
  }
  /// The reduction when its head `sum[f32](` comes next; a read of a tensor of that name has no
  /// parenthesis behind it.
  std::optional<Reduction> reduction() const {
    static constexpr std::array<std::pair<const char*, Reduction>, 5> kNames = {{
        {"none", Reduction::None},
        {"sum", Reduction::Sum},
        {"max", Reduction::Maximum},
        {"min", Reduction::Minimum},
        {"product", Reduction::Product},
    }};
    if (!peek(1).is("[") || !peek(3).is("]") || !peek(4).is("(")) return std::nullopt;
    for (const auto& [word, found] : kNames) {
      if (peek().is(word)) return found;
    }
    return std::nullopt;
  }
  double signed_number() {
    const bool negative = accept("-");
    const double value = number();
    return negative ? -value : value;
  }
  double number() {
    if (accept("inf")) return std::numeric_limits<double>::infinity();
    if (accept("nan")) return std::numeric_limits<double>::quiet_NaN();
    if (peek().kind != Token::Kind::Number) fail_expected("a number");
    const std::string& digits = peek().text;
    double value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
      fail("'" + digits + "' is out of the range of numbers");
    }
    next();
    return value;
  }

  // Expressions. Each level of nesting passes through a Nested.

  struct Nested {
    explicit Nested(Parser& owner) : parser(owner) {
      if (++parser.nesting_ > text::kMaximumNesting) {
        parser.fail("nested more than " + std::to_string(text::kMaximumNesting) + " levels deep");
      }
    }
    ~Nested() { --parser.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& parser;
  };
  int deeper(int depth) const {
    if (depth >= text::kMaximumDepth) {
      fail("an expression of more than " + std::to_string(text::kMaximumDepth) + " levels");
    }
    return depth + 1;
  }

  /// operand { sign operand }, grouping to the left. `join(sign, left, right)` is the operation.
  template <typename T, size_t N, typename Operand, typename Join>
  Parsed<T> chain(const std::array<const char*, N>& signs, Operand operand, Join join) {
    Parsed<T> left = operand();
    while (true) {
      const auto sign = std::find_if(signs.begin(), signs.end(),
                                     [&](const char* candidate) { return peek().is(candidate); });
      if (sign == signs.end()) return left;
      next();
      const Parsed<T> right = operand();
      left.depth = deeper(std::max(left.depth, right.depth));
      left.value = join(static_cast<size_t>(sign - signs.begin()), left.value, right.value);
    }
  }

  Parsed<Index> index() {
    const Nested nested(*this);
    return chain<Index>(
        std::array{"+", "-"}, [&] { return index_product(); },
        [](size_t sign, const Index& a, const Index& b) { return sign == 0 ? a + b : a - b; });
  }
  Parsed<Index> index_product() {
    return chain<Index>(
        std::array{"*", "/", "mod"}, [&] { return index_primary(); },
        [](size_t sign, const Index& a, const Index& b) {
          return sign == 0 ? a * b : sign == 1 ? floor_div(a, b) : mod(a, b);
        });
  }
  Parsed<Index> index_primary() {
    if (accept("-")) {
      if (peek().kind == Token::Kind::Number) return {integer("-"), 1};
      const Nested nested(*this);
      const Parsed<Index> operand = index_primary();
      return {Index(0) - operand.value, deeper(operand.depth)};
    }
    if (peek().kind == Token::Kind::Number) return {integer(""), 1};
    if (accept("(")) {
      Parsed<Index> inner = index();
      expect(")");
      return inner;
    }
    if (accept("within")) {
      expect("(");
      const Parsed<Index> value = index();
      expect(",");
      const Parsed<Index> extent = index();
      expect(")");
      return {within(value.value, extent.value), deeper(std::max(value.depth, extent.depth))};
    }
    const std::string leaf = name("an index");
    return {iterators_.contains(leaf) ? Index::iterator(leaf) : Index::symbol(leaf), 1};
  }
  int64_t integer(const std::string& sign) {
    const std::string digits = sign + peek().text;
    int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec == std::errc::result_out_of_range) fail(digits + " does not fit in 64 bits");
    if (result.ptr != digits.data() + digits.size()) fail_expected("an integer");
    next();
    return value;
  }

  Parsed<Scalar> scalar() {
    const Nested nested(*this);
    return chain<Scalar>(
        std::array{"+", "-"}, [&] { return scalar_product(); },
        [](size_t sign, const Scalar& a, const Scalar& b) { return sign == 0 ? a + b : a - b; });
  }
  Parsed<Scalar> scalar_product() {
    return chain<Scalar>(
        std::array{"*", "/"}, [&] { return scalar_primary(); },
        [](size_t sign, const Scalar& a, const Scalar& b) { return sign == 0 ? a * b : a / b; });
  }
  Parsed<Scalar> scalar_primary() {
    if (accept("-")) {
      const Nested nested(*this);
      const Parsed<Scalar> operand = scalar_primary();
      return {Scalar::unary(Unary::Negate, operand.value), deeper(operand.depth)};
    }
    if (peek().kind == Token::Kind::Number || peek().is("inf") || peek().is("nan")) {
      return {Scalar::constant(number()), 1};
    }
    if (accept("_")) return {Scalar::reduced(), 1};
    if (accept("(")) {
      Parsed<Scalar> inner = scalar();
      expect(")");
      return inner;
    }
    if (!is_name(peek())) fail_expected("a value");
    if (peek(1).is("(")) return call();
    if (!peek(1).is("[")) {
      next();
      fail_expected("'[' or '('");
    }
    const std::string tensor = next().text;
    next();
    return {Scalar::read(tensor, indices()), 1};
  }
  Parsed<Scalar> call() {
    const Token function = next();
    expect("(");
    if (function.is("position")) {
      const Parsed<Index> value = index();
      expect(")");
      return {Scalar::position(value.value), 1};
    }
    int depth = 1;
    const std::vector<Scalar> operands = list(")", [&] {
      Parsed<Scalar> operand = scalar();
      depth = std::max(depth, operand.depth);
      return operand.value;
    });
    depth = deeper(depth);
    const auto check = [&](size_t count) {
      if (operands.size() == count) return;
      text::fail_at(source_, function.offset,
                    function.text + " takes " + std::to_string(count) + " operands, not " +
                        std::to_string(operands.size()));
    };
    if (function.is("select")) {
      check(3);
      return {Scalar::select(operands[0], operands[1], operands[2]), depth};
    }
    for (int i = 0; i <= static_cast<int>(Unary::Not); ++i) {
      const auto unary = static_cast<Unary>(i);
      if (!function.is(function_name(unary))) continue;
      check(1);
      return {Scalar::unary(unary, operands[0]), depth};
    }
    for (int i = 0; i <= static_cast<int>(Binary::Or); ++i) {
      const auto binary = static_cast<Binary>(i);
      if (!function.is(function_name(binary))) continue;
      check(2);
      return {Scalar::binary(binary, operands[0], operands[1]), depth};
    }
    const ElementType cast = parse_element_type(function.text);
    if (cast != ElementType::Undefined) {
      check(1);
      return {Scalar::cast(cast, operands[0]), depth};
    }
    text::fail_at(source_, function.offset, "there is no function '" + function.text + "'");
  }

  const std::string& source_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  int nesting_ = 0;
  std::set<std::string> iterators_;
};

}  // namespace

Program parse(const std::string& text) { return Parser(text).program(); }

}  // namespace opsmith::expression
