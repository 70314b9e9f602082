#include <algorithm>

#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/along_axis.h"
#include "runtime/kernels/plain/dispatch.h"
#include "support/error.h"

// Compress and ReverseSequence: slices left out or in another order.
namespace opsmith::kernels {
namespace {

// The slices whose condition is true; without an axis of the flattened tensor. The condition may be
// shorter than the axis.
std::vector<Tensor> compress(const PlainCall& call) {
  const bool flat = !call.node.has("axis");
  const Tensor x = flat ? call.input(0).reshaped({call.input(0).count()}) : call.input(0);
  const AlongAxis along(flat ? 0 : call.node.integer("axis", 0), x.shape(), call.node);
  const std::vector<int64_t> condition = call.integers(1);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition.size() && static_cast<int64_t>(i) < along.extent; ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  Shape shape = x.shape();
  shape[along.axis] = static_cast<int64_t>(kept.size());
  Tensor y = call.output(0, x.type(), shape);
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    T* out = elements_as<T>(y);
    for (int64_t o = 0; o < along.outer; ++o) {
      for (const int64_t slice : kept) {
        out = std::copy_n(elements_as<T>(x) + (o * along.extent + slice) * along.inner, along.inner,
                          out);
      }
    }
  });
  return {y};
}

// The first lengths[b] steps of each sequence backwards.
std::vector<Tensor> reverse_sequence(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const AlongAxis batch(call.node.integer("batch_axis", 1), x.shape(), call.node);
  const AlongAxis time(call.node.integer("time_axis", 0), x.shape(), call.node);
  const std::vector<int64_t> lengths = call.integers(1);
  if (static_cast<int64_t>(lengths.size()) != batch.extent || batch.axis == time.axis) {
    throw UserError(describe(call.node) + ": one length for each sequence is needed");
  }
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_size(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t flat = 0; flat < x.count(); ++flat) {
      const int64_t step = flat / time.inner % time.extent;
      const int64_t length =
          std::min(lengths[static_cast<size_t>(flat / batch.inner % batch.extent)], time.extent);
      const int64_t from = step < length ? length - 1 - step : step;
      elements_as<T>(y)[flat] = elements_as<T>(x)[flat + (from - step) * time.inner];
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> selecting_kernels() {
  return {{"Compress", nullptr, compress, Handling::Moved},
          {"ReverseSequence", nullptr, reverse_sequence, Handling::Moved}};
}

}  // namespace opsmith::kernels
