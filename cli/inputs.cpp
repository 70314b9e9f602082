#include "cli/inputs.h"

#include <algorithm>

#include "cli/common.h"
#include "support/error.h"
#include "support/log.h"
#include "support/random.h"
#include "support/tensor_files.h"

namespace opsmith::cli {
namespace {

enum class Kind { Real, Integer, Other };

Kind kind(ElementType type) {
  switch (type) {
    case ElementType::Float32:
    case ElementType::Float64:
    case ElementType::Float16:
    case ElementType::BFloat16:
    case ElementType::Float8E4M3FN:
    case ElementType::Float8E4M3FNUZ:
    case ElementType::Float8E5M2:
    case ElementType::Float8E5M2FNUZ:
      return Kind::Real;
    case ElementType::Bool:
    case ElementType::String:
    case ElementType::Sequence:
    case ElementType::Optional:
    case ElementType::Undefined:
      return Kind::Other;
    default:
      return Kind::Integer;
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

const graph::Value* find_input(const graph::Model& model, const std::string& name) {
  for (const graph::ValueId id : model.graph.inputs) {
    if (model.graph.value(id).name == name) return &model.graph.value(id);
  }
  return nullptr;
}

void check_shape(const graph::Value& input, const Tensor& tensor, bool any_batch) {
  if (!input.shape) return;
  const auto mismatch = [&] {
    return UserError("input '" + input.name + "' has shape " + graph::to_string(*input.shape) +
                     ", but the given data has shape " + to_string(tensor.shape()) +
                     "; reshape the data to fit");
  };
  if (input.shape->size() != tensor.shape().size()) throw mismatch();
  for (size_t d = any_batch ? 1 : 0; d < input.shape->size(); ++d) {
    const auto& size = (*input.shape)[d].size;
    if (size && *size != tensor.shape()[d]) throw mismatch();
  }
}

Tensor fit_type(const graph::Value& input, const Tensor& tensor) {
  if (input.type == ElementType::Undefined || input.type == tensor.type()) return tensor;
  if (kind(input.type) != kind(tensor.type()) || kind(input.type) == Kind::Other) {
    throw UserError("input '" + input.name + "' has elements of type " + to_string(input.type) +
                    ", but the given data has " + to_string(tensor.type()) +
                    "; convert the data first");
  }
  log_info("input '" + input.name + "' converted from " + to_string(tensor.type()) + " to " +
           to_string(input.type));
  return tensor.cast(input.type);
}

}  // namespace

Tensors load_inputs(const graph::Model& model, const std::vector<std::string>& sources,
                    bool any_batch) {
  const std::vector<std::string> names = input_names(model);
  std::vector<TensorSource> parsed;
  for (const std::string& source : sources) parsed.push_back(parse_tensor_source(source));
  Tensors tensors = load_tensors(parsed, names);
  for (auto& [name, tensor] : tensors) {
    const graph::Value* input = find_input(model, name);
    if (!input) {
      throw UserError("the model '" + model.source + "' has no input '" + name + "'; it has " +
                      joined(names));
    }
    check_shape(*input, tensor, any_batch);
    tensor = fit_type(*input, tensor);
  }
  for (const std::string& name : names) {
    if (!tensors.contains(name)) {
      throw UserError("input '" + name + "' of '" + model.source + "' is missing; give " + name +
                      "=FILE (inputs: " + joined(names) + ")");
    }
  }
  return tensors;
}

Tensors random_inputs(const graph::Model& model, uint64_t seed) {
  Random random(seed);
  Tensors tensors;
  for (const std::string& name : input_names(model)) {
    const graph::Value& input = *find_input(model, name);
    Shape shape;
    bool known = input.shape.has_value();
    for (size_t d = 0; known && d < input.shape->size(); ++d) {
      const graph::Dimension& dimension = (*input.shape)[d];
      known = dimension.known() || d == 0;
      shape.push_back(dimension.size.value_or(1));
    }
    if (!known) {
      throw UserError("the shape of input '" + name + "' of '" + model.source + "' is " +
                      (input.shape ? graph::to_string(*input.shape) : "unknown") +
                      "; fix it with --shape " + name + ":1x3x224x224");
    }
    // Made as float32 first: casts define every other numeric type.
    Tensor tensor(ElementType::Float32, shape);
    const bool real = kind(input.type) == Kind::Real;
    for (float& v : tensor.data<float>()) {
      v = static_cast<float>(real ? random.normal() : random.integer(0, 1));
    }
    if (input.type == ElementType::String || input.type == ElementType::Undefined) {
      throw UserError("input '" + name + "' of '" + model.source + "' holds " +
                      to_string(input.type) + "; random data cannot be made for it, give --input");
    }
    tensors[name] = tensor.cast(input.type);
  }
  return tensors;
}

}  // namespace opsmith::cli
