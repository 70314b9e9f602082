#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  Offers result;
  for (const int64_t g : {2, 4, 8, 16, 32}) {
    // One channel in each group is the depthwise operator.
    if (layer.input_channels % g != 0 || layer.input_channels / g < 2) continue;
    result.offers.push_back({"g=" + std::to_string(g), {{"g", g}}});
  }
  if (result.offers.empty()) result.refusal = "no number of groups divides its input channels";
  return result;
}

}  // namespace

OperatorDefinition grouped_then_pointwise() {
  return {"grouped-then-pointwise",
          "t = convolution kh x kw of x in g groups; y = convolution 1 x 1 of t",
          R"(operator grouped-then-pointwise
input x[N, C_in, H, W]
region t[n: N, m: C_in, h: H_out, w: W_out] {
  reduce c: C_in/g
  reduce a: kh
  reduce b: kw
  share m -> m_x, m_w
  merge m_x by C_in/g -> group, rest
  expand rest
  share c -> c_x, c_w
  share a -> a_x, a_w
  share b -> b_x, b_w
  split group, c_x -> i
  stride h by stride -> h_s
  stride w by stride -> w_s
  stride a_x by dilation -> a_d
  stride b_x by dilation -> b_d
  unfold h_s, a_d minus pad_top into H -> p
  unfold w_s, b_d minus pad_left into W -> q
  read x[n, i, p, q]
  weight w1[m_w, c_w, a_w, b_w]
}
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: C_in
  share c -> c_t, c_w
  read t[n, c_t, h, w]
  weight w2[o, c_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
