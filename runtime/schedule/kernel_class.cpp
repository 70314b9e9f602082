#include "runtime/schedule/kernel_class.h"

#include "support/hash.h"

namespace opsmith::schedule {
namespace {

using expression::Axis;
using expression::Index;
using expression::Program;
using expression::Scalar;
using expression::Stage;
using expression::TensorDeclaration;

/// Replaces every integer by the symbol "#" and remembers it.
class NumberTaker {
 public:
  explicit NumberTaker(std::vector<int64_t>& numbers) : numbers_(numbers) {}

  Index take(const Index& index) {
    switch (index.kind()) {
      case Index::Kind::Constant:
        numbers_.push_back(index.value());
        return Index::symbol("#");
      case Index::Kind::Symbol:
      case Index::Kind::Iterator:
        return index;
      default: {
        Index left = take(index.left());
        return Index::binary(index.kind(), std::move(left), take(index.right()));
      }
    }
  }
  void take(std::vector<Index>& indices) {
    for (Index& index : indices) index = take(index);
  }
  void take(std::vector<Axis>& axes) {
    for (Axis& axis : axes) axis.extent = take(axis.extent);
  }
  Scalar take(const Scalar& scalar) {
    return transform_indices(scalar, [this](const Index& index) { return take(index); });
  }
  void take(std::vector<TensorDeclaration>& tensors) {
    for (TensorDeclaration& tensor : tensors) take(tensor.shape);
  }
  void take(Stage& stage) {
    take(stage.axes);
    take(stage.reduction_axes);
    stage.body = take(stage.body);
    if (stage.epilogue) stage.epilogue = take(*stage.epilogue);
    take(stage.target);
    take(stage.target_shape);
  }

 private:
  std::vector<int64_t>& numbers_;
};

}  // namespace

std::string KernelKey::parameter_text() const {
  std::string text;
  for (int64_t parameter : parameters) {
    if (!text.empty()) text += ',';
    text += std::to_string(parameter);
  }
  return text;
}

KernelKey kernel_key(const Program& program, const std::map<std::string, Layout>& layouts,
                     const Target& target) {
  KernelKey key;
  Program skeleton = program;
  NumberTaker taker(key.parameters);
  taker.take(skeleton.inputs);
  taker.take(skeleton.weights);
  for (Stage& stage : skeleton.stages) taker.take(stage);
  key.kernel_class = content_hash(skeleton);
  const auto add = [&](const std::string& name) {
    const auto layout = layouts.find(name);
    if (!key.layouts.empty()) key.layouts += ';';
    key.layouts += to_string(program.type_of(name)) + ' ' +
                   (layout == layouts.end() ? "row-major" : to_string(layout->second));
  };
  for (const TensorDeclaration& tensor : program.inputs) add(tensor.name);
  for (const TensorDeclaration& tensor : program.weights) add(tensor.name);
  for (const std::string& output : program.outputs) add(output);
  key.target = target.key();
  return key;
}

}  // namespace opsmith::schedule
