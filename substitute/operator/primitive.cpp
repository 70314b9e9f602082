#include "substitute/operator/primitive.h"

namespace opsmith::substitute {

namespace {

std::vector<Coordinate> sources_of(const Split& p) { return {p.outer, p.inner}; }
std::vector<Coordinate> sources_of(const Merge& p) { return {p.source}; }
std::vector<Coordinate> sources_of(const Shift& p) { return {p.source}; }
std::vector<Coordinate> sources_of(const Expand& p) { return {p.source}; }
std::vector<Coordinate> sources_of(const Unfold& p) { return {p.position, p.window}; }
std::vector<Coordinate> sources_of(const Stride& p) { return {p.source}; }
std::vector<Coordinate> sources_of(const Reduce&) { return {}; }
std::vector<Coordinate> sources_of(const Share& p) { return {p.source}; }

std::vector<Coordinate> results_of(const Split& p) { return {p.result}; }
std::vector<Coordinate> results_of(const Merge& p) { return {p.outer, p.inner}; }
std::vector<Coordinate> results_of(const Shift& p) { return {p.result}; }
std::vector<Coordinate> results_of(const Expand&) { return {}; }
std::vector<Coordinate> results_of(const Unfold& p) { return {p.result}; }
std::vector<Coordinate> results_of(const Stride& p) { return {p.result}; }
std::vector<Coordinate> results_of(const Reduce& p) { return {p.result}; }
std::vector<Coordinate> results_of(const Share& p) { return {p.first, p.second}; }

std::string verb_of(const Split&) { return "split"; }
std::string verb_of(const Merge&) { return "merge"; }
std::string verb_of(const Shift&) { return "shift"; }
std::string verb_of(const Expand&) { return "expand"; }
std::string verb_of(const Unfold&) { return "unfold"; }
std::string verb_of(const Stride&) { return "stride"; }
std::string verb_of(const Reduce&) { return "reduce"; }
std::string verb_of(const Share&) { return "share"; }

}  // namespace

std::string to_string(const Amount& amount) {
  return amount.name.empty() ? std::to_string(amount.value) : amount.name;
}

std::vector<Coordinate> sources(const Primitive& primitive) {
  return std::visit([](const auto& p) { return sources_of(p); }, primitive);
}

std::vector<Coordinate> results(const Primitive& primitive) {
  return std::visit([](const auto& p) { return results_of(p); }, primitive);
}

std::string verb(const Primitive& primitive) {
  return std::visit([](const auto& p) { return verb_of(p); }, primitive);
}

}  // namespace opsmith::substitute
