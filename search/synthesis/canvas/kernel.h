#pragma once

#include <array>
#include <string>
#include <vector>

#include "search/synthesis/canvas/targets.h"
#include "substitute/operator/value_graph.h"

namespace opsmith::synthesis::canvas {

/// The types of primitives (Canvas, table 1), among which a sampler chooses evenly.
enum class Primitive : uint8_t {
  Group,           ///< [X, ...] -> [G, X/G, ...], or each channel a group of its own
  Shift,           ///< by one pixel along H, W or both, around the end
  Unfold,          ///< neighbours along H, W or both become channels; zero outside
  FullyConnected,  ///< all channels, group by group, become x new ones
  ElementWise,     ///< relu, abs, exp, ...
  Fold,            ///< average or maximum over a dimension, or over H and W
  Softmax,         ///< over neighbouring dimensions
  Broadcast,       ///< add, subtract, multiply, minimum or maximum of one into the shape of another
};
constexpr int primitive_types = 8;
std::string to_string(Primitive primitive);

/// Bits of the spatial dimensions that a Shift, an Unfold or a Fold is about.
enum Spatial : uint8_t { NoSpatial = 0, AlongHeight = 1, AlongWidth = 2, AlongBoth = 3 };

/// Shape of a tensor in a kernel: channel dimensions, then height, then width, where they have not
/// been folded. The batch is not mentioned.
struct TensorShape {
  static constexpr int most_channels = 6;
  std::array<Extent, most_channels> channels{};
  int8_t rank = 0;       ///< number of channel dimensions
  bool grouped = false;  ///< the first channel dimension counts groups
  uint8_t spatial = AlongBoth;

  int dimensions() const { return rank + (spatial & 1) + (spatial >> 1 & 1); }
  Extent dimension(int i) const;
  Extent channel_product() const;
  Extent elements() const;
  bool operator==(const TensorShape&) const = default;
};

/// One primitive with its operands, by number of node.
struct Step {
  Primitive primitive = Primitive::Group;
  std::array<int8_t, 2> operands = {-1, -1};  ///< a Broadcast's left, which is repeated, and right
  substitute::MapFunction function = substitute::MapFunction::Relu;  ///< ElementWise, Broadcast
  uint8_t spatial = NoSpatial;                                       ///< Shift, Unfold, Fold
  int8_t first = -1, last = -1;  ///< dimensions of a Softmax; the channel dimension of a Fold
  int8_t amount = 0;             ///< of a Shift: 1 or -1
  bool each_channel = false;     ///< Group: each channel is a group
  bool maximum = false;          ///< Fold: not the average
  int8_t substituted = -1;       ///< Broadcast: dynamic variable that shape matching replaces
  Extent substitution{};         ///< by what

  int operand_count() const { return operands[1] < 0 ? 1 : 2; }
  bool operator==(const Step&) const = default;
};

struct Node {
  Step step;  ///< that made it; meaningless for the input
  TensorShape shape;
  uint8_t looks = NoSpatial;  ///< along which spatial dimensions neighbours have been met
  int8_t users = 0;
};

/// A micro-DAG: a kernel [C, H, W] -> [C, H, W] that grows, node 0 being the input. One that is
/// complete has a single leaf, its last node, whose channels multiply to C.
class Kernel {
 public:
  Kernel();

  /// The shape that a step would make. Dynamic variables are numbered on: a FullyConnected takes
  /// `fresh_variable()`.
  TensorShape shape_after(const Step& step) const;
  void append(const Step& step);
  /// Replaces a dynamic variable in all shapes and requirements.
  void substitute(int variable, const Extent& by);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int i) const { return nodes_[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  int leaves() const;
  bool is_leaf(int i) const { return node(i).users == 0; }
  int fresh_variable() const { return static_cast<int>(FirstDynamic) + dynamic_count_; }
  bool has_fresh_variable() const { return dynamic_count_ < most_dynamic; }
  /// Dynamic variables that are still in some shape.
  std::vector<int> free_variables() const;
  /// Whether a variable counts channels for each of C (x of C*x): its least value does not grow
  /// with C.
  bool per_channel(int variable) const {
    return per_channel_[static_cast<size_t>(variable) - FirstDynamic];
  }
  /// What has to be whole beside the dimensions: channels of a group, repetitions of a Broadcast.
  const std::vector<Extent>& requirements() const { return requirements_; }

  /// Channels that a FullyConnected sums over for each output, groups aside.
  Extent summed_channels(const Step& step) const;
  Extent group_count(const Step& step) const;
  /// Whether a FullyConnected makes a free width: not where a dynamic variable counts its groups,
  /// of which each becomes one channel (a tensor has at most one dynamic variable).
  bool makes_variable(const Step& step) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Extent> requirements_;
  int dynamic_count_ = 0;
  std::array<bool, most_dynamic> per_channel_{};
};

/// Where two shapes differ: how many dimensions they have in common in front and at the end (the
/// front first), and the total sizes of the rest.
struct Mismatch {
  int prefix = 0, suffix = 0;
  Extent left, right;
};
Mismatch mismatch(const TensorShape& left, const TensorShape& right);

/// One line: "t2 = unfold_hw(x); t3 = fully-connected(t2) -> [x_1]; y = add(t3, x)".
std::string formula(const Kernel& kernel);

}  // namespace opsmith::synthesis::canvas
