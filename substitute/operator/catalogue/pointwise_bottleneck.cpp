#include <algorithm>

#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  const int64_t narrower = std::min(layer.input_channels, layer.output_channels);
  return width_offers("width", "x_1", shares_of(narrower, {8, 6, 4, 3, 2}, 2));
}

}  // namespace

OperatorDefinition pointwise_bottleneck() {
  return {"pointwise-bottleneck",
          "t = convolution 1 x 1 of x to x_1 channels; u = convolution kh x kw of t to x_1; "
          "y = convolution 1 x 1 of u",
          R"(operator pointwise-bottleneck
input x[N, C_in, H, W]
region t[n: N, m: x_1, h: H, w: W] {
  reduce c: C_in
  share c -> c_x, c_w
  read x[n, c_x, h, w]
  weight w1[m, c_w]
}
region u[n: N, m: x_1, h: H_out, w: W_out] {
  reduce c: x_1
  reduce a: kh
  reduce b: kw
  share c -> c_t, c_w
  share a -> a_t, a_w
  share b -> b_t, b_w
  stride h by stride -> h_s
  stride w by stride -> w_s
  stride a_t by dilation -> a_d
  stride b_t by dilation -> b_d
  unfold h_s, a_d minus pad_top into H -> p
  unfold w_s, b_d minus pad_left into W -> q
  read t[n, c_t, p, q]
  weight w2[m, c_w, a_w, b_w]
}
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: x_1
  share c -> c_u, c_w
  read u[n, c_u, h, w]
  weight w3[o, c_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
