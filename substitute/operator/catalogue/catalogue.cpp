#include "substitute/operator/catalogue/catalogue.h"

#include <algorithm>

#include "substitute/operator/value_graph.h"
#include "support/error.h"

namespace opsmith::substitute {

const std::vector<OperatorDefinition>& all_operators() {
  static const std::vector<OperatorDefinition> operators = {
      grouped_then_pointwise(),  //
      bottleneck_then_pointwise(), pointwise_bottleneck(), depthwise_then_pointwise(),
      spatially_separable(),       low_rank_pointwise(),   grouped_pointwise(),
      shift_then_pointwise(),      syno_operator_1(),      syno_operator_2(),
      low_rank_product(),
  };
  return operators;
}

Instance instantiate(const OperatorDefinition& definition, const Offer& offer,
                     const LayerShape& layer) {
  ValueGraph graph = parse_operator(definition.text);
  graph.sizes = offer.sizes;
  Candidate candidate;
  candidate.name = definition.name + " " + offer.label;
  candidate.formula = definition.formula;
  for (const auto& [variable, value] : offer.sizes)
    candidate.formula += "; " + variable + " = " + std::to_string(value);
  candidate.text = print(graph);
  try {
    require_whole_sizes(graph, layer_values(layer), fixed_extents(layer));
    candidate.program = lower(graph, layer_values(layer), typical_binding(layer));
  } catch (const UserError& error) {
    return {std::nullopt, error.what()};
  }
  if (candidate.macs(layer) >= layer_macs(layer))
    return {std::nullopt, "it would cost no less than the layer itself"};
  return {std::move(candidate), ""};
}

namespace {

struct Survey {
  std::vector<Candidate> candidates;
  std::vector<Refusal> refusals;
};

Survey survey(const LayerShape& layer) {
  Survey result;
  for (const OperatorDefinition& definition : all_operators()) {
    const Offers offers = definition.offers(layer);
    if (offers.offers.empty()) result.refusals.push_back({definition.name, offers.refusal});
    for (const Offer& offer : offers.offers) {
      Instance instance = instantiate(definition, offer, layer);
      if (instance.candidate)
        result.candidates.push_back(std::move(*instance.candidate));
      else
        result.refusals.push_back({definition.name + " " + offer.label, instance.refusal});
    }
  }
  return result;
}

}  // namespace

std::vector<Candidate> catalogue(const LayerShape& layer) {
  std::vector<Candidate> candidates = survey(layer).candidates;
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [&](const Candidate& a, const Candidate& b) { return a.macs(layer) > b.macs(layer); });
  return candidates;
}

std::vector<Refusal> refusals(const LayerShape& layer) { return survey(layer).refusals; }

int64_t Candidate::macs(const LayerShape& layer, int64_t batch) const {
  return expression::multiply_accumulates(
      expression::instantiate(program, typical_binding(layer, batch)));
}

int64_t Candidate::parameters() const { return expression::parameter_count(program); }

}  // namespace opsmith::substitute
