#include "graph/operators/families.h"
#include "graph/operators/window.h"

namespace opsmith::graph {
namespace {

void infer_pool(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.set_type(1, ElementType::Int64);  // indices of a MaxPool
  const SymbolicShape* x = inference.shape(0);
  inference.expect_rank(0, 3, 16);
  if (!x) return;
  const std::vector<int64_t> kernel = inference.node().integers("kernel_shape");
  if (kernel.size() + 2 != x->size()) {
    inference.fail("kernel_shape has " + std::to_string(kernel.size()) +
                   " entries, but its input is of shape " + to_string(*x));
  }
  const Window window = Window::read(inference, kernel);
  const bool ceil_mode = inference.node().integer("ceil_mode", 0) != 0;
  SymbolicShape y = *x;
  for (size_t i = 0; i < kernel.size(); ++i) {
    y[i + 2] = window.extent(inference, (*x)[i + 2], i, ceil_mode);
  }
  inference.set_shape(1, y);
  inference.set_shape(0, std::move(y));
}

void infer_global_pool(Inference& inference) {
  inference.set_type(0, inference.type(0));
  inference.expect_rank(0, 2, 16);
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  SymbolicShape y(x->size(), Dimension(1));
  y[0] = (*x)[0];
  y[1] = (*x)[1];
  inference.set_shape(0, std::move(y));
}

/// x, indices, optionally the output shape.
void infer_max_unpool(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  if (inference.has_input(2)) {
    const Elements* given = inference.elements(2);
    inference.set_shape(0, given ? *given : SymbolicShape(x->size()));
    return;
  }
  const Window window = Window::read(inference, inference.node().integers("kernel_shape"));
  if (window.kernel.size() + 2 != x->size()) inference.fail("kernel_shape has the wrong length");
  SymbolicShape y = *x;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    y[i + 2] = ((*x)[i + 2] - 1) * window.strides[i] +
               Dimension(window.kernel[i] - window.pads_begin[i] - window.pads_end[i]);
  }
  inference.set_shape(0, std::move(y));
}

/// Regions [count, ...] cut out of x and pooled to height x width.
void infer_regions(Inference& inference, const Dimension& height, const Dimension& width) {
  inference.set_type(0, inference.type(0));
  inference.expect_rank(0, 4, 4);
  const SymbolicShape* x = inference.shape(0);
  const SymbolicShape* regions = inference.shape(1);
  SymbolicShape y(4);
  if (regions && !regions->empty()) y[0] = (*regions)[0];
  if (x) y[1] = (*x)[1];
  y[2] = height;
  y[3] = width;
  inference.set_shape(0, std::move(y));
}

void infer_roi_align(Inference& inference) {
  infer_regions(inference, inference.node().integer("output_height", 1),
                inference.node().integer("output_width", 1));
}

void infer_max_roi_pool(Inference& inference) {
  const std::vector<int64_t> pooled = inference.node().integers("pooled_shape");
  if (pooled.size() != 2) inference.fail("pooled_shape needs two entries");
  infer_regions(inference, pooled[0], pooled[1]);
}

}  // namespace

std::span<const OperatorDefinition> pooling_operators() {
  static const OperatorDefinition operators[] = {
      {"AveragePool", infer_pool},
      {"GlobalAveragePool", infer_global_pool},
      {"GlobalLpPool", infer_global_pool},
      {"GlobalMaxPool", infer_global_pool},
      {"LpPool", infer_pool},
      {"MaxPool", infer_pool},
      {"MaxRoiPool", infer_max_roi_pool},
      {"MaxUnpool", infer_max_unpool},
      {"RoiAlign", infer_roi_align},
  };
  return operators;
}

}  // namespace opsmith::graph
