#include "search/synthesis/canvas/pruning.h"

#include <algorithm>

namespace opsmith::synthesis::canvas {

namespace {

using substitute::MapFunction;

const Node& operand(const Kernel& kernel, const Step& step, size_t which = 0) {
  return kernel.node(step.operands[which]);
}

/// The primitive that made an operand; nothing for the input.
bool made_by(const Kernel& kernel, const Step& step, Primitive primitive, size_t which = 0) {
  return step.operands[which] > 0 && operand(kernel, step, which).step.primitive == primitive;
}

bool is_function(const Step& step, MapFunction function) {
  return step.primitive == Primitive::ElementWise && step.function == function;
}

/// Element-wise functions whose results are never negative.
bool never_negative(MapFunction function) {
  return function == MapFunction::Relu || function == MapFunction::Absolute ||
         function == MapFunction::Exp || function == MapFunction::Sigmoid;
}

bool repeats(const Kernel& kernel, const Step& step) {
  if (step.primitive == Primitive::FullyConnected) return false;
  return std::any_of(kernel.nodes().begin() + 1, kernel.nodes().end(),
                     [&](const Node& node) { return node.step == step; });
}

bool no_effect(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::ElementWise || !made_by(kernel, step, Primitive::ElementWise))
    return false;
  const MapFunction below = operand(kernel, step).step.function;
  if (step.function == MapFunction::Relu || step.function == MapFunction::Absolute)
    return never_negative(below);
  return step.function == MapFunction::Negate && below == MapFunction::Negate;
}

bool even_after_negation(const Kernel& kernel, const Step& step) {
  return is_function(step, MapFunction::Absolute) &&
         made_by(kernel, step, Primitive::ElementWise) &&
         operand(kernel, step).step.function == MapFunction::Negate;
}

bool exponential_of_exponential(const Kernel& kernel, const Step& step) {
  return is_function(step, MapFunction::Exp) && made_by(kernel, step, Primitive::ElementWise) &&
         operand(kernel, step).step.function == MapFunction::Exp;
}

bool element_wise_after_view(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::ElementWise &&
         (made_by(kernel, step, Primitive::Group) || made_by(kernel, step, Primitive::Shift));
}

/// Functions that keep zero, so that they do not touch an Unfold's border.
bool element_wise_after_unfold(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::ElementWise && made_by(kernel, step, Primitive::Unfold) &&
         step.function != MapFunction::Exp && step.function != MapFunction::Sigmoid;
}

bool negation_absorbed(const Kernel& kernel, const Step& step) {
  if (is_function(step, MapFunction::Negate) && made_by(kernel, step, Primitive::FullyConnected))
    return true;
  return step.primitive == Primitive::FullyConnected &&
         made_by(kernel, step, Primitive::ElementWise) &&
         operand(kernel, step).step.function == MapFunction::Negate;
}

bool subtraction_absorbed(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::Broadcast || step.function != MapFunction::Subtract)
    return false;
  for (const size_t which : {size_t{0}, size_t{1}}) {
    if (made_by(kernel, step, Primitive::FullyConnected, which)) return true;
    if (made_by(kernel, step, Primitive::ElementWise, which) &&
        operand(kernel, step, which).step.function == MapFunction::Negate)
      return true;
  }
  return false;
}

bool addition_of_negation(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::Broadcast || step.function != MapFunction::Add) return false;
  for (const size_t which : {size_t{0}, size_t{1}})
    if (made_by(kernel, step, Primitive::ElementWise, which) &&
        operand(kernel, step, which).step.function == MapFunction::Negate)
      return true;
  return false;
}

/// Shifts along H and along W are one along both; those along one dimension add up or undo each
/// other.
bool shift_of_shift(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::Shift && made_by(kernel, step, Primitive::Shift);
}

bool unfolds_in_turn(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::Unfold || !made_by(kernel, step, Primitive::Unfold))
    return false;
  return operand(kernel, step).step.spatial != step.spatial;
}

/// Views commute: groups come before shifts, shifts before windows.
bool views_out_of_order(const Kernel& kernel, const Step& step) {
  if (step.primitive == Primitive::Group)
    return made_by(kernel, step, Primitive::Shift) || made_by(kernel, step, Primitive::Unfold);
  return step.primitive == Primitive::Shift && made_by(kernel, step, Primitive::Unfold) &&
         (operand(kernel, step).step.spatial & step.spatial) == 0;
}

bool average_of_product(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::Fold && !step.maximum && step.first < 0 &&
         made_by(kernel, step, Primitive::FullyConnected);
}

bool fold_of_shift(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::Fold && step.first < 0 &&
         made_by(kernel, step, Primitive::Shift) &&
         (operand(kernel, step).step.spatial & ~step.spatial) == 0;
}

bool folds_in_turn(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::Fold || !made_by(kernel, step, Primitive::Fold)) return false;
  const Step& below = operand(kernel, step).step;
  // Of one kind they commute: channels come first, and H and W fold at once.
  return below.maximum == step.maximum && (below.first < 0 || step.first < below.first);
}

/// An average (or a constant) over single elements, and a softmax over one.
bool over_single_elements(const Kernel& kernel, const Step& step) {
  const TensorShape& shape = operand(kernel, step).shape;
  if (step.primitive == Primitive::Fold && step.first >= 0)
    return shape.channels[static_cast<size_t>(step.first)].is_one();
  if (step.primitive != Primitive::Softmax) return false;
  for (int i = step.first; i <= step.last; ++i)
    if (!shape.dimension(i).is_one()) return false;
  return true;
}

bool softmax_of_softmax(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::Softmax && made_by(kernel, step, Primitive::Softmax);
}

bool sign_of_softmax(const Kernel& kernel, const Step& step) {
  return (is_function(step, MapFunction::Relu) || is_function(step, MapFunction::Absolute)) &&
         made_by(kernel, step, Primitive::Softmax);
}

/// min(x, min(x, y)), x + x and their like.
bool extreme_again(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::Broadcast ||
      (step.function != MapFunction::Minimum && step.function != MapFunction::Maximum))
    return false;
  const Node& right = operand(kernel, step, 1);
  return step.operands[1] > 0 && right.step.primitive == Primitive::Broadcast &&
         right.step.function == step.function && right.step.operands[0] == step.operands[0];
}

/// Without channels beside its groups, a FullyConnected only scales what was grouped.
bool scales_only(const Kernel& kernel, const Step& step) {
  return step.primitive == Primitive::FullyConnected && kernel.summed_channels(step).is_one();
}

bool product_of_groups_alone(const Kernel& kernel, const Step& step) {
  if (step.primitive != Primitive::Fold || step.first != 0) return false;
  return operand(kernel, step).shape.grouped && operand(kernel, step).shape.rank == 1 &&
         made_by(kernel, step, Primitive::Group);
}

}  // namespace

const std::vector<PruningRule>& pruning_rules() {
  static const std::vector<PruningRule> rules = {
      {"repeated", "the same step was taken before", repeats},
      {"no-effect", "the operand's elements have the property already", no_effect},
      {"absolute-of-negation", "the sign is lost anyway", even_after_negation},
      {"exponential-of-exponential", "overflows", exponential_of_exponential},
      {"element-wise-after-view", "commutes with groups and shifts", element_wise_after_view},
      {"element-wise-after-unfold", "commutes with windows where zero stays zero",
       element_wise_after_unfold},
      {"negation-absorbed", "the weights have a sign of their own", negation_absorbed},
      {"subtraction-absorbed", "adding says the same", subtraction_absorbed},
      {"addition-of-negation", "subtracting says the same", addition_of_negation},
      {"shift-of-shift", "one shift along both, or a longer one", shift_of_shift},
      {"unfolds-in-turn", "one window along both says the same", unfolds_in_turn},
      {"views-out-of-order", "views of different dimensions commute", views_out_of_order},
      {"average-of-product", "averaging first says the same with less work", average_of_product},
      {"fold-of-shift", "what is folded has no beginning", fold_of_shift},
      {"folds-in-turn", "folds of one kind commute", folds_in_turn},
      {"over-single-elements", "nothing to fold or to normalize", over_single_elements},
      {"softmax-of-softmax", "nearly constant", softmax_of_softmax},
      {"sign-of-softmax", "its elements are positive", sign_of_softmax},
      {"extreme-again", "the operand was compared with before", extreme_again},
      {"scales-only", "a weight for each channel only scales", scales_only},
      {"fold-of-single-groups", "grouping first changes nothing", product_of_groups_alone},
  };
  return rules;
}

int forbidding_rule(const Kernel& kernel, const Step& step) {
  const std::vector<PruningRule>& rules = pruning_rules();
  for (size_t i = 0; i < rules.size(); ++i)
    if (rules[i].forbids(kernel, step)) return static_cast<int>(i);
  return -1;
}

}  // namespace opsmith::synthesis::canvas
