#include <functional>

#include "runtime/schedule/variants/winograd.h"
#include "runtime/schedule/variants/winograd_transforms.h"

namespace opsmith::schedule {
namespace {

using expression::Axis;
using expression::Index;
using expression::Scalar;
using expression::Stage;

constexpr int64_t kFewestChannels = 16;

Index it(const char* name) { return Index::iterator(name); }
Index num(int64_t value) { return {value}; }

/// `count` reads of `tensor`, the number in place of the index that `at` makes of it.
std::vector<Scalar> reads(const std::string& tensor, int64_t count,
                          const std::function<std::vector<Index>(const Index&)>& at) {
  std::vector<Scalar> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(Scalar::read(tensor, at(num(i))));
  return values;
}

Stage make_stage(const std::string& name, std::vector<Axis> axes, Scalar body) {
  Stage stage;
  stage.name = name;
  stage.axes = std::move(axes);
  stage.body = std::move(body);
  return stage;
}

/// U[i, j, o, c] = G w G^T over the window of each pair of channels.
expression::Program preparation(const ConvolutionPattern& convolution, const std::string& prepared,
                                const WinogradTransforms& transforms) {
  const Axis o{"o", num(convolution.outputs)};
  const Axis c{"c", num(convolution.channels)};
  const Axis i{"i", num(transforms.size())};
  const Axis j{"j", num(transforms.size())};
  const Axis b{"b", num(3)};
  const std::string rows = prepared + ".rows";
  expression::Program program;
  program.name = "winograd weights";
  program.weights = {
      {convolution.weight, ElementType::Float32, {o.extent, c.extent, num(3), num(3)}}};
  const auto column = reads(convolution.weight, 3, [&](const Index& a) {
    return std::vector<Index>{it("o"), it("c"), a, it("b")};
  });
  const auto row = reads(rows, 3, [&](const Index& tap) {
    return std::vector<Index>{it("o"), it("c"), it("i"), tap};
  });
  program.stages = {
      make_stage(rows, {o, c, i, b}, choose(it("i"), transforms.weight(column))),
      make_stage(prepared, {i, j, o, c}, choose(it("j"), transforms.weight(row))),
  };
  program.outputs = {prepared};
  return program;
}

}  // namespace

bool winograd_fits(const ConvolutionPattern& convolution) {
  return convolution.window_height == 3 && convolution.window_width == 3 &&
         convolution.channels >= kFewestChannels && convolution.outputs >= kFewestChannels;
}

Variant winograd_variant(const expression::Program& defining, const ConvolutionPattern& convolution,
                         int64_t m) {
  const WinogradTransforms transforms{m};
  const int64_t size = transforms.size();
  const Stage& original = defining.stages[0];
  const WinogradStages names(original.name);
  const std::string prepared = convolution.weight + ".winograd" + std::to_string(m);
  const int64_t across = (convolution.width + m - 1) / m;
  const int64_t down = (convolution.height + m - 1) / m;

  Variant variant;
  variant.name = "winograd" + std::to_string(m);
  variant.program = defining;
  for (expression::TensorDeclaration& weight : variant.program.weights) {
    if (weight.name != convolution.weight) continue;
    weight.name = prepared;
    weight.shape = {num(size), num(size), num(convolution.outputs), num(convolution.channels)};
  }
  variant.prepared = {
      {prepared, convolution.weight, preparation(convolution, prepared, transforms)}};

  const Axis n{"n", num(convolution.batch)};
  const Axis t{"t", num(across * down)};
  const Axis i{"i", num(size)};
  const Axis j{"j", num(size)};
  const Axis b{"b", num(size)};
  const Axis c{"c", num(convolution.channels)};
  const Axis o{"o", num(convolution.outputs)};
  const Axis r{"r", num(m)};

  const auto image = reads(convolution.input, size, [&](const Index& a) {
    return std::vector<Index>{it("n"), it("c"),
                              floor_div(it("t"), across) * m + a - convolution.top,
                              mod(it("t"), across) * m + it("b") - convolution.left};
  });
  const auto rows = reads(names.rows, size, [&](const Index& tap) {
    return std::vector<Index>{it("n"), it("t"), it("i"), tap, it("c")};
  });
  const auto products = reads(names.product, size, [&](const Index& row) {
    return std::vector<Index>{it("n"), it("t"), row, it("j"), it("o")};
  });
  // The last stage keeps the iterators of the original, whose epilogue speaks of them.
  const Index n0 = Index::iterator(original.axes[0].name);
  const Index o0 = Index::iterator(original.axes[1].name);
  const Index h0 = Index::iterator(original.axes[2].name);
  const Index w0 = Index::iterator(original.axes[3].name);
  const auto columns = reads(names.columns, size, [&](const Index& column) {
    return std::vector<Index>{n0, floor_div(h0, m) * across + floor_div(w0, m), mod(h0, m), column,
                              o0};
  });

  Stage product =
      make_stage(names.product, {n, t, i, j, o},
                 Scalar::read(names.input, {it("n"), it("t"), it("i"), it("j"), it("c")}) *
                     Scalar::read(prepared, {it("i"), it("j"), it("o"), it("c")}));
  product.reduction = expression::Reduction::Sum;
  product.reduction_axes = {c};
  Stage last = original;
  last.reduction = expression::Reduction::None;
  last.reduction_axes.clear();
  last.body = choose(mod(w0, m), transforms.output(columns));
  variant.program.stages = {
      make_stage(names.rows, {n, t, i, b, c}, choose(it("i"), transforms.input(image))),
      make_stage(names.input, {n, t, i, j, c}, choose(it("j"), transforms.input(rows))),
      std::move(product),
      make_stage(names.columns, {n, t, r, j, o}, choose(it("r"), transforms.output(products))),
      std::move(last),
  };
  return variant;
}

}  // namespace opsmith::schedule
