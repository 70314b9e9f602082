#include <algorithm>
#include <map>

#include "runtime/kernels/families.h"
#include "runtime/kernels/program_builder.h"
#include "support/error.h"

// Einsum: one sum of products over the indices that the result does not have.
namespace opsmith::kernels {
namespace {

using expression::Index;
using expression::Scalar;

/// An equation taken apart. Dimensions under an ellipsis get the labels '0', '1', ... counted from
/// the last one, so that they are broadcast from the right.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

std::string without_spaces(const std::string& text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result),
               [](char c) { return c != ' '; });
  return result;
}

// Labels of the ellipsis in place of the dots.
std::string expand(std::string term, size_t rank, const graph::Node& node) {
  const size_t dots = term.find("...");
  if (dots != std::string::npos) {
    const size_t named = term.size() - 3;
    if (named > rank || rank - named > 10) {
      throw UserError(describe(node) + ": '" + term + "' does not fit rank " +
                      std::to_string(rank));
    }
    std::string labels;
    for (size_t i = rank - named; i-- > 0;) labels += static_cast<char>('0' + i);
    term.replace(dots, 3, labels);
  }
  const bool letters =
      std::all_of(term.begin(), term.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  if (term.size() != rank || !letters) {
    throw UserError(describe(node) + ": '" + term + "' does not fit rank " + std::to_string(rank));
  }
  return term;
}

Equation parse(const graph::Node& node, const LoweringContext& context) {
  const std::string text = without_spaces(node.text("equation", ""));
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow) + ",";
  Equation equation;
  std::string ellipsis;
  for (size_t begin = 0; begin < left.size();) {
    const size_t end = left.find(',', begin), i = equation.operands.size();
    if (i >= context.input_shapes.size()) {
      throw UserError(describe(node) + ": its equation has more terms than the node inputs");
    }
    equation.operands.push_back(
        expand(left.substr(begin, end - begin), context.input_shapes[i].size(), node));
    std::string dims;
    for (char c : equation.operands.back()) {
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) dims += c;
    }
    if (dims.size() > ellipsis.size()) ellipsis = dims;
    begin = end + 1;
  }
  if (equation.operands.size() != context.input_shapes.size()) {
    throw UserError(describe(node) + ": its equation has fewer terms than the node inputs");
  }
  if (arrow != std::string::npos) {
    const std::string right = text.substr(arrow + 2);
    const size_t dots = right.find("...");
    const size_t rank =
        dots == std::string::npos ? right.size() : right.size() - 3 + ellipsis.size();
    equation.result = expand(right, rank, node);
    return equation;
  }
  std::map<char, int> uses;  // what occurs once, in the order of the alphabet
  for (const std::string& operand : equation.operands) {
    for (char c : operand) ++uses[c];
  }
  equation.result = ellipsis;
  for (const auto& [label, count] : uses) {
    if (count == 1 && std::isdigit(static_cast<unsigned char>(label)) == 0)
      equation.result += label;
  }
  return equation;
}

std::optional<Lowered> lower_einsum(const graph::Node& node, const LoweringContext& context) {
  ProgramBuilder builder(node, context);
  if (!builder.takes_numbers()) return std::nullopt;
  const Equation equation = parse(node, context);
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      const int64_t extent = builder.shape(i)[d];
      int64_t& known = extents.emplace(equation.operands[i][d], extent).first->second;
      if (known == 1) known = extent;
      if (extent != known && extent != 1) {
        throw UserError(describe(node) + ": an index has the extents " + std::to_string(known) +
                        " and " + std::to_string(extent));
      }
    }
  }
  std::map<char, Index> iterators;
  Shape output, reduction;
  for (char label : equation.result) {
    if (!extents.contains(label) || iterators.contains(label)) {
      throw UserError(describe(node) + ": the result of its equation is malformed");
    }
    iterators.emplace(label, axis(output.size()));
    output.push_back(extents.at(label));
  }
  for (const auto& [label, extent] : extents) {
    if (iterators.contains(label)) continue;
    iterators.emplace(label, reduction_axis(reduction.size()));
    reduction.push_back(extent);
  }
  std::optional<Scalar> product;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    std::vector<Index> indices;
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      const char label = equation.operands[i][d];
      const bool repeated = builder.shape(i)[d] == 1 && extents.at(label) != 1;
      indices.push_back(repeated ? Index(0) : iterators.at(label));
    }
    const Scalar factor = builder.read(i, std::move(indices));
    product = product ? *product * factor : factor;
  }
  if (reduction.empty())
    return builder.finish({builder.add_stage(map_stage("y", output, *product))});
  return builder.finish({builder.add_stage(
      reduce_stage("y", output, expression::Reduction::Sum, reduction, *product))});
}

}  // namespace

std::vector<KernelDefinition> einsum_kernels() { return {{"Einsum", lower_einsum, nullptr}}; }

}  // namespace opsmith::kernels
