#pragma once

#include "graph/passes/passes.h"
#include "graph/shape_inference.h"
#include "graph/validate.h"
#include "support/random.h"
#include "tests/graph/builders.h"

namespace opsmith::testing {

/// Runs a pass once on inferred shapes, checks the form of the result, returns its count.
inline int run_pass(int (*pass)(graph::Model&, const graph::PassContext&), graph::Model& model,
                    const graph::PassContext& context = {}) {
  infer_shapes(model);
  const int changes = pass(model, context);
  graph::validate(model);
  return changes;
}

inline Tensor random_tensor(Random& random, const Shape& shape) {
  Tensor tensor(ElementType::Float32, shape);
  for (float& value : tensor.data<float>()) value = static_cast<float>(random.uniform(-1, 1));
  return tensor;
}

}  // namespace opsmith::testing
