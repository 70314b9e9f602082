#include <map>

#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

/// Numpy's matmul of inputs `left` and `right`.
void infer_product(Inference& inference, size_t left, size_t right) {
  const SymbolicShape* given_a = inference.shape(left);
  const SymbolicShape* given_b = inference.shape(right);
  inference.expect_rank(left, 1, 64);
  inference.expect_rank(right, 1, 64);
  if (!given_a || !given_b) return;
  SymbolicShape a = *given_a;
  SymbolicShape b = *given_b;
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), Dimension(1));
  if (column) b.emplace_back(1);
  const auto batch_of = [](const SymbolicShape& s) {
    return SymbolicShape(s.begin(), s.end() - 2);
  };
  auto result = broadcast(batch_of(a), batch_of(b));
  if (!result || !unify(a.back(), b[b.size() - 2])) {
    inference.fail("matrices of shapes " + to_string(*given_a) + " and " + to_string(*given_b) +
                   " cannot be multiplied");
  }
  if (!row) result->push_back(a[a.size() - 2]);
  if (!column) result->push_back(b.back());
  inference.set_shape(0, std::move(*result));
}

void infer_matmul(Inference& inference) {
  inference.set_type(0, inference.type(0));
  infer_product(inference, 0, 1);
}

void infer_matmul_integer(Inference& inference) {
  inference.set_type(0, ElementType::Int32);
  infer_product(inference, 0, 1);
}

void infer_quantized_matmul(Inference& inference) {
  inference.set_type(0, inference.type(7));
  infer_product(inference, 0, 3);
}

void infer_gemm(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.expect_rank(0, 2, 2);
  inference.expect_rank(1, 2, 2);
  const SymbolicShape* a = inference.shape(0);
  const SymbolicShape* b = inference.shape(1);
  const bool across_a = inference.node().integer("transA", 0) != 0;
  const bool across_b = inference.node().integer("transB", 0) != 0;
  if (a && b && !unify((*a)[across_a ? 0 : 1], (*b)[across_b ? 1 : 0])) {
    inference.fail("matrices of shapes " + to_string(*a) + " and " + to_string(*b) + " (transA " +
                   std::to_string(across_a) + ", transB " + std::to_string(across_b) +
                   ") cannot be multiplied");
  }
  SymbolicShape y(2);
  if (a) y[0] = (*a)[across_a ? 1 : 0];
  if (b) y[1] = (*b)[across_b ? 0 : 1];
  if (const SymbolicShape* c = inference.shape(2); c && inference.opset() >= 7) {
    const auto sum = broadcast(y, *c);
    if (!sum || sum->size() != 2) {
      inference.fail("the addend of shape " + to_string(*c) +
                     " does not fit the product of shape " + to_string(y));
    }
  }
  inference.set_shape(0, std::move(y));
}

/// Equations without ellipsis: "bij,bjk->bik".
void infer_einsum(Inference& inference) {
  inference.set_type(0, inference.type(0));
  std::string equation;
  for (const char c : inference.node().text("equation", "")) {
    if (c != ' ') equation += c;
  }
  if (equation.find('.') != std::string::npos) return;
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::map<char, Dimension> extents;
  std::map<char, int> uses;
  size_t operand = 0;
  size_t position = 0;
  for (const char c : left + ",") {
    const SymbolicShape* shape = inference.shape(operand);
    if (c == ',') {
      if (shape && shape->size() != position) {
        inference.fail("equation '" + equation + "' does not fit the shape " + to_string(*shape));
      }
      ++operand;
      position = 0;
      continue;
    }
    ++uses[c];
    if (shape && position < shape->size()) {
      Dimension& extent = extents[c];
      const auto same = unify(extent, (*shape)[position]);
      // Extent 1 is broadcast against any other.
      const bool one = extent == Dimension(1);
      if (!same && !one && !((*shape)[position] == Dimension(1))) {
        inference.fail(std::string("index '") + c + "' has two extents");
      }
      if (same) extent = *same;
      if (!same && one) extent = (*shape)[position];
    }
    ++position;
  }
  std::string right;
  if (arrow == std::string::npos) {
    for (const auto& [c, count] : uses) {
      if (count == 1) right += c;
    }
  } else {
    right = equation.substr(arrow + 2);
  }
  SymbolicShape y;
  for (const char c : right) y.push_back(extents[c]);
  inference.set_shape(0, std::move(y));
}

void infer_determinant(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.expect_rank(0, 2, 64);
  if (const SymbolicShape* x = inference.shape(0)) {
    inference.set_shape(0, SymbolicShape(x->begin(), x->end() - 2));
  }
}

}  // namespace

std::span<const OperatorDefinition> matrix_operators() {
  static const OperatorDefinition operators[] = {
      {"Det", infer_determinant},
      {"Einsum", infer_einsum},
      {"Gemm", infer_gemm},
      {"MatMul", infer_matmul},
      {"MatMulInteger", infer_matmul_integer},
      {"QLinearMatMul", infer_quantized_matmul},
  };
  return operators;
}

}  // namespace opsmith::graph
