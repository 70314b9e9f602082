#include "runtime/expression/program.h"
#include "support/error.h"

namespace opsmith::expression {
namespace {

bool is_bound(const Index& index, const Binding& binding) {
  bool bound = true;
  visit(index, [&](const Index& node) {
    if (node.kind() == Index::Kind::Symbol && !binding.contains(node.name())) bound = false;
  });
  return bound;
}

}  // namespace

Binding infer_binding(const Program& program, const std::map<std::string, Shape>& shapes,
                      Binding known) {
  const auto each = [&](auto&& visitor) {
    for (const auto* declarations : {&program.inputs, &program.weights}) {
      for (const TensorDeclaration& declaration : *declarations) {
        const auto found = shapes.find(declaration.name);
        if (found != shapes.end()) visitor(declaration, found->second);
      }
    }
  };
  const auto fault = [&](const TensorDeclaration& declaration, const Shape& shape,
                         const std::string& why) {
    std::string declared;
    for (const Index& extent : declaration.shape) {
      declared += (declared.empty() ? "" : ", ") + to_string(extent);
    }
    throw UserError("program " + program.name + ": '" + declaration.name + "' of shape " +
                    opsmith::to_string(shape) + " does not fit its declaration [" + declared +
                    "]: " + why);
  };
  each([&](const TensorDeclaration& declaration, const Shape& shape) {
    if (shape.size() != declaration.shape.size()) {
      fault(declaration, shape, "the ranks differ");
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      const Index& extent = declaration.shape[i];
      if (extent.kind() != Index::Kind::Symbol) continue;
      const auto [place, fresh] = known.try_emplace(extent.name(), shape[i]);
      if (!fresh && place->second != shape[i]) {
        fault(declaration, shape,
              extent.name() + " is " + std::to_string(place->second) + " elsewhere");
      }
    }
  });
  each([&](const TensorDeclaration& declaration, const Shape& shape) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const Index& extent = declaration.shape[i];
      if (!is_bound(extent, known)) continue;
      const int64_t expected = evaluate(extent, known);
      if (expected != shape[i]) {
        fault(declaration, shape, to_string(extent) + " is " + std::to_string(expected));
      }
    }
  });
  return known;
}

}  // namespace opsmith::expression
