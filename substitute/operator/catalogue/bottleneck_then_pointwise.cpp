#include <algorithm>

#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  return width_offers("width", "x_1", shares_of(layer.output_channels, {8, 6, 4, 2, 1}, 2));
}

}  // namespace

OperatorDefinition bottleneck_then_pointwise() {
  return {"bottleneck-then-pointwise",
          "t = convolution kh x kw of x to x_1 channels; y = convolution 1 x 1 of t",
          R"(operator bottleneck-then-pointwise
input x[N, C_in, H, W]
region t[n: N, m: x_1, h: H_out, w: W_out] {
  reduce c: C_in
  reduce a: kh
  reduce b: kw
  share c -> c_x, c_w
  share a -> a_x, a_w
  share b -> b_x, b_w
  stride h by stride -> h_s
  stride w by stride -> w_s
  stride a_x by dilation -> a_d
  stride b_x by dilation -> b_d
  unfold h_s, a_d minus pad_top into H -> p
  unfold w_s, b_d minus pad_left into W -> q
  read x[n, c_x, p, q]
  weight w1[m, c_w, a_w, b_w]
}
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: x_1
  share c -> c_t, c_w
  read t[n, c_t, h, w]
  weight w2[o, c_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
