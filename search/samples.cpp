#include "search/samples.h"

#include <algorithm>
#include <cstring>

#include "support/error.h"

namespace opsmith::search {

namespace {

/// Enough to keep every core busy, few enough for all activations to be kept.
constexpr int64_t kBatch = 64;

int64_t batch_of(const graph::Model& model) {
  for (const graph::ValueId id : model.graph.inputs) {
    const auto& shape = model.graph.value(id).shape;
    if (shape && !shape->empty() && shape->front().known()) return *shape->front().size;
  }
  return kBatch;
}

}  // namespace

Tensor slice_samples(const Tensor& tensor, int64_t begin, int64_t end) {
  require(tensor.rank() > 0 && begin >= 0 && begin <= end && end <= tensor.shape().front(),
          "samples out of range");
  Shape shape = tensor.shape();
  const size_t each = shape.front() == 0 ? 0 : tensor.bytes() / static_cast<size_t>(shape.front());
  shape.front() = end - begin;
  const auto keeper = std::make_shared<Tensor>(tensor);
  auto* data = static_cast<std::byte*>(keeper->raw()) + static_cast<size_t>(begin) * each;
  return Tensor::view(tensor.type(), shape, data, keeper);
}

Tensors slice_samples(const Tensors& tensors, int64_t begin, int64_t end) {
  Tensors result;
  for (const auto& [name, tensor] : tensors) {
    result.emplace(name, slice_samples(tensor, begin, end));
  }
  return result;
}

Tensors pick_samples(const Tensors& tensors, const std::vector<int64_t>& chosen) {
  Tensors result;
  for (const auto& [name, tensor] : tensors) {
    Shape shape = tensor.shape();
    const size_t each = tensor.bytes() / static_cast<size_t>(std::max<int64_t>(shape.front(), 1));
    shape.front() = static_cast<int64_t>(chosen.size());
    Tensor picked(tensor.type(), shape);
    for (size_t i = 0; i < chosen.size(); ++i) {
      std::memcpy(
          static_cast<std::byte*>(picked.raw()) + i * each,
          static_cast<const std::byte*>(tensor.raw()) + static_cast<size_t>(chosen[i]) * each,
          each);
    }
    result.emplace(name, std::move(picked));
  }
  return result;
}

Tensor join_samples(const std::vector<Tensor>& parts) {
  require(!parts.empty(), "no samples to join");
  Shape shape = parts.front().shape();
  shape.front() = 0;
  for (const Tensor& part : parts) shape.front() += part.shape().front();
  Tensor joined(parts.front().type(), shape);
  auto* to = static_cast<std::byte*>(joined.raw());
  for (const Tensor& part : parts) {
    std::memcpy(to, part.raw(), part.bytes());
    to += part.bytes();
  }
  return joined;
}

int64_t check_samples(const graph::Model& model, Tensors& data, const std::string& what) {
  const graph::Graph& graph = model.graph;
  int64_t samples = -1;
  std::string first;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    const auto found = data.find(value.name);
    if (found == data.end()) {
      throw UserError(model.source + ": the " + what + " has no tensor for input '" + value.name +
                      "'; name it so in the file, or give it as " + value.name + "=FILE");
    }
    Tensor& tensor = found->second;
    if (tensor.rank() == 0) {
      throw UserError(what + ": '" + value.name + "' is a single number; its first dimension " +
                      "must be over samples");
    }
    if (value.shape) {
      bool fits = static_cast<int64_t>(value.shape->size()) == tensor.rank();
      for (size_t i = 1; fits && i < value.shape->size(); ++i) {
        const auto& size = (*value.shape)[i].size;
        fits = !size || *size == tensor.shape()[i];
      }
      if (!fits) {
        throw UserError(what + ": '" + value.name + "' has shape " + to_string(tensor.shape()) +
                        " but the model takes " + to_string(*value.shape));
      }
      const auto& batch = value.shape->front().size;
      if (batch && tensor.shape().front() % *batch != 0) {
        throw UserError(what + ": the model takes batches of " + std::to_string(*batch) + ", and " +
                        std::to_string(tensor.shape().front()) + " samples of '" + value.name +
                        "' are no multiple of that");
      }
    }
    if (value.type != ElementType::Undefined && tensor.type() != value.type) {
      if (tensor.type() == ElementType::String || value.type == ElementType::String) {
        throw UserError(what + ": '" + value.name + "' holds " + to_string(tensor.type()) +
                        " but the model takes " + to_string(value.type));
      }
      tensor = tensor.cast(value.type);
    }
    if (samples >= 0 && tensor.shape().front() != samples) {
      throw UserError(what + ": '" + value.name + "' has " +
                      std::to_string(tensor.shape().front()) + " samples but '" + first + "' has " +
                      std::to_string(samples));
    }
    samples = tensor.shape().front();
    first = value.name;
  }
  for (const auto& [name, tensor] : data) {
    const auto id = graph.find(name);
    if (!id || !graph.is_input(*id)) {
      throw UserError(what + ": '" + name + "' is no input of the model " + model.source);
    }
  }
  if (samples <= 0) throw UserError(what + ": there are no samples");
  return samples;
}

std::map<std::string, Shape> batch_shapes(const Tensors& data, int64_t batch) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : data) {
    shapes[name] = tensor.shape();
    shapes[name].front() = batch;
  }
  return shapes;
}

BatchRunner::BatchRunner(const graph::Model& model,
                         std::shared_ptr<schedule::KernelProvider> provider, int threads,
                         std::vector<std::string> keep)
    : session_(model, std::move(provider),
               [&] {
                 executor::SessionOptions options;
                 options.threads = threads;
                 options.exact = true;  // what is fitted to and judged is the model itself
                 options.keep = std::move(keep);
                 return options;
               }()),
      batch_(batch_of(model)) {}

void BatchRunner::run(
    const Tensors& data,
    const std::function<bool(int64_t begin, const Tensors& results)>& visit) const {
  const int64_t samples = data.begin()->second.shape().front();
  for (int64_t begin = 0; begin < samples; begin += batch_) {
    const int64_t end = std::min(samples, begin + batch_);
    if (!visit(begin, session_.run(slice_samples(data, begin, end)))) return;
  }
}

Tensors BatchRunner::run(const Tensors& data) const {
  std::map<std::string, std::vector<Tensor>> parts;
  run(data, [&](int64_t, const Tensors& results) {
    for (const auto& [name, tensor] : results) parts[name].push_back(tensor);
    return true;
  });
  Tensors joined;
  for (const auto& [name, tensors] : parts) joined.emplace(name, join_samples(tensors));
  return joined;
}

}  // namespace opsmith::search
