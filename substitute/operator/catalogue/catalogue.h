#pragma once

#include <string>
#include <vector>

#include "substitute/operator/catalogue/definition.h"

namespace opsmith::substitute {

/// Every operator of the catalogue.
const std::vector<OperatorDefinition>& all_operators();

/// One operator instantiated for a layer, or why it cannot be ("C_in/g = 3/2 is not a whole
/// number"). Exactly one of the two is set.
struct Instance {
  std::optional<Candidate> candidate;
  std::string refusal;
};
Instance instantiate(const OperatorDefinition& definition, const Offer& offer,
                     const LayerShape& layer);

/// Why an operator, or one of its instances, is not in `catalogue(layer)`.
struct Refusal {
  std::string name;
  std::string why;
};
std::vector<Refusal> refusals(const LayerShape& layer);

}  // namespace opsmith::substitute
