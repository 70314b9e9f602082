#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (const std::string why = why_not_spatial(layer); !why.empty()) return Offers::refuse(why);
  if (const std::string why = why_not_same_window(layer); !why.empty()) return Offers::refuse(why);
  Offers result;
  for (const int64_t g : {8, 32})
    for (const int64_t s : {2, 4})
      if (layer.input_channels % g == 0 && layer.output_channels % (g * s) == 0)
        result.offers.push_back(
            {"g=" + std::to_string(g) + " s=" + std::to_string(s), {{"g", g}, {"s", s}}});
  if (result.offers.empty()) result.refusal = "g and g*s do not divide its channels";
  return result;
}

}  // namespace

/// Syno, section 9.2, Operator 1.
OperatorDefinition syno_operator_1() {
  return {"syno-operator-1",
          "y[n,o,h,w] = sum over l<g, a, b, r<C_out/(g*s), c<C_in/g of x[n, l*C_in/g+c, h+a-kh/2, "
          "w+b-kw/2] * w1[o,l,a,b,r] * w2[l*C_in/g+c,b,r]",
          R"(operator syno-operator-1
input x[N, C_in, H, W]
region y[n: N, o: C_out, h: H, w: W] {
  reduce l: g
  reduce a: kh
  reduce b: kw
  reduce r: C_out/(g*s)
  reduce c: C_in/g
  share l -> l_x, l_1
  share a -> a_x, a_1
  share b -> b_12, b_x
  share b_12 -> b_1, b_2
  share r -> r_1, r_2
  split l_x, c -> i
  share i -> i_x, i_2
  unfold h, a_x -> p
  unfold w, b_x -> q
  read x[n, i_x, p, q]
  weight w1[o, l_1, a_1, b_1, r_1]
  weight w2[i_2, b_2, r_2]
}
)",
          offers};
}

}  // namespace opsmith::substitute
