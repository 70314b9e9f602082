#include "substitute/operator/catalogue/definition.h"

#include <algorithm>

namespace opsmith::substitute {

std::vector<int64_t> shares_of(int64_t total, std::vector<int64_t> sixteenths, int64_t least) {
  std::vector<int64_t> shares;
  for (const int64_t part : sixteenths) {
    const int64_t share = total * part / 16;
    if (share >= least && std::find(shares.begin(), shares.end(), share) == shares.end())
      shares.push_back(share);
  }
  return shares;
}

Offers width_offers(const std::string& label, const std::string& variable,
                    const std::vector<int64_t>& values) {
  Offers offers;
  for (const int64_t value : values)
    offers.offers.push_back({label + "=" + std::to_string(value), {{variable, value}}});
  if (values.empty()) offers.refusal = "it is too narrow";
  return offers;
}

std::string why_not_spatial(const LayerShape& layer) {
  if (layer.kind != LayerShape::Kind::Convolution) return "it is no convolution";
  if (layer.kernel_height * layer.kernel_width == 1) return "its window is a single element";
  return "";
}

}  // namespace opsmith::substitute
