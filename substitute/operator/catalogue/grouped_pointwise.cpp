#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (layer.kind != LayerShape::Kind::Convolution) return Offers::refuse("it is no convolution");
  if (layer.kernel_height * layer.kernel_width != 1)
    return Offers::refuse("its window covers neighbours");
  Offers result;
  for (const int64_t g : {2, 4, 8})
    if (layer.input_channels % g == 0 && layer.output_channels % g == 0)
      result.offers.push_back({"g=" + std::to_string(g), {{"g", g}}});
  if (result.offers.empty()) result.refusal = "no number of groups divides its channels";
  return result;
}

}  // namespace

OperatorDefinition grouped_pointwise() {
  return {"grouped-pointwise", "y = convolution 1 x 1 of x in g groups",
          R"(operator grouped-pointwise
input x[N, C_in, H, W]
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: C_in/g
  reduce a: kh
  reduce b: kw
  share o -> o_x, o_w
  merge o_x by C_out/g -> group, rest
  expand rest
  share c -> c_x, c_w
  share a -> a_x, a_w
  share b -> b_x, b_w
  split group, c_x -> i
  stride h by stride -> h_s
  stride w by stride -> w_s
  unfold h_s, a_x minus pad_top into H -> p
  unfold w_s, b_x minus pad_left into W -> q
  read x[n, i, p, q]
  weight w1[o_w, c_w, a_w, b_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
