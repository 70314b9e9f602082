#include "runtime/schedule/variants/convolution_pattern.h"

#include <algorithm>

namespace opsmith::schedule {
namespace {

using expression::Index;
using expression::Scalar;
using expression::Stage;

std::optional<int64_t> number(const Index& index) {
  const Index simple = expression::simplify(index);
  if (!simple.is_constant()) return std::nullopt;
  return simple.value();
}

bool is_iterator(const Index& index, const expression::Axis& axis) {
  const Index simple = expression::simplify(index);
  if (simple == Index::iterator(axis.name)) return true;
  // Simplified indices do not name axes of one iteration.
  return number(axis.extent) == 1 && simple.is_constant(0);
}

/// The padding p of an index out + tap - p.
std::optional<int64_t> padding(const Index& index, const expression::Axis& out,
                               const expression::Axis& tap) {
  expression::Affine affine;
  if (!expression::as_affine(index, affine)) return std::nullopt;
  std::map<std::string, int64_t> wanted = {{tap.name, 1}};
  if (number(out.extent) != 1 || affine.coefficients.contains(out.name)) wanted[out.name] = 1;
  if (affine.coefficients != wanted) return std::nullopt;
  return -affine.constant;
}

bool reads_of(const Scalar& scalar, const std::string& tensor) {
  const std::vector<Scalar> all = expression::reads(scalar);
  return std::any_of(all.begin(), all.end(),
                     [&](const Scalar& read) { return read.tensor() == tensor; });
}

}  // namespace

std::optional<ConvolutionPattern> match_convolution(const expression::Program& program) {
  if (program.stages.size() != 1 || program.outputs.size() != 1) return std::nullopt;
  const Stage& stage = program.stages[0];
  const bool sums = stage.reduction == expression::Reduction::Sum && stage.fill == 0 &&
                    !stage.scatters() && stage.axes.size() == 4 &&
                    stage.reduction_axes.size() == 3 && stage.body.kind() == Scalar::Kind::Binary &&
                    stage.body.binary_function() == expression::Binary::Multiply;
  if (!sums || stage.type != ElementType::Float32 || stage.accumulation != ElementType::Float32) {
    return std::nullopt;
  }
  const auto is_weight = [&](const Scalar& factor) {
    return factor.kind() == Scalar::Kind::Read &&
           std::any_of(program.weights.begin(), program.weights.end(),
                       [&](const auto& weight) { return weight.name == factor.tensor(); });
  };
  const bool swapped = is_weight(stage.body.operand(0));
  const Scalar& data = stage.body.operand(swapped ? 1 : 0);
  const Scalar& weight = stage.body.operand(swapped ? 0 : 1);
  if (data.kind() != Scalar::Kind::Read || !is_weight(weight) || is_weight(data)) {
    return std::nullopt;
  }
  if (data.indices().size() != 4 || weight.indices().size() != 4) return std::nullopt;
  const auto& [n, o, h, w] = std::tie(stage.axes[0], stage.axes[1], stage.axes[2], stage.axes[3]);
  const auto& [c, a, b] =
      std::tie(stage.reduction_axes[0], stage.reduction_axes[1], stage.reduction_axes[2]);
  if (!is_iterator(data.indices()[0], n) || !is_iterator(data.indices()[1], c) ||
      !is_iterator(weight.indices()[0], o) || !is_iterator(weight.indices()[1], c) ||
      !is_iterator(weight.indices()[2], a) || !is_iterator(weight.indices()[3], b)) {
    return std::nullopt;
  }
  const auto top = padding(data.indices()[2], h, a);
  const auto left = padding(data.indices()[3], w, b);
  if (!top || !left) return std::nullopt;
  ConvolutionPattern found;
  found.input = data.tensor();
  found.weight = weight.tensor();
  found.top = *top;
  found.left = *left;
  const std::vector<Index> shape = program.shape_of(found.input);
  const std::pair<int64_t*, Index> numbers[] = {
      {&found.batch, n.extent},        {&found.outputs, o.extent},
      {&found.height, h.extent},       {&found.width, w.extent},
      {&found.channels, c.extent},     {&found.window_height, a.extent},
      {&found.window_width, b.extent}, {&found.input_height, shape[2]},
      {&found.input_width, shape[3]},
  };
  for (const auto& [target, extent] : numbers) {
    const auto value = number(extent);
    if (!value || *value < 1) return std::nullopt;
    *target = *value;
  }
  // The epilogue must not need what the variant no longer has.
  if (stage.epilogue && reads_of(*stage.epilogue, found.weight)) return std::nullopt;
  const auto type = [&](const std::string& tensor) {
    return program.type_of(tensor) == ElementType::Float32;
  };
  if (!type(found.input) || !type(found.weight)) return std::nullopt;
  return found;
}

}  // namespace opsmith::schedule
