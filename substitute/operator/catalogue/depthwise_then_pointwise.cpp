#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  return width_offers("multiplier", "m", {1, 2});
}

}  // namespace

OperatorDefinition depthwise_then_pointwise() {
  return {"depthwise-then-pointwise",
          "t = depthwise convolution kh x kw of x, m filters a channel; y = convolution 1 x 1 of t",
          R"(operator depthwise-then-pointwise
input x[N, C_in, H, W]
region t[n: N, j: C_in*m, h: H_out, w: W_out] {
  reduce a: kh
  reduce b: kw
  share j -> j_x, j_w
  merge j_x by m -> i, rest
  expand rest
  share a -> a_x, a_w
  share b -> b_x, b_w
  stride h by stride -> h_s
  stride w by stride -> w_s
  stride a_x by dilation -> a_d
  stride b_x by dilation -> b_d
  unfold h_s, a_d minus pad_top into H -> p
  unfold w_s, b_d minus pad_left into W -> q
  read x[n, i, p, q]
  weight w1[j_w, a_w, b_w]
}
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: C_in*m
  share c -> c_t, c_w
  read t[n, c_t, h, w]
  weight w2[o, c_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
