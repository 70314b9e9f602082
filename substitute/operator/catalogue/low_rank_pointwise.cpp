#include <algorithm>

#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (layer.kind != LayerShape::Kind::Convolution) return Offers::refuse("it is no convolution");
  if (layer.kernel_height * layer.kernel_width != 1)
    return Offers::refuse("its window covers neighbours");
  const int64_t narrower = std::min(layer.input_channels, layer.output_channels);
  return width_offers("rank", "x_1", shares_of(narrower, {8, 6, 4, 2, 1}, 2));
}

}  // namespace

OperatorDefinition low_rank_pointwise() {
  return {"low-rank-pointwise",
          "t = convolution 1 x 1 of x to x_1 channels; y = convolution 1 x 1 of t",
          R"(operator low-rank-pointwise
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
  unfold h_s, a_x minus pad_top into H -> p
  unfold w_s, b_x minus pad_left into W -> q
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
