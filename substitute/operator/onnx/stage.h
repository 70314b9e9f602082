#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/expression/program.h"
#include "substitute/operator/onnx/body.h"

namespace opsmith::substitute::onnx {

/// The program's tensors as values of the function body. A convolution leaves an image
/// [N, channels, H, W] whatever dimensions its channels have in the program; the program's own
/// shape is made when somebody asks for it.
class Tensors {
 public:
  explicit Tensors(Body& body) : body_(body) {}

  void add(const std::string& name, Value value);
  void add_image(const std::string& name, Value image, std::vector<Index> shape);

  /// In the program's shape.
  Value whole(const std::string& name);
  /// [first dimension, the product of those between, the last two]; at least three dimensions.
  Value image(const std::string& name);

 private:
  struct Entry {
    std::vector<Index> shape;
    std::optional<Value> whole, image;
  };
  Body& body_;
  std::map<std::string, Entry> entries_;
};

/// What a stage is turned into operators with.
struct StageContext {
  const expression::Program& program;  ///< fixed extents are numbers
  Body& body;
  Tensors& tensors;
  std::optional<graph::ValueId> bias;  ///< to be added by the stage at hand, along its channels
};

/// One way to turn a stage into operators. Each returns false, having emitted nothing, when the
/// stage is not of its kind; otherwise the stage's tensor is among `tensors`.
bool emit_convolution(const expression::Stage& stage, StageContext& context);
bool emit_product(const expression::Stage& stage, StageContext& context);
bool emit_shifted_convolution(const expression::Stage& stage, StageContext& context);
bool emit_moved_outputs(const expression::Stage& stage, StageContext& context);
/// Any stage whose views have fixed extents (the batch aside). Throws Unsupported otherwise.
void emit_general(const expression::Stage& stage, StageContext& context);

/// The stage's body as a product of one data tensor and one weight, under a sum.
struct Contraction {
  expression::Scalar data, weight;
};
std::optional<Contraction> as_contraction(const expression::Stage& stage,
                                          const expression::Program& program);

/// An index as a sum of terms with coefficients, constants in `constant`.
struct Terms {
  struct Term {
    int64_t coefficient = 1;
    Index index;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
};
Terms terms_of(const Index& index);

/// Iterators in an index, each once, in order of appearance.
std::vector<std::string> iterators_of(const Index& index);
bool uses(const Index& index, const std::string& iterator);

/// The axis of the stage with that name; nullptr when there is none.
const expression::Axis* find_axis(const std::vector<expression::Axis>& axes,
                                  const std::string& name);
/// Ranges of all iterators whose extent is a number.
expression::Ranges ranges_of(const expression::Stage& stage);

/// Iterators that number a dimension row by row: index = sum of coefficient * iterator with the
/// last one's coefficient 1 and each other's the product of the extents after it (iterators of
/// extent 1 do not matter and are left out). nullopt when the index is otherwise.
struct MixedRadix {
  std::vector<std::string> iterators;  ///< slowest first
  int64_t count = 1;                   ///< product of their extents
  int64_t offset = 0;                  ///< a constant added to the index
};
std::optional<MixedRadix> as_mixed_radix(const Index& index, const expression::Stage& stage);

/// A weight arranged row by row over the named iterators and then given `shape`. nullopt when its
/// dimensions are no rearrangement of these iterators.
std::optional<Value> weight_by_iterators(const expression::Scalar& weight,
                                         const std::vector<std::string>& iterators,
                                         const std::vector<Index>& weight_shape,
                                         const expression::Stage& stage, StageContext& context);

/// One spatial index of a convolution: (stride*position + dilation*tap - padding), moved around
/// the end by `roll` where the program wraps.
struct SpatialIndex {
  std::string tap;  ///< reduction iterator; empty for a window of one element
  int64_t roll = 0;
  Window window;
};
/// nullopt when it is no such index or no padding at the end makes the extents come out.
std::optional<SpatialIndex> as_spatial_index(const Index& index, const Index& extent,
                                             const expression::Axis& position,
                                             const expression::Stage& stage);

}  // namespace opsmith::substitute::onnx
