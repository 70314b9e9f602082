#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Reduction;
using expression::Scalar;

// Index of an operand's batch dimensions, broadcast into the batch axes of the output.
std::vector<Index> batch_indices(const Shape& operand, size_t batch_rank, const Shape& output) {
  std::vector<Index> indices;
  size_t own = operand.size() - 2;
  for (size_t i = 0; i < own; ++i) {
    size_t along = batch_rank - own + i;
    indices.push_back(operand[i] == 1 && output[along] != 1 ? Index(0) : axis(along));
  }
  return indices;
}

// z[b..., m, n] = sum over k of a[b..., m, k] * b[b..., k, n]; vectors as in numpy.matmul.
std::optional<Lowered> lower_matmul(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_numbers()) return std::nullopt;
  const Shape& a = builder.shape(0);
  const Shape& b = builder.shape(1);
  bool row = a.size() == 1;
  bool column = b.size() == 1;
  int64_t inner = a.empty() ? 0 : a.back();
  if (a.empty() || b.empty() || inner != (column ? b[0] : b[b.size() - 2])) {
    throw UserError(describe(node) + ": shapes " + to_string(a) + " and " + to_string(b) +
                    " cannot be multiplied");
  }
  Shape batch = broadcast_shapes(row ? Shape{} : Shape(a.begin(), a.end() - 2),
                                 column ? Shape{} : Shape(b.begin(), b.end() - 2), node);
  Shape output = batch;
  std::vector<Index> left, right;
  if (!row) {
    left = batch_indices(a, batch.size(), batch);
    left.push_back(axis(output.size()));
    output.push_back(a[a.size() - 2]);
  }
  left.push_back(reduction_axis(0));
  if (!column) right = batch_indices(b, batch.size(), batch);
  right.push_back(reduction_axis(0));
  if (!column) {
    right.push_back(axis(output.size()));
    output.push_back(b.back());
  }
  return builder.finish({builder.add_stage(
      reduce_stage("y", output, Reduction::Sum, {inner},
                   builder.read(0, std::move(left)) * builder.read(1, std::move(right))))});
}

// y = alpha * op(a) * op(b) + beta * c, with c broadcast to [M, N].
std::optional<Lowered> lower_gemm(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_numbers()) return std::nullopt;
  const Shape& a = builder.shape(0);
  const Shape& b = builder.shape(1);
  bool transpose_a = node.integer("transA", 0) != 0;
  bool transpose_b = node.integer("transB", 0) != 0;
  if (a.size() != 2 || b.size() != 2 || a[transpose_a ? 0 : 1] != b[transpose_b ? 1 : 0]) {
    throw UserError(describe(node) + ": shapes " + to_string(a) + " and " + to_string(b) +
                    " cannot be multiplied");
  }
  Shape output = {a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1]};
  Index k = reduction_axis(0);
  auto left = transpose_a ? std::vector<Index>{k, axis(0)} : std::vector<Index>{axis(0), k};
  auto right = transpose_b ? std::vector<Index>{axis(1), k} : std::vector<Index>{k, axis(1)};
  expression::Stage stage =
      reduce_stage("y", output, Reduction::Sum, {a[transpose_a ? 0 : 1]},
                   builder.read(0, std::move(left)) * builder.read(1, std::move(right)));
  double alpha = node.real("alpha", 1);
  double beta = node.real("beta", 1);
  Scalar result = Scalar::reduced();
  if (alpha != 1) result = result * Scalar::constant(alpha);
  if (builder.has(2) && beta != 0) {
    broadcast_shapes(builder.shape(2), output, node);
    Scalar bias = builder.read_broadcast(2, output);
    result = result + (beta == 1 ? bias : bias * Scalar::constant(beta));
  }
  if (result.kind() != Scalar::Kind::Reduced) stage.epilogue = result;
  return builder.finish({builder.add_stage(std::move(stage))});
}

}  // namespace

std::vector<KernelDefinition> matrix_product_kernels() {
  return {{"MatMul", lower_matmul, nullptr}, {"Gemm", lower_gemm, nullptr}};
}

}  // namespace opsmith::kernels
