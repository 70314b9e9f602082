#include <cmath>

#include "graph/operators/families.h"

namespace opsmith::graph {
namespace {

/// floor(extent * scale), in single precision as runtimes compute it.
Dimension scaled(const Inference& inference, const Dimension& extent, double scale) {
  if (!(scale > 0) || scale > 1e6) inference.fail("one of its scales is " + std::to_string(scale));
  if (extent.known()) {
    const float product = static_cast<float>(*extent.size) * static_cast<float>(scale);
    return static_cast<int64_t>(std::floor(product));
  }
  if (scale == std::floor(scale)) return extent * static_cast<int64_t>(scale);
  const double inverse = 1 / scale;
  return inverse == std::floor(inverse) ? floor_divide(extent, static_cast<int64_t>(inverse))
                                        : Dimension();
}

void scale_all(Inference& inference, const std::vector<double>& scales,
               const std::vector<size_t>& axes) {
  if (scales.size() != axes.size()) {
    inference.fail(std::to_string(scales.size()) + " scales do not fit " +
                   std::to_string(axes.size()) + " axes");
  }
  SymbolicShape y = *inference.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    y[axes[i]] = scaled(inference, y[axes[i]], scales[i]);
  }
  inference.set_shape(0, std::move(y));
}

std::vector<size_t> resized_axes(const Inference& inference) {
  std::vector<size_t> axes;
  const size_t rank = inference.shape(0)->size();
  if (inference.node().has("axes")) {
    for (const int64_t a : inference.node().integers("axes")) {
      axes.push_back(inference.axis(a, rank));
    }
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

bool absent(const Inference& inference, size_t i) {
  return !inference.has_input(i) || (inference.constant(i) && inference.constant(i)->count() == 0);
}

/// X, scales in opset 10; X, roi, scales, sizes afterwards.
void infer_resize(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  const size_t scales_at = inference.opset() < 11 ? 1 : 2;
  const std::vector<size_t> axes = resized_axes(inference);
  if (!absent(inference, scales_at)) {
    const bool crops = inference.node().text("coordinate_transformation_mode", "half_pixel") ==
                       "tf_crop_and_resize";  // then the region counts too
    if (const auto scales = inference.reals(scales_at); scales && !crops) {
      scale_all(inference, *scales, axes);
    } else {
      inference.set_shape(0, SymbolicShape(x->size()));
    }
    return;
  }
  SymbolicShape y = *x;
  const Elements* sizes = inference.elements(3);
  const std::string policy = inference.node().text("keep_aspect_ratio_policy", "stretch");
  if (sizes && sizes->size() != axes.size()) inference.fail("its sizes do not fit its axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    y[axes[i]] = sizes && policy == "stretch" ? (*sizes)[i] : Dimension();
  }
  inference.set_shape(0, std::move(y));
}

/// Scales as attributes up to opset 8, as an input from 9 on.
void infer_upsample(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  if (!x) return;
  std::optional<std::vector<double>> scales;
  if (inference.opset() >= 9) {
    scales = inference.reals(1);
  } else if (inference.node().has("height_scale")) {
    scales = {1, 1, inference.node().real("height_scale", 1),
              inference.node().real("width_scale", 1)};
  } else if (const auto found = inference.node().attributes.find("scales");
             found != inference.node().attributes.end()) {
    if (const auto* reals = std::get_if<std::vector<float>>(&found->second)) {
      scales = std::vector<double>(reals->begin(), reals->end());
    }
  }
  if (!scales) return inference.set_shape(0, SymbolicShape(x->size()));
  scale_all(inference, *scales, resized_axes(inference));
}

/// X [N, C, spatial...], grid [N, out..., spatial rank].
void infer_grid_sample(Inference& inference) {
  inference.set_type(0, inference.type(0));
  const SymbolicShape* x = inference.shape(0);
  const SymbolicShape* grid = inference.shape(1);
  inference.expect_rank(0, 3, 16);
  inference.expect_rank(1, 3, 16);
  if (!x || !grid) return;
  SymbolicShape y = {(*x)[0], (*x)[1]};
  y.insert(y.end(), grid->begin() + 1, grid->end() - 1);
  inference.set_shape(0, std::move(y));
}

}  // namespace

std::span<const OperatorDefinition> resizing_operators() {
  static const OperatorDefinition operators[] = {
      {"GridSample", infer_grid_sample},
      {"Resize", infer_resize},
      {"Upsample", infer_upsample},
  };
  return operators;
}

}  // namespace opsmith::graph
