#include <algorithm>

#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

namespace {

Offers offers(const LayerShape& layer) {
  if (layer.kind != LayerShape::Kind::Product) return Offers::refuse("it is no matrix product");
  const int64_t narrower = std::min(layer.input_channels, layer.output_channels);
  return width_offers("rank", "x_1", shares_of(narrower, {8, 6, 4, 2, 1}, 2));
}

}  // namespace

OperatorDefinition low_rank_product() {
  return {"low-rank-product", "y = (x * w1) * w2 with x_1 columns between",
          R"(operator low-rank-product
input x[M, K]
region t[m: M, r: x_1] {
  reduce c: K
  share c -> c_x, c_w
  read x[m, c_x]
  weight w1[c_w, r]
}
region y[m: M, o: C_out] {
  reduce c: x_1
  share c -> c_t, c_w
  read t[m, c_t]
  weight w2[c_w, o]
}
)",
          offers};
}

}  // namespace opsmith::substitute
