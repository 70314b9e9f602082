#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/expression/program.h"
#include "runtime/expression/text.h"
#include "support/error.h"

namespace opsmith::expression {
namespace text {

bool is_reserved(const std::string& word) {
  static constexpr std::array kWords = {"mod",  "within",   "inf", "nan",  "_",
                                        "fill", "epilogue", "at",  "over", "program"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool is_identifier(const std::string& word) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '\'';
  };
  return !word.empty() && letter(word[0]) && std::all_of(word.begin(), word.end(), part);
}

std::string name(const std::string& raw) {
  if (is_identifier(raw) && !is_reserved(raw)) return raw;
  std::string quoted = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

}  // namespace text

namespace {

enum Level { kWhole = 0, kSum = 1, kProduct = 2, kPrimary = 3 };

std::string parenthesized(const std::string& inner, Level level, Level needed) {
  return level < needed ? "(" + inner + ")" : inner;
}

std::string print_index(const Index& index, Level needed) {
  const auto operation = [&](const char* sign, Level level) {
    // Operators associate to the left: the right operand needs one level more.
    return parenthesized(print_index(index.left(), level) + sign +
                             print_index(index.right(), static_cast<Level>(level + 1)),
                         level, needed);
  };
  switch (index.kind()) {
    case Index::Kind::Constant:
      return std::to_string(index.value());
    case Index::Kind::Symbol:
    case Index::Kind::Iterator:
      return text::name(index.name());
    case Index::Kind::Add:
      return operation(" + ", kSum);
    case Index::Kind::Sub:
      return operation(" - ", kSum);
    case Index::Kind::Mul:
      return operation("*", kProduct);
    case Index::Kind::FloorDiv:
      return operation("/", kProduct);
    case Index::Kind::Mod:
      // Parsed like a product, but printed so that nobody needs to know.
      return parenthesized(
          print_index(index.left(), kPrimary) + " mod " + print_index(index.right(), kPrimary),
          kWhole, needed);
    case Index::Kind::Within:
      return "within(" + print_index(index.left(), kSum) + ", " + print_index(index.right(), kSum) +
             ")";
  }
  throw InternalError("to_string: unknown kind of index");
}

template <typename Range, typename Print>
std::string joined(const Range& range, Print print) {
  std::string result;
  for (const auto& element : range) {
    if (!result.empty()) result += ", ";
    result += print(element);
  }
  return result;
}

std::string print_indices(const std::vector<Index>& indices) {
  return "[" + joined(indices, [](const Index& index) { return to_string(index); }) + "]";
}

std::string print_scalar(const Scalar& scalar, Level needed) {
  const auto call = [&](const std::string& function) {
    return function + "(" +
           joined(scalar.operands(), [](const Scalar& s) { return print_scalar(s, kSum); }) + ")";
  };
  const auto operation = [&](const char* sign, Level level) {
    return parenthesized(print_scalar(scalar.operand(0), level) + sign +
                             print_scalar(scalar.operand(1), static_cast<Level>(level + 1)),
                         level, needed);
  };
  switch (scalar.kind()) {
    case Scalar::Kind::Constant:
      return text::number(scalar.value());
    case Scalar::Kind::Read:
      return text::name(scalar.tensor()) + print_indices(scalar.indices());
    case Scalar::Kind::Reduced:
      return "_";
    case Scalar::Kind::Position:
      return "position(" + to_string(scalar.indices().at(0)) + ")";
    case Scalar::Kind::Select:
      return call("select");
    case Scalar::Kind::Cast:
      return call(to_string(scalar.type()));
    case Scalar::Kind::Unary:
      if (scalar.unary_function() == Unary::Negate) {
        return "-" + print_scalar(scalar.operand(0), kPrimary);
      }
      return call(function_name(scalar.unary_function()));
    case Scalar::Kind::Binary:
      switch (scalar.binary_function()) {
        case Binary::Add:
          return operation(" + ", kSum);
        case Binary::Subtract:
          return operation(" - ", kSum);
        case Binary::Multiply:
          return operation(" * ", kProduct);
        case Binary::Divide:
          return operation(" / ", kProduct);
        default:
          return call(function_name(scalar.binary_function()));
      }
  }
  throw InternalError("to_string: unknown kind of scalar");
}

std::string print_axes(const std::vector<Axis>& axes) {
  return joined(
      axes, [](const Axis& axis) { return text::name(axis.name) + ": " + to_string(axis.extent); });
}

std::string print_declarations(const std::vector<TensorDeclaration>& declarations) {
  return joined(declarations, [](const TensorDeclaration& declaration) {
    return text::name(declaration.name) + ": " + to_string(declaration.type) +
           print_indices(declaration.shape);
  });
}

const char* reduction_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::None:
      return "none";
    case Reduction::Sum:
      return "sum";
    case Reduction::Maximum:
      return "max";
    case Reduction::Minimum:
      return "min";
    case Reduction::Product:
      return "product";
  }
  throw InternalError("print: unknown reduction");
}

std::string print_stage(const Stage& stage) {
  std::string line = "  " + text::name(stage.name) + ": " + to_string(stage.type);
  if (stage.scatters()) {
    line += print_indices(stage.target_shape) + " over (" + print_axes(stage.axes) + ") at " +
            print_indices(stage.target);
  } else {
    line += "[" + print_axes(stage.axes) + "]";
  }
  line += " = ";
  // A plain stage that accumulates in the default type says nothing of reductions.
  if (stage.reduction != Reduction::None || stage.accumulation != ElementType::Float32 ||
      !stage.reduction_axes.empty()) {
    line += std::string(reduction_name(stage.reduction)) + "[" + to_string(stage.accumulation) +
            "](" + print_axes(stage.reduction_axes) + ") ";
  }
  line += to_string(stage.body);
  const std::string fill = text::number(stage.fill);
  if (fill != "0") line += " fill " + fill;
  if (stage.epilogue) line += " epilogue " + to_string(*stage.epilogue);
  return line;
}

}  // namespace

std::string to_string(const Index& index) { return print_index(index, kWhole); }
std::string to_string(const Scalar& scalar) { return print_scalar(scalar, kSum); }

const char* function_name(Unary function) {
  switch (function) {
    case Unary::Negate:
      return "negate";
    case Unary::Absolute:
      return "absolute";
    case Unary::Exp:
      return "exp";
    case Unary::Log:
      return "log";
    case Unary::Tanh:
      return "tanh";
    case Unary::Erf:
      return "erf";
    case Unary::Sqrt:
      return "sqrt";
    case Unary::Reciprocal:
      return "reciprocal";
    case Unary::Floor:
      return "floor";
    case Unary::Ceil:
      return "ceil";
    case Unary::Round:
      return "round";
    case Unary::Sin:
      return "sin";
    case Unary::Cos:
      return "cos";
    case Unary::Sign:
      return "sign";
    case Unary::Not:
      return "not";
  }
  throw InternalError("function_name: unknown unary function");
}

const char* function_name(Binary function) {
  switch (function) {
    case Binary::Add:
      return "add";
    case Binary::Subtract:
      return "subtract";
    case Binary::Multiply:
      return "multiply";
    case Binary::Divide:
      return "divide";
    case Binary::Minimum:
      return "minimum";
    case Binary::Maximum:
      return "maximum";
    case Binary::Power:
      return "power";
    case Binary::Modulo:
      return "modulo";
    case Binary::Less:
      return "less";
    case Binary::LessEqual:
      return "less_equal";
    case Binary::Equal:
      return "equal";
    case Binary::And:
      return "and";
    case Binary::Or:
      return "or";
  }
  throw InternalError("function_name: unknown binary function");
}

std::string print(const Program& program) {
  std::string result = "program " + text::name(program.name) + "(";
  result += print_declarations(program.inputs);
  if (!program.weights.empty()) result += "; " + print_declarations(program.weights);
  result += ") -> ";
  result += joined(program.outputs, [](const std::string& output) { return text::name(output); });
  for (const Stage& stage : program.stages) result += "\n" + print_stage(stage);
  return result + "\n";
}

}  // namespace opsmith::expression
