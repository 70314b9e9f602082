#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace opsmith::models {

struct ModelOptions {
  int64_t opset = 13;  ///< 9 to 22
  int64_t batch = 0;   ///< 0: dynamic, named "N"
  int64_t size = 0;  ///< image height and width, or sequence length; 0: what the model is known for
  int64_t width_divisor = 1;  ///< divides every width, for tests that must be quick
  int64_t classes = 1000;
  uint64_t seed = 1;
};

/// A model that papers measure, with seeded weights instead of trained ones.
struct ReferenceModel {
  std::string name;  ///< "resnet50"
  std::string summary;
  std::function<graph::Model(const ModelOptions&)> build;
};

const std::vector<ReferenceModel>& reference_models();

/// Builds one by name. Throws UserError naming what there is when there is none of that name or an
/// option is out of range.
graph::Model build_reference_model(const std::string& name, const ModelOptions& options = {});

}  // namespace opsmith::models
