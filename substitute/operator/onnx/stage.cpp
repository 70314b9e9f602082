#include "substitute/operator/onnx/stage.h"

#include <algorithm>
#include <set>

#include "support/error.h"

namespace opsmith::substitute::onnx {

using expression::Axis;
using expression::Program;
using expression::Scalar;
using expression::Stage;

void Tensors::add(const std::string& name, Value value) {
  Entry entry;
  entry.shape = value.shape;
  entry.whole = std::move(value);
  entries_[name] = std::move(entry);
}

void Tensors::add_image(const std::string& name, Value image, std::vector<Index> shape) {
  Entry entry;
  entry.shape = std::move(shape);
  entry.image = std::move(image);
  entries_[name] = std::move(entry);
}

Value Tensors::whole(const std::string& name) {
  Entry& entry = entries_.at(name);
  if (!entry.whole) entry.whole = body_.reshape(*entry.image, entry.shape);
  return *entry.whole;
}

Value Tensors::image(const std::string& name) {
  Entry& entry = entries_.at(name);
  if (!entry.image) {
    const std::vector<Index>& shape = entry.shape;
    Index channels(1);
    for (size_t i = 1; i + 2 < shape.size(); ++i) channels = channels * shape[i];
    entry.image = body_.reshape(*entry.whole, {shape[0], expression::simplify(channels),
                                               shape[shape.size() - 2], shape.back()});
  }
  return *entry.image;
}

std::optional<Contraction> as_contraction(const Stage& stage, const Program& program) {
  const bool plain = !stage.epilogue && !stage.scatters() && stage.fill == 0 &&
                     (stage.reduction == expression::Reduction::Sum ||
                      stage.reduction == expression::Reduction::None);
  if (!plain || stage.body.kind() != Scalar::Kind::Binary ||
      stage.body.binary_function() != expression::Binary::Multiply)
    return std::nullopt;
  const Scalar &left = stage.body.operand(0), &right = stage.body.operand(1);
  if (left.kind() != Scalar::Kind::Read || right.kind() != Scalar::Kind::Read) return std::nullopt;
  const auto is_weight = [&](const Scalar& read) {
    return std::any_of(program.weights.begin(), program.weights.end(),
                       [&](const auto& weight) { return weight.name == read.tensor(); });
  };
  if (is_weight(left) == is_weight(right)) return std::nullopt;
  return is_weight(left) ? Contraction{right, left} : Contraction{left, right};
}

namespace {

void collect(const Index& index, int64_t coefficient, Terms& terms) {
  switch (index.kind()) {
    case Index::Kind::Constant:
      terms.constant += coefficient * index.value();
      return;
    case Index::Kind::Add:
      collect(index.left(), coefficient, terms);
      collect(index.right(), coefficient, terms);
      return;
    case Index::Kind::Sub:
      collect(index.left(), coefficient, terms);
      collect(index.right(), -coefficient, terms);
      return;
    case Index::Kind::Mul:
      if (index.left().is_constant()) {
        collect(index.right(), coefficient * index.left().value(), terms);
        return;
      }
      if (index.right().is_constant()) {
        collect(index.left(), coefficient * index.right().value(), terms);
        return;
      }
      break;
    default:
      break;
  }
  terms.terms.push_back({coefficient, index});
}

void collect_iterators(const Index& index, std::vector<std::string>& names) {
  switch (index.kind()) {
    case Index::Kind::Constant:
    case Index::Kind::Symbol:
      return;
    case Index::Kind::Iterator:
      if (std::find(names.begin(), names.end(), index.name()) == names.end())
        names.push_back(index.name());
      return;
    default:
      collect_iterators(index.left(), names);
      collect_iterators(index.right(), names);
  }
}

}  // namespace

Terms terms_of(const Index& index) {
  Terms terms;
  collect(index, 1, terms);
  return terms;
}

std::vector<std::string> iterators_of(const Index& index) {
  std::vector<std::string> names;
  collect_iterators(index, names);
  return names;
}

bool uses(const Index& index, const std::string& iterator) {
  const std::vector<std::string> names = iterators_of(index);
  return std::find(names.begin(), names.end(), iterator) != names.end();
}

const Axis* find_axis(const std::vector<Axis>& axes, const std::string& name) {
  for (const Axis& axis : axes)
    if (axis.name == name) return &axis;
  return nullptr;
}

expression::Ranges ranges_of(const Stage& stage) {
  expression::Ranges ranges;
  for (const auto* axes : {&stage.axes, &stage.reduction_axes})
    for (const Axis& axis : *axes)
      if (axis.extent.is_constant()) ranges[axis.name] = {0, axis.extent.value()};
  return ranges;
}

std::optional<MixedRadix> as_mixed_radix(const Index& index, const Stage& stage) {
  expression::Affine affine;
  if (!expression::as_affine(index, affine)) return std::nullopt;
  struct Digit {
    int64_t coefficient, extent;
    std::string iterator;
  };
  std::vector<Digit> digits;
  for (const auto& [name, coefficient] : affine.coefficients) {
    const Axis* axis = find_axis(stage.axes, name);
    if (axis == nullptr) axis = find_axis(stage.reduction_axes, name);
    if (axis == nullptr || !axis->extent.is_constant()) return std::nullopt;
    if (axis->extent.is_constant(1)) continue;
    digits.push_back({coefficient, axis->extent.value(), name});
  }
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.coefficient < b.coefficient; });
  MixedRadix result;
  result.offset = affine.constant;
  for (const Digit& digit : digits) {
    if (digit.coefficient != result.count) return std::nullopt;
    result.count *= digit.extent;
    result.iterators.insert(result.iterators.begin(), digit.iterator);
  }
  return result;
}

std::optional<Value> weight_by_iterators(const Scalar& weight,
                                         const std::vector<std::string>& iterators,
                                         const std::vector<Index>& weight_shape, const Stage& stage,
                                         StageContext& context) {
  const std::vector<Index> shape = context.program.shape_of(weight.tensor());
  std::vector<std::string> present;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto digits = as_mixed_radix(weight.indices()[d], stage);
    if (!digits || digits->offset != 0 || !shape[d].is_constant(digits->count)) return std::nullopt;
    present.insert(present.end(), digits->iterators.begin(), digits->iterators.end());
  }
  const auto extent = [&](const std::string& name) {
    const Axis* axis = find_axis(stage.axes, name);
    return (axis != nullptr ? axis : find_axis(stage.reduction_axes, name))->extent;
  };
  // Iterators of extent 1 are in no index.
  std::vector<int64_t> permutation;
  for (const std::string& name : iterators) {
    if (extent(name).is_constant(1)) continue;
    const auto found = std::find(present.begin(), present.end(), name);
    if (found == present.end()) return std::nullopt;
    permutation.push_back(found - present.begin());
  }
  if (permutation.size() != present.size() ||
      std::set<std::string>(present.begin(), present.end()).size() != present.size())
    return std::nullopt;
  std::vector<Index> present_shape;
  for (const std::string& name : present) present_shape.push_back(extent(name));
  const Value plain = context.tensors.whole(weight.tensor());
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return context.body.reshape(plain, weight_shape);
  return context.body.reshape(
      context.body.transpose(context.body.reshape(plain, present_shape), permutation),
      weight_shape);
}

namespace {

std::vector<std::string> symbols_of(const Index& index) {
  std::set<std::string> names;
  expression::substitute(index, [&](const Index& leaf) -> const Index* {
    if (leaf.kind() == Index::Kind::Symbol) names.insert(leaf.name());
    return nullptr;
  });
  return {names.begin(), names.end()};
}

/// The least padding at the end for which a convolution over `input` elements yields `output`,
/// whatever the symbols are.
std::optional<int64_t> padding_at_end(const Index& input, const Index& output,
                                      const Window& window) {
  const int64_t reach = window.dilation * (window.size - 1) + 1;
  const auto yields = [&](int64_t in, int64_t out, int64_t padding) {
    const int64_t rest = in + window.padding_before + padding - reach;
    return rest >= 0 && rest / window.stride + 1 == out;
  };
  if (input.is_constant() && output.is_constant()) {
    const int64_t needed =
        (output.value() - 1) * window.stride + reach - input.value() - window.padding_before;
    const int64_t padding = std::max<int64_t>(needed, 0);
    return yields(input.value(), output.value(), padding) ? std::optional(padding) : std::nullopt;
  }
  if (input == output && window.size == 1 && window.stride == 1 && window.padding_before == 0)
    return 0;
  const std::vector<std::string> symbols = symbols_of(input);
  if (symbols.size() != 1 || symbols_of(output) != symbols) return std::nullopt;
  // Both are floors of a line in the symbol: what holds over some periods holds everywhere.
  constexpr int64_t kFirst = 64, kLast = 192;
  for (int64_t padding = 0; padding <= reach + window.stride; ++padding) {
    bool always = true;
    for (int64_t value = kFirst; always && value < kLast; ++value) {
      const expression::Binding binding = {{symbols[0], value}};
      always = yields(expression::evaluate(input, binding), expression::evaluate(output, binding),
                      padding);
    }
    if (always) return padding;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SpatialIndex> as_spatial_index(const Index& index, const Index& extent,
                                             const Axis& position, const Stage& stage) {
  SpatialIndex result;
  Index inside = index;
  if (inside.kind() == Index::Kind::Mod) {
    // (e + roll) mod extent, where e is cut off at the ends or never leaves them.
    if (!(inside.right() == extent)) return std::nullopt;
    const Terms terms = terms_of(inside.left());
    if (terms.terms.size() != 1 || terms.terms[0].coefficient != 1 || terms.constant < 0)
      return std::nullopt;
    const Index only = terms.terms[0].index;
    const bool cut = only.kind() == Index::Kind::Within && only.right() == extent;
    const bool whole = only.kind() == Index::Kind::Iterator && only.name() == position.name &&
                       position.extent == extent;
    if (!cut && !whole) return std::nullopt;
    if (extent.is_constant() && terms.constant >= extent.value()) return std::nullopt;
    result.roll = terms.constant;
    inside = only;
  }
  // What leaves the tensor reads zero anyway.
  if (inside.kind() == Index::Kind::Within && inside.right() == extent) inside = inside.left();
  expression::Affine affine;
  if (!expression::as_affine(inside, affine)) return std::nullopt;
  result.window.padding_before = -affine.constant;
  if (result.window.padding_before < 0) return std::nullopt;
  bool moves = false;
  for (const auto& [name, coefficient] : affine.coefficients) {
    if (coefficient <= 0) return std::nullopt;
    if (name == position.name) {
      moves = true;
      result.window.stride = coefficient;
    } else if (const Axis* tap = find_axis(stage.reduction_axes, name);
               tap != nullptr && tap->extent.is_constant() && result.tap.empty()) {
      result.tap = name;
      result.window.size = tap->extent.value();
      result.window.dilation = coefficient;
    } else {
      return std::nullopt;
    }
  }
  if (!moves && !position.extent.is_constant(1)) return std::nullopt;
  const auto padding = padding_at_end(extent, position.extent, result.window);
  if (!padding) return std::nullopt;
  result.window.padding_after = *padding;
  return result;
}

}  // namespace opsmith::substitute::onnx
