#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

/// Each of the kh*kw neighbours is seen by a block of x_1 consecutive channels; the last block may
/// reach past the last channel, where the tensor is zero.
Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  const int64_t neighbours = layer.kernel_height * layer.kernel_width;
  if (layer.input_channels < neighbours)
    return Offers::refuse("it has fewer channels than its window has elements");
  const int64_t block = (layer.input_channels + neighbours - 1) / neighbours;
  return {{{"block=" + std::to_string(block), {{"x_1", block}}}}, ""};
}

}  // namespace

OperatorDefinition shift_then_pointwise() {
  return {"shift-then-pointwise",
          "y = convolution 1 x 1 of x, whose channels in blocks of x_1 are moved to one neighbour "
          "each",
          R"(operator shift-then-pointwise
input x[N, C_in, H, W]
region y[n: N, o: C_out, h: H_out, w: W_out] {
  reduce a: kh
  reduce b: kw
  reduce c: x_1
  reduce zero: 1
  share a -> a_x, a_w
  share b -> b_x, b_w
  share c -> c_x, c_w
  share a_x -> a_channel, a_window
  share b_x -> b_channel, b_window
  split a_channel, b_channel -> neighbour
  split neighbour, c_x -> channel
  unfold channel, zero minus 0 into C_in -> i
  stride h by stride -> h_s
  stride w by stride -> w_s
  stride a_window by dilation -> a_d
  stride b_window by dilation -> b_d
  unfold h_s, a_d minus pad_top into H -> p
  unfold w_s, b_d minus pad_left into W -> q
  read x[n, i, p, q]
  weight w1[o, a_w, b_w, c_w]
}
)",
          offers};
}

}  // namespace opsmith::substitute
