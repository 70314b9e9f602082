#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

/// X [steps, batch, inputs] (batch first where layout is 1); outputs Y [steps, directions, batch,
/// hidden], Y_h and, for an LSTM, Y_c [directions, batch, hidden].
void infer_recurrent(Inference& inference) {
  for (size_t i = 0; i < 3; ++i) inference.set_type(i, inference.type(0));
  inference.expect_rank(0, 3, 3);
  const SymbolicShape* x = inference.shape(0);
  const bool batch_first = inference.node().integer("layout", 0) != 0;
  const Dimension steps = x ? (*x)[batch_first ? 1 : 0] : Dimension();
  const Dimension batch = x ? (*x)[batch_first ? 0 : 1] : Dimension();
  const Dimension directions =
      inference.node().text("direction", "forward") == "bidirectional" ? 2 : 1;
  Dimension hidden;
  if (inference.node().has("hidden_size")) {
    hidden = inference.node().integer("hidden_size", 0);
  } else if (const SymbolicShape* r = inference.shape(2); r && r->size() == 3) {
    hidden = (*r)[2];
  }
  if (batch_first) {
    inference.set_shape(0, {batch, steps, directions, hidden});
  } else {
    inference.set_shape(0, {steps, directions, batch, hidden});
  }
  for (size_t i = 1; i < 3; ++i) {
    inference.set_shape(i, batch_first ? SymbolicShape{batch, directions, hidden}
                                       : SymbolicShape{directions, batch, hidden});
  }
}

}  // namespace

std::span<const OperatorDefinition> recurrent_operators() {
  static const OperatorDefinition operators[] = {
      {"GRU", infer_recurrent},
      {"LSTM", infer_recurrent},
      {"RNN", infer_recurrent},
  };
  return operators;
}

}  // namespace opsmith::graph
