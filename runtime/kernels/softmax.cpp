#include <limits>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/program_builder.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;
using expression::Unary;

// Over one axis since opset 13 (default -1); before, over all axes from `axis` (default 1) on, as
// if the tensor were flattened to two dimensions there.
std::optional<Lowered> lower_softmax(const graph::Node& node, const LoweringContext& context,
                                     bool logarithm) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_reals()) return std::nullopt;
  const Shape& x = builder.shape(0);
  auto rank = static_cast<int64_t>(x.size());
  bool single = builder.opset() >= 13;
  int64_t first = node.integer("axis", single ? -1 : 1);
  if (single || first != rank) first = normalize_axis(first, rank, node);

  Shape outer, reduction;
  std::vector<Index> data, at;
  for (int64_t i = 0; i < rank; ++i) {
    bool reduced = single ? i == first : i >= first;
    size_t position = static_cast<size_t>(i);
    outer.push_back(reduced ? 1 : x[position]);
    at.push_back(reduced ? Index(0) : axis(position));
    data.push_back(reduced ? reduction_axis(reduction.size()) : axis(position));
    if (reduced) reduction.push_back(x[position]);
  }
  Scalar largest = Scalar::read("largest", at);
  std::vector<Index> here = all_axes(x.size());
  expression::Stage maximum_stage =
      reduce_stage("largest", outer, Reduction::Maximum, reduction, builder.read(0, data));
  maximum_stage.fill = -std::numeric_limits<float>::infinity();
  builder.add_stage(std::move(maximum_stage));
  if (logarithm) {
    expression::Stage total =
        reduce_stage("total", outer, Reduction::Sum, reduction,
                     Scalar::unary(Unary::Exp, builder.read(0, data) - largest));
    total.epilogue = Scalar::unary(Unary::Log, Scalar::reduced()) + largest;
    builder.add_stage(std::move(total));
    return builder.finish(
        {builder.add_stage(map_stage("y", x, builder.read(0, here) - Scalar::read("total", at)))});
  }
  builder.add_stage(
      map_stage("exponential", x, Scalar::unary(Unary::Exp, builder.read(0, here) - largest)));
  expression::Stage total =
      reduce_stage("total", outer, Reduction::Sum, reduction, Scalar::read("exponential", data));
  total.epilogue = Scalar::unary(Unary::Reciprocal, Scalar::reduced());
  builder.add_stage(std::move(total));
  return builder.finish({builder.add_stage(
      map_stage("y", x, Scalar::read("exponential", here) * Scalar::read("total", at)))});
}

}  // namespace

std::vector<KernelDefinition> softmax_kernels() {
  auto lowering = [](bool logarithm) {
    return [logarithm](const graph::Node& node, const LoweringContext& context) {
      return lower_softmax(node, context, logarithm);
    };
  };
  return {{"Softmax", lowering(false), nullptr}, {"LogSoftmax", lowering(true), nullptr}};
}

}  // namespace opsmith::kernels
