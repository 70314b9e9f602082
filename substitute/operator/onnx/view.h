#pragma once

#include <string>
#include <vector>

#include "substitute/operator/onnx/stage.h"

namespace opsmith::substitute::onnx {

using Names = std::vector<std::string>;

/// A tensor with one dimension for each iterator, in order.
struct View {
  Value value;
  Names iterators;
};

/// Lays out what a stage reads over the stage's iterators.
class Views {
 public:
  Views(const expression::Stage& stage, StageContext& context)
      : stage_(stage), context_(context), body_(context.body) {}

  /// One dimension for each iterator in the read's indices. Dimensions of the tensor that share
  /// iterators are flattened and gathered from; reads outside it give zero. Throws Unsupported
  /// where that needs an extent that is not fixed.
  View of(const expression::Scalar& read);

  /// The view with the dimensions of `wanted` in that order. Missing ones have extent 1, or their
  /// full extent when `stretch` is set.
  Value arrange(const View& view, const Names& wanted, bool stretch = false);

  const Index& extent(const std::string& iterator) const;
  int64_t fixed_extent(const std::string& iterator) const;  ///< throws Unsupported

  /// Throws Unsupported that names the stage.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  struct Component;
  std::vector<Component> components(const expression::Scalar& read) const;
  Value take(const Value& value, int64_t dimension, const expression::Scalar& read,
             const Component& group, const std::vector<Index>& extents);

  const expression::Stage& stage_;
  StageContext& context_;
  Body& body_;
};

bool contains(const Names& names, const std::string& name);
Names names_of(const std::vector<expression::Axis>& axes);

}  // namespace opsmith::substitute::onnx
