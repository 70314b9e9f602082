#pragma once

#include <functional>
#include <string>
#include <vector>

#include "substitute/operator/layer.h"

namespace opsmith::substitute {

/// One instance of an operator that a layer is offered: values for the operator's own variables.
struct Offer {
  std::string label;  ///< "g=4": tells the instance from the operator's others
  expression::Binding sizes;
};

/// What a layer is offered; when nothing, `refusal` says why.
struct Offers {
  std::vector<Offer> offers;
  std::string refusal;

  static Offers refuse(std::string why) { return {{}, std::move(why)}; }
};

/// An operator of the catalogue. Adding one is a file that defines it and a line in
/// catalogue.cpp.
struct OperatorDefinition {
  std::string name;     ///< "grouped-then-pointwise"
  std::string formula;  ///< one line for people
  std::string text;     ///< the operator in the algebra
  /// Instances worth trying. Divisibility need not be checked here: instances whose sizes do not
  /// divide are dropped when the operator is instantiated.
  std::function<Offers(const LayerShape&)> offers;
};

OperatorDefinition grouped_then_pointwise();
OperatorDefinition bottleneck_then_pointwise();
OperatorDefinition pointwise_bottleneck();
OperatorDefinition depthwise_then_pointwise();
OperatorDefinition spatially_separable();
OperatorDefinition low_rank_pointwise();
OperatorDefinition grouped_pointwise();
OperatorDefinition shift_then_pointwise();
OperatorDefinition syno_operator_1();
OperatorDefinition syno_operator_2();
OperatorDefinition low_rank_product();

/// Sixteenths of `total` (as many as `sixteenths` says), rounded down, at least `least`, without
/// repetitions.
std::vector<int64_t> shares_of(int64_t total, std::vector<int64_t> sixteenths, int64_t least = 1);

/// Offers of one width variable: for each value, the label "name=value" and {variable: value}.
Offers width_offers(const std::string& label, const std::string& variable,
                    const std::vector<int64_t>& values);

/// Empty when the layer is a convolution whose window covers neighbours; otherwise why not.
std::string why_not_spatial(const LayerShape& layer);

}  // namespace opsmith::substitute
