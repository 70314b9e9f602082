#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/executor/session.h"
#include "support/tensor.h"

namespace opsmith::search {

using Tensors = std::map<std::string, Tensor>;

/// Samples [begin, end) of a tensor whose first dimension is over samples; shares its elements.
Tensor slice_samples(const Tensor& tensor, int64_t begin, int64_t end);
Tensors slice_samples(const Tensors& tensors, int64_t begin, int64_t end);

/// The chosen samples of every tensor, copied.
Tensors pick_samples(const Tensors& tensors, const std::vector<int64_t>& chosen);

/// Parts of a tensor over samples, put together again.
Tensor join_samples(const std::vector<Tensor>& parts);

/// Number of samples after checking that `data` has one tensor for each input of the model, of its
/// type and shape. Tensors of another numeric type are converted. `what` ("calibration data")
/// stands in messages. Throws UserError.
int64_t check_samples(const graph::Model& model, Tensors& data, const std::string& what);

/// Shapes of `data` for a batch of that many samples.
std::map<std::string, Shape> batch_shapes(const Tensors& data, int64_t batch);

/// Runs a model over many samples, a batch at a time.
class BatchRunner {
 public:
  /// `keep`: names of values, beside the outputs, that visitors need.
  BatchRunner(const graph::Model& model, std::shared_ptr<schedule::KernelProvider> provider,
              int threads, std::vector<std::string> keep = {});

  /// Calls visit(first sample, results) for each batch, in order; stops when it returns false.
  void run(const Tensors& data,
           const std::function<bool(int64_t begin, const Tensors& results)>& visit) const;
  /// All samples of every output together.
  Tensors run(const Tensors& data) const;

 private:
  executor::Session session_;
  int64_t batch_;
};

}  // namespace opsmith::search
