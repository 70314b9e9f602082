#include "search/synthesis/limits.h"

namespace opsmith::synthesis {

Limits Limits::resnet18() {
  Limits limits;
  limits.depth = 12;
  limits.tensors = 3;
  limits.reductions = 5;
  limits.splits = 3;
  limits.shifts = 2;
  limits.strides = 0;
  limits.unfold_ratio = 2.3;
  limits.least_macs = 0.15;
  limits.most_macs = 0.9;
  return limits;
}

}  // namespace opsmith::synthesis
