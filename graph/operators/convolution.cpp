#include "graph/operators/families.h"
#include "graph/operators/window.h"

namespace opsmith::graph {
namespace {

/// Spatial extents of the weight, from its shape or the attribute; nullopt when neither says.
std::optional<std::vector<int64_t>> kernel_extents(const Inference& inference, size_t weight) {
  const SymbolicShape* shape = inference.shape(weight);
  const std::vector<int64_t> given = inference.node().integers("kernel_shape");
  if (!shape) return given.empty() ? std::nullopt : std::optional(given);
  std::vector<int64_t> extents;
  for (size_t i = 2; i < shape->size(); ++i) {
    if (!(*shape)[i].known()) return given.empty() ? std::nullopt : std::optional(given);
    extents.push_back(*(*shape)[i].size);
  }
  if (!given.empty() && given != extents) {
    inference.fail("kernel_shape " + opsmith::to_string(Shape(given)) +
                   " contradicts the weight's shape " + to_string(*shape));
  }
  return extents;
}

void require_equal(const Inference& inference, const Dimension& a, const Dimension& b,
                   const std::string& what) {
  if (!unify(a, b)) {
    inference.fail(what + ": " + std::to_string(*a.size) + " against " + std::to_string(*b.size));
  }
}

int64_t group_count(const Inference& inference) {
  const int64_t group = inference.node().integer("group", 1);
  if (group < 1) inference.fail("group is " + std::to_string(group));
  return group;
}

/// Input x at `data`, weight [O, C / group, kernel...] at `weight`.
void infer_convolution(Inference& inference, size_t data, size_t weight, size_t bias) {
  const SymbolicShape* x = inference.shape(data);
  const SymbolicShape* w = inference.shape(weight);
  inference.expect_rank(data, 2, 16);
  if (x && w && x->size() != w->size()) {
    inference.fail("input of shape " + to_string(*x) + " and weight of shape " + to_string(*w) +
                   " have different ranks");
  }
  const int64_t group = group_count(inference);
  if (x && w) {
    require_equal(
        inference, (*x)[1], (*w)[1] * group,
        "the input's channels do not fit the weight (times " + std::to_string(group) + " groups)");
  }
  if (w && (*w)[0].known() && *(*w)[0].size % group != 0) {
    inference.fail("its output channels are not a multiple of its groups");
  }
  const SymbolicShape* b = inference.shape(bias);
  if (w && b && b->size() == 1) {
    require_equal(inference, (*b)[0], (*w)[0], "the bias does not fit the output channels");
  }
  if (!x) return;
  SymbolicShape y(x->size());
  y[0] = (*x)[0];
  if (w) y[1] = (*w)[0];
  const auto kernel = kernel_extents(inference, weight);
  if (kernel && kernel->size() + 2 == x->size()) {
    const Window window = Window::read(inference, *kernel);
    for (size_t i = 0; i < kernel->size(); ++i) {
      y[i + 2] = window.extent(inference, (*x)[i + 2], i);
    }
  }
  inference.set_shape(0, std::move(y));
}

void infer_conv(Inference& inference) {
  inference.set_type(0, inference.type(0));
  infer_convolution(inference, 0, 1, 2);
}

void infer_conv_integer(Inference& inference) {
  inference.set_type(0, ElementType::Int32);
  infer_convolution(inference, 0, 1, 99);
}

void infer_quantized_conv(Inference& inference) {
  inference.set_type(0, inference.type(7));
  infer_convolution(inference, 0, 3, 8);
}

/// Weight [C, O / group, kernel...].
void infer_conv_transpose(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  const SymbolicShape* w = inference.shape(1);
  inference.expect_rank(0, 3, 16);
  if (x && w && x->size() != w->size()) inference.fail("input and weight have different ranks");
  const int64_t group = group_count(inference);
  if (x && w) {
    require_equal(inference, (*x)[1], (*w)[0], "the input's channels do not fit the weight");
  }
  if (!x) return;
  SymbolicShape y(x->size());
  y[0] = (*x)[0];
  if (w) y[1] = (*w)[1] * group;
  const auto kernel = kernel_extents(inference, 1);
  if (kernel && kernel->size() + 2 == x->size()) {
    const size_t rank = kernel->size();
    const Window window = Window::read(inference, *kernel);
    const auto extra = inference.node().integers("output_padding", std::vector<int64_t>(rank, 0));
    const auto given = inference.node().integers("output_shape");
    if (extra.size() != rank) inference.fail("output_padding has the wrong length");
    for (size_t i = 0; i < rank; ++i) {
      const Dimension& in = (*x)[i + 2];
      if (given.size() >= rank) {
        y[i + 2] = given[given.size() - rank + i];
      } else if (window.padding == Window::Padding::Same) {
        y[i + 2] = in * window.strides[i];
      } else {
        y[i + 2] =
            (in - 1) * window.strides[i] +
            Dimension(extra[i] + window.reach(i) - window.pads_begin[i] - window.pads_end[i]);
      }
      if (y[i + 2].known() && *y[i + 2].size < 0) {
        inference.fail("its padding leaves a negative output");
      }
    }
  }
  inference.set_shape(0, std::move(y));
}

/// X, W, offset, bias, mask.
void infer_deform_conv(Inference& inference) {
  inference.set_type(0, inference.type(0));
  infer_convolution(inference, 0, 1, 3);
}

}  // namespace

std::span<const OperatorDefinition> convolution_operators() {
  static const OperatorDefinition operators[] = {
      {"Conv", infer_conv},
      {"ConvInteger", infer_conv_integer},
      {"ConvTranspose", infer_conv_transpose},
      {"DeformConv", infer_deform_conv},
      {"QLinearConv", infer_quantized_conv},
  };
  return operators;
}

}  // namespace opsmith::graph
