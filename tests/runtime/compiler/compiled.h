#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/compiler.h"
#include "runtime/expression/interpreter.h"
#include "runtime/expression/program.h"
#include "support/random.h"
#include "support/tensor.h"

namespace opsmith::compiler::testing {

/// Numbers in [-1, 1], or small integers for integer types.
inline Tensor random_tensor(ElementType type, const Shape& shape, Random& random) {
  Tensor tensor(ElementType::Float32, shape);
  const bool floating = type == ElementType::Float32 || type == ElementType::Float64 ||
                        type == ElementType::Float16 || type == ElementType::BFloat16;
  for (float& value : tensor.data<float>()) {
    if (floating) {
      value = static_cast<float>(random.uniform(-1, 1));
    } else if (type == ElementType::Bool) {
      value = static_cast<float>(random.integer(0, 1));
    } else {
      value = static_cast<float>(random.integer(type == ElementType::UInt8 ? 0 : -9, 9));
    }
  }
  return tensor.cast(type);
}

inline Shape shape_of(const expression::Program& program, const std::string& tensor) {
  Shape shape;
  for (const expression::Index& extent : program.shape_of(tensor)) shape.push_back(extent.value());
  return shape;
}

/// Random inputs and weights of a program whose symbols are bound.
inline expression::Tensors random_tensors(const expression::Program& program, Random& random) {
  expression::Tensors tensors;
  for (const auto* declarations : {&program.inputs, &program.weights}) {
    for (const auto& declaration : *declarations) {
      tensors[declaration.name] =
          random_tensor(declaration.type, shape_of(program, declaration.name), random);
    }
  }
  return tensors;
}

inline schedule::Layout layout_of(const schedule::KernelSpecification& specification,
                                  const std::string& tensor) {
  const auto found = specification.layouts.find(tensor);
  return found != specification.layouts.end()
             ? found->second
             : schedule::Layout::row_major(specification.program.shape_of(tensor).size());
}

/// Runs a kernel on logical tensors: converts to and from the layouts of the specification. All
/// memory that the kernel must not rely on is filled with NaN patterns.
inline expression::Tensors run_kernel(const schedule::KernelSpecification& specification,
                                      const LoadedKernel& kernel,
                                      const expression::Tensors& tensors, int threads) {
  const expression::Program& program = specification.program;
  std::vector<Tensor> storage;
  std::vector<void*> pointers;
  std::vector<std::string> names;
  for (const auto& argument : kernel.arguments()) {
    names.push_back(argument.name);
    storage.emplace_back(ElementType::UInt8, Shape{argument.bytes + 64});
    for (uint8_t& byte : storage.back().data<uint8_t>()) byte = 0xff;
    pointers.push_back(storage.back().raw());
    const auto given = tensors.find(argument.name);
    if (given == tensors.end()) continue;
    const Shape& shape = given->second.shape();
    schedule::convert_layout(given->second.raw(), schedule::Layout::row_major(shape.size()),
                             pointers.back(), layout_of(specification, argument.name), shape,
                             given->second.type());
  }
  Tensor workspace(ElementType::UInt8, {kernel.workspace_bytes(threads) + 64});
  for (uint8_t& byte : workspace.data<uint8_t>()) byte = 0xff;
  kernel.run(pointers, workspace.raw(), threads);
  expression::Tensors results;
  for (const std::string& output : program.outputs) {
    const size_t place =
        static_cast<size_t>(std::find(names.begin(), names.end(), output) - names.begin());
    Tensor result(program.type_of(output), shape_of(program, output));
    schedule::convert_layout(pointers.at(place), layout_of(specification, output), result.raw(),
                             schedule::Layout::row_major(result.shape().size()), result.shape(),
                             result.type());
    results[output] = result;
    const auto bytes = storage.at(place).data<uint8_t>();
    for (size_t i = bytes.size() - 64; i < bytes.size(); ++i) {
      EXPECT_EQ(bytes[i], 0xff) << "written past the end of " << output;
    }
  }
  return results;
}

/// Compiles and compares with the interpreter.
inline void expect_like_interpreter(const schedule::KernelSpecification& specification,
                                    double tolerance = 1e-5, int threads = 2, uint64_t seed = 1) {
  Random random(seed);
  const expression::Tensors tensors = random_tensors(specification.program, random);
  const LoadedKernel kernel(compile(specification));
  const expression::Tensors expected = expression::interpret(specification.program, tensors);
  const expression::Tensors actual = run_kernel(specification, kernel, tensors, threads);
  for (const auto& [name, tensor] : expected) {
    EXPECT_LE(relative_error(actual.at(name), tensor), tolerance)
        << name << " of\n"
        << expression::print(specification.program) << schedule::to_json(specification.schedule);
  }
}

}  // namespace opsmith::compiler::testing
