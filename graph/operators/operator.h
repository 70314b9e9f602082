#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/operators/dimension.h"

namespace opsmith::graph {

/// Elements of a small tensor of integers (or of reals that are integers), row-major, each a
/// number, a symbol or unknown: how shapes computed by the model are followed.
using Elements = std::vector<Dimension>;

/// Tensors with more elements are not followed.
inline constexpr int64_t kMostElements = 1024;

/// What is known of a value.
struct ValueInfo {
  ElementType type = ElementType::Undefined;
  std::optional<SymbolicShape> shape;
  std::optional<Elements> elements;
  Tensor constant;             ///< undefined where the value is no constant
  std::optional<double> fill;  ///< that all elements are, however many
};

/// One node for which types and shapes are being inferred: what its inputs are, what its
/// outputs turn out to be.
class Inference {
 public:
  /// Infers a body of the node: name of its attribute and what is known of its inputs, to what is
  /// known of its outputs. `keep` stores what was found in the body.
  using InferBody = std::function<std::vector<ValueInfo>(
      const std::string& attribute, const std::vector<ValueInfo>& inputs, bool keep)>;

  Inference(const Node& node, int64_t opset, std::vector<ValueInfo> inputs, InferBody infer_body);

  const Node& node() const { return node_; }
  /// Version of ONNX's operators that the node is written for.
  int64_t opset() const { return opset_; }

  size_t input_count() const { return inputs_.size(); }
  bool has_input(size_t i) const { return node_.input(i) != kNoValue; }
  bool has_output(size_t i) const { return node_.output(i) != kNoValue; }
  ElementType type(size_t i) const { return info(i).type; }
  /// nullptr when not even the rank is known.
  const SymbolicShape* shape(size_t i) const { return info(i).shape ? &*info(i).shape : nullptr; }
  const Tensor* constant(size_t i) const {
    return info(i).constant.defined() ? &info(i).constant : nullptr;
  }
  const ValueInfo& info(size_t i) const;
  /// Elements of an input that is followed; nullptr if it is not.
  const Elements* elements(size_t i) const;
  /// The same when all are numbers.
  std::optional<std::vector<int64_t>> numbers(size_t i) const;
  /// Elements of a constant input of reals.
  std::optional<std::vector<double>> reals(size_t i) const;

  /// The attribute `name` up to the opset before `input_since`, input `i` from then on (all
  /// numbers); nullopt where absent or not known. `given` tells the two apart.
  struct Setting {
    bool given = false;
    std::optional<std::vector<int64_t>> values;
  };
  Setting attribute_or_input(const std::string& name, int64_t input_since, size_t i) const;

  void set_type(size_t output, ElementType type);
  void set_shape(size_t output, SymbolicShape shape);
  void set_elements(size_t output, Elements elements);
  void set_fill(size_t output, double fill);
  void set(size_t output, ElementType type, std::optional<SymbolicShape> shape);
  void set(size_t output, ValueInfo info);
  std::vector<ValueInfo> infer_body(const std::string& attribute,
                                    const std::vector<ValueInfo>& inputs, bool keep) const {
    return infer_body_(attribute, inputs, keep);
  }

  /// An axis that may count from the end, as an index below `rank`. Throws UserError.
  size_t axis(int64_t value, size_t rank) const;
  /// Requires the rank of an input. Throws UserError.
  void expect_rank(size_t i, size_t least, size_t most) const;
  /// Throws UserError naming the node.
  [[noreturn]] void fail(const std::string& why) const;

  const std::vector<ValueInfo>& outputs() const { return outputs_; }

 private:
  const Node& node_;
  int64_t opset_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
  InferBody infer_body_;
};

/// An operator of ONNX's own domain, in all its versions.
struct OperatorDefinition {
  std::string type;
  void (*infer)(Inference& inference);  ///< types and shapes of outputs as far as they can be told
};

/// The tensor of a Constant node, whichever attribute holds it; undefined when none of ours does.
Tensor constant_value(const Node& node);

/// nullptr when there is none of that name.
const OperatorDefinition* find_operator(const std::string& type);

}  // namespace opsmith::graph
