#pragma once

#include <random>

#include "runtime/expression/interpreter.h"

namespace opsmith::substitute::testing {

inline Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Tensor tensor(ElementType::Float32, shape);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (float& element : tensor.data<float>()) element = normal(random);
  return tensor;
}

/// Inputs and weights of a program whose extents are all numbers.
inline expression::Tensors random_tensors(const expression::Program& program, uint64_t seed) {
  expression::Tensors tensors;
  for (const auto* declarations : {&program.inputs, &program.weights})
    for (const auto& declaration : *declarations) {
      Shape shape;
      for (const auto& extent : declaration.shape) shape.push_back(extent.value());
      tensors[declaration.name] = random_tensor(shape, seed++ * 7919);
    }
  return tensors;
}

/// Adds a bias along dimension 1.
inline Tensor with_bias(const Tensor& tensor, const Tensor& bias) {
  Tensor result = tensor.clone();
  int64_t inner = 1;
  for (size_t d = 2; d < tensor.shape().size(); ++d) inner *= tensor.shape()[d];
  const auto values = result.data<float>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] += bias.data<float>()[i / static_cast<size_t>(inner) % bias.data<float>().size()];
  return result;
}

}  // namespace opsmith::substitute::testing
