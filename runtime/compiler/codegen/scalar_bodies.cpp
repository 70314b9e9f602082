#include "runtime/compiler/codegen/stage_emitter.h"
#include "support/error.h"

// The values of scalar expressions at one point of the register tile.

namespace opsmith::compiler {

using expression::Scalar;
using llvm::Value;

const TensorPlace& StageEmitter::tensor(const std::string& name) const {
  const auto found = phase_.tensors.find(name);
  require(found != phase_.tensors.end(),
          "stage '" + nest_.stage.name + "' reads unknown '" + name + "'");
  return found->second;
}

std::vector<Guard> StageEmitter::open_guards(const TensorPlace& place,
                                             const std::vector<LinearForm>& indices,
                                             std::vector<Guard> guards,
                                             const AxisFrame& frame) const {
  for (size_t d = 0; d < indices.size(); ++d) {
    const int dimension = static_cast<int>(d);
    schedule::Layout::Halo halo = place.layout.halo_of(dimension);
    // A halo holds zeros, and of a blocked dimension the blocks' padding comes before it.
    if (nest_.stage.fill != 0 || place.layout.block_of(dimension) != 1) halo = {};
    guards.push_back({indices[d], -halo.before, place.shape[d] + halo.after});
  }
  std::vector<Guard> open;
  for (const Guard& guard : guards) {
    const expression::Range range = atoms_.range(guard.form);
    if (range.begin >= guard.low && range.end <= guard.high) continue;
    if (!frame.assumes(guard)) open.push_back(guard);
  }
  return open;
}

TypedValue StageEmitter::evaluate_read(const Scalar& read, const Point& point,
                                       TensorAccess& access) {
  const TensorPlace& place = tensor(read.tensor());
  std::vector<Guard> guards;
  std::vector<LinearForm> indices;
  for (const expression::Index& index : read.indices()) {
    indices.push_back(point.frame.form(index, atoms_, &guards));
  }
  guards = open_guards(place, indices, std::move(guards), point.frame);
  indices = stored(read.tensor(), std::move(indices));
  return access.load(place, indices, guards, point.lanes, nest_.stage.fill);
}

TypedValue StageEmitter::evaluate_position(const Scalar& scalar, const Point& point,
                                           Arithmetic& arithmetic, TensorAccess& access) {
  const LinearForm form = point.frame.form(scalar.indices().at(0), atoms_);
  Value* const value =
      arithmetic.lanes() == 1 ? access.emit(form) : access.emit_lanes(form, point.lanes);
  return {value, ElementType::Int64};
}

TypedValue StageEmitter::evaluate_select(const Scalar& scalar, const Point& point,
                                         Arithmetic& arithmetic, TensorAccess& access,
                                         const TypedValue* reduced) {
  const auto operand = [&](size_t i) {
    return evaluate(scalar.operand(i), point, arithmetic, access, reduced);
  };
  const TypedValue condition = operand(0);
  // A condition on tiled or unrolled axes is known here: only what it chooses becomes code.
  const auto* known = llvm::dyn_cast<llvm::Constant>(condition.value);
  if (known != nullptr && (known->isAllOnesValue() || known->isNullValue())) {
    const ElementType type = expression::type_of(
        scalar, [&](const std::string& name) { return tensor(name).type; },
        reduced == nullptr ? ElementType::Undefined : reduced->type);
    const TypedValue chosen = operand(known->isNullValue() ? 2 : 1);
    return type == ElementType::Undefined ? chosen : arithmetic.convert(chosen, type);
  }
  return arithmetic.select(condition, operand(1), operand(2));
}

TypedValue StageEmitter::evaluate(const Scalar& scalar, const Point& point, Arithmetic& arithmetic,
                                  TensorAccess& access, const TypedValue* reduced) {
  const auto operand = [&](size_t i) {
    return evaluate(scalar.operand(i), point, arithmetic, access, reduced);
  };
  switch (scalar.kind()) {
    case Scalar::Kind::Constant:
      return arithmetic.constant(scalar.value());
    case Scalar::Kind::Read:
      return evaluate_read(scalar, point, access);
    case Scalar::Kind::Reduced:
      require(reduced != nullptr, "'_' outside an epilogue of '" + nest_.stage.name + "'");
      return *reduced;
    case Scalar::Kind::Unary:
      return arithmetic.unary(scalar.unary_function(), operand(0));
    case Scalar::Kind::Binary:
      return arithmetic.binary(scalar.binary_function(), operand(0), operand(1));
    case Scalar::Kind::Select:
      return evaluate_select(scalar, point, arithmetic, access, reduced);
    case Scalar::Kind::Cast:
      return arithmetic.cast(operand(0), scalar.type());
    default:
      return evaluate_position(scalar, point, arithmetic, access);
  }
}

}  // namespace opsmith::compiler
