#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/synthesis/extent.h"
#include "substitute/operator/layer.h"

namespace opsmith::synthesis::canvas {

/// Numbers of the size variables of kernels in an `Extent`. Those from FirstDynamic on are the free
/// widths x_1, x_2, ....
enum SizeVariable : size_t {
  Channels,
  Height,
  Width,
  KernelHeight,
  KernelWidth,
  Groups,
  FirstDynamic,
};
constexpr int most_dynamic = static_cast<int>(Extent::capacity - FirstDynamic);

/// The name of a size variable: C, H, W, kh, kw, g, x_1, ....
std::string variable_name(size_t variable);
substitute::Size to_size(const Extent& extent);

/// A convolution that a kernel is to replace. A kernel maps [C, H, W] to the same shape; where the
/// layer's channels differ, one is a multiple of the other and `copies` kernels stand side by side
/// (Canvas, figure 2): on the same input, their outputs joined, or on parts of the input, their
/// outputs added.
struct Target {
  substitute::LayerShape layer;
  int64_t channels = 0;  ///< C: the smaller of the layer's channel counts
  int64_t copies = 1;
};

/// The layers for which one kernel is sought, with one number of groups for all.
class Targets {
 public:
  /// Throws UserError for a layer whose stride, dilation or padding does not keep height and
  /// width, or of whose channel counts neither divides the other; when `groups` does not divide
  /// all channels.
  Targets(const std::vector<substitute::LayerShape>& layers, int64_t groups);

  /// The divisors, from 2 on, of the greatest common divisor of all channels: what the number of
  /// groups is drawn from.
  static std::vector<int64_t> group_choices(const std::vector<substitute::LayerShape>& layers);

  const std::vector<Target>& layers() const { return targets_; }
  int64_t groups() const { return groups_; }
  /// Of the layers that are replaced, one image.
  double original_macs() const { return original_macs_; }
  double original_parameters() const { return original_parameters_; }

  /// Value of a static variable in a layer.
  int64_t value(SizeVariable variable, size_t layer) const {
    return sizes_.variables()[variable].values[layer];
  }
  /// Product of the static variables of an extent in a layer, as a reduced fraction.
  struct Fraction {
    int64_t above = 1, below = 1;
  };
  Fraction static_part(const Extent& extent, size_t layer) const;

  /// Whether an extent is one that a dimension may have, or by which a tensor may be repeated:
  /// without a dynamic variable a whole number in every layer; otherwise one that becomes whole
  /// for some value of the one variable in it, no primary variable being in the denominator.
  bool may_be_whole(const Extent& extent);

 private:
  std::vector<Target> targets_;
  int64_t groups_;
  double original_macs_ = 0, original_parameters_ = 0;
  SizeTable sizes_;
};

/// The dynamic variable of an extent, -1 without one.
int dynamic_variable(const Extent& extent);

}  // namespace opsmith::synthesis::canvas
