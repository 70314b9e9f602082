#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  if (layer.kernel_height == 1 || layer.kernel_width == 1)
    return Offers::refuse("its window is a line already");
  return width_offers("width", "x_1",
                      shares_of(layer.output_channels, {16, 12, 8, 6, 4, 3, 2, 1}, 2));
}

}  // namespace

OperatorDefinition spatially_separable() {
  return {"spatially-separable",
          "t = convolution kh x 1 of x to x_1 channels; y = convolution 1 x kw of t",
          R"(operator spatially-separable
input x[N, C_in, H, W]
region t[n: N, m: x_1, h: H_out, w: W] {
  reduce c: C_in
  reduce a: kh
  share c -> c_x, c_w
  share a -> a_x, a_w
  stride h by stride -> h_s
  stride a_x by dilation -> a_d
  unfold h_s, a_d minus pad_top into H -> p
  read x[n, c_x, p, w]
  weight w1[m, c_w, a_w]
}
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce c: x_1
  reduce b: kw
  share c -> c_t, c_w
  share b -> b_t, b_w
  stride w by stride -> w_s
  stride b_t by dilation -> b_d
  unfold w_s, b_d minus pad_left into W -> q
  read t[n, c_t, h, q]
  weight w2[o, c_w, b_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
