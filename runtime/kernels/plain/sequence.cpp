#include <algorithm>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/pieces.h"
#include "support/error.h"

// Operators on sequences and optionals (Tensor::sequence, Tensor::optional).
namespace opsmith::kernels {
namespace {

std::vector<Tensor> elements_of(const PlainCall& call, size_t i) {
  const Tensor& sequence = call.input(i);
  if (sequence.type() != ElementType::Sequence) {
    throw UserError(describe(call.node) + ": input " + std::to_string(i) + " must be a sequence");
  }
  return {sequence.tensors().begin(), sequence.tensors().end()};
}

std::vector<Tensor> construct(const PlainCall& call) {
  return {Tensor::sequence({call.inputs.begin(), call.inputs.end()})};
}

std::vector<Tensor> empty(const PlainCall&) { return {Tensor::sequence({})}; }

std::vector<Tensor> at(const PlainCall& call) {
  const std::vector<Tensor> elements = elements_of(call, 0);
  const auto size = static_cast<int64_t>(elements.size());
  return {elements[static_cast<size_t>(checked_index(call.integers(1).at(0), size, call.node))]};
}

// Before the position, by default at the end; both ends are positions.
std::vector<Tensor> insert(const PlainCall& call) {
  std::vector<Tensor> elements = elements_of(call, 0);
  const auto size = static_cast<int64_t>(elements.size());
  int64_t position = call.has(2) ? call.integers(2).at(0) : size;
  if (position < 0) position += size;
  if (position < 0 || position > size) {
    throw UserError(describe(call.node) + ": position " + std::to_string(position) +
                    " in a sequence of " + std::to_string(size));
  }
  elements.insert(elements.begin() + position, call.input(1));
  return {Tensor::sequence(std::move(elements))};
}

std::vector<Tensor> erase(const PlainCall& call) {
  std::vector<Tensor> elements = elements_of(call, 0);
  const auto size = static_cast<int64_t>(elements.size());
  const int64_t position = call.has(1) ? call.integers(1).at(0) : size - 1;
  elements.erase(elements.begin() + checked_index(position, size, call.node));
  return {Tensor::sequence(std::move(elements))};
}

std::vector<Tensor> length(const PlainCall& call) {
  return {Tensor::scalar(static_cast<int64_t>(elements_of(call, 0).size()))};
}

// Pieces of one size (the last may be smaller) or of the sizes listed; without sizes of one, whose
// axis goes unless `keepdims`.
std::vector<Tensor> split(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const auto axis =
      static_cast<size_t>(normalize_axis(call.node.integer("axis", 0), x.rank(), call.node));
  const int64_t extent = x.shape()[axis];
  std::vector<int64_t> sizes;
  const bool listed = call.has(1) && call.input(1).rank() > 0;
  if (listed) {
    sizes = call.integers(1);
  } else {
    const int64_t each = call.has(1) ? call.integers(1).at(0) : 1;
    if (each < 1) throw UserError(describe(call.node) + ": pieces of " + std::to_string(each));
    for (int64_t begin = 0; begin < extent; begin += each) {
      sizes.push_back(std::min(each, extent - begin));
    }
  }
  std::vector<Tensor> pieces = cut(x, axis, sizes, call.node);
  if (!call.has(1) && call.node.integer("keepdims", 1) == 0) {
    for (Tensor& piece : pieces) {
      Shape shape = piece.shape();
      shape.erase(shape.begin() + static_cast<int64_t>(axis));
      piece = piece.reshaped(shape);
    }
  }
  return {Tensor::sequence(std::move(pieces))};
}

// Along an axis that is there or, with `new_axis`, one that is made.
std::vector<Tensor> concatenate(const PlainCall& call) {
  std::vector<Tensor> elements = elements_of(call, 0);
  if (elements.empty()) throw UserError(describe(call.node) + ": the sequence is empty");
  const bool stacks = call.node.integer("new_axis", 0) != 0;
  const int64_t rank = elements[0].rank() + (stacks ? 1 : 0);
  const int64_t axis = normalize_axis(call.node.integer("axis", 0), rank, call.node);
  for (Tensor& element : elements) {
    if (!stacks) break;
    Shape shape = element.shape();
    if (axis > element.rank()) throw UserError(describe(call.node) + ": elements differ in rank");
    shape.insert(shape.begin() + axis, 1);
    element = element.reshaped(shape);
  }
  return {join(elements, static_cast<size_t>(axis), call.node)};
}

std::vector<Tensor> make_optional(const PlainCall& call) {
  return {Tensor::optional(call.has(0) ? call.input(0) : Tensor())};
}

// Since operator set 18 what is no optional is taken for one that holds it.
std::vector<Tensor> get_element(const PlainCall& call) {
  const Tensor& x = call.input(0);
  if (x.type() != ElementType::Optional) return {x};
  if (x.count() == 0) throw UserError(describe(call.node) + ": the optional is empty");
  return {x.tensors()[0]};
}

std::vector<Tensor> has_element(const PlainCall& call) {
  const bool empty =
      !call.has(0) || (call.input(0).type() == ElementType::Optional && call.input(0).count() == 0);
  return {Tensor::scalar(!empty)};
}

}  // namespace

std::vector<KernelDefinition> sequence_kernels() {
  return {{"SequenceConstruct", nullptr, construct},
          {"SequenceEmpty", nullptr, empty},
          {"SequenceAt", nullptr, at},
          {"SequenceInsert", nullptr, insert},
          {"SequenceErase", nullptr, erase},
          {"SequenceLength", nullptr, length},
          {"SplitToSequence", nullptr, split},
          {"ConcatFromSequence", nullptr, concatenate},
          {"Optional", nullptr, make_optional},
          {"OptionalGetElement", nullptr, get_element},
          {"OptionalHasElement", nullptr, has_element}};
}

}  // namespace opsmith::kernels
