#include "runtime/compiler/codegen/tensor_access.h"

#include <algorithm>
#include <numeric>

#include "support/error.h"

namespace opsmith::compiler {

using llvm::Value;

void TensorAccess::define(const LinearForm& loop, Value* value) {
  if (!loop.is_constant()) loops_[loop.terms.at(0).atom] = value;
}

void TensorAccess::follow_block() {
  if (block_ == builder_.GetInsertBlock()) return;
  block_ = builder_.GetInsertBlock();
  emitted_.clear();
  pointers_.clear();
  loads_.clear();
  blocks_.clear();
}

LinearForm TensorAccess::offset(const TensorPlace& tensor, const std::vector<LinearForm>& indices) {
  std::vector<LinearForm> rest = indices;
  LinearForm result;
  const auto& order = tensor.layout.order;
  for (size_t i = order.size(); i-- > 0;) {
    if (order[i].block == 0) continue;
    LinearForm& index = rest[static_cast<size_t>(order[i].dimension)];
    result = result + atoms_.remainder(index, order[i].block) * tensor.strides[i];
    index = atoms_.quotient(index, order[i].block);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i].block != 0) continue;
    const LinearForm& index = rest[static_cast<size_t>(order[i].dimension)];
    result =
        result + (index + tensor.layout.halo_of(order[i].dimension).before) * tensor.strides[i];
  }
  return atoms_.recombine(result);
}

Value* TensorAccess::emit_atom(int number) {
  follow_block();
  if (const auto found = emitted_.find(number); found != emitted_.end()) return found->second;
  const Atoms::Atom atom = atoms_.at(number);
  Value* value = nullptr;
  if (atom.kind == Atoms::Kind::Loop) {
    const auto loop = loops_.find(number);
    require(loop != loops_.end(), "a loop variable is used outside its loop");
    return loop->second;
  }
  Value* const operand = emit(atom.operand);
  if (atom.kind == Atoms::Kind::Product) {
    value = builder_.CreateMul(operand, emit(atom.other));
  } else {
    Value* const divisor = builder_.getInt64(static_cast<uint64_t>(atom.divisor));
    Value* quotient = nullptr;
    if (atoms_.range(atom.operand).begin >= 0) {
      quotient = builder_.CreateUDiv(operand, divisor);
    } else {
      Value* const down =
          builder_.CreateSub(operand, builder_.getInt64(static_cast<uint64_t>(atom.divisor - 1)));
      Value* const negative = builder_.CreateICmpSLT(operand, builder_.getInt64(0));
      quotient = builder_.CreateSDiv(builder_.CreateSelect(negative, down, operand), divisor);
    }
    value = atom.kind == Atoms::Kind::Quotient
                ? quotient
                : builder_.CreateSub(operand, builder_.CreateMul(quotient, divisor));
  }
  emitted_[number] = value;
  return value;
}

Value* TensorAccess::emit(const LinearForm& form) {
  Value* sum = nullptr;
  for (const LinearForm::Term& term : form.terms) {
    Value* part = emit_atom(term.atom);
    if (term.coefficient != 1) {
      part = builder_.CreateMul(part, builder_.getInt64(static_cast<uint64_t>(term.coefficient)));
    }
    sum = sum == nullptr ? part : builder_.CreateAdd(sum, part);
  }
  Value* const constant = builder_.getInt64(static_cast<uint64_t>(form.constant));
  if (sum == nullptr) return constant;
  return form.constant == 0 ? sum : builder_.CreateAdd(sum, constant);
}

Value* TensorAccess::emit_lanes(const LinearForm& form, const Lanes& lanes) {
  const int64_t width = arithmetic_.lanes();
  if (width == 1) return emit(form);
  const auto count = static_cast<unsigned>(width);
  if (lanes.atom < 0 || !atoms_.depends(form, lanes.atom)) {
    return builder_.CreateVectorSplat(count, emit(form));
  }
  const LinearForm first = atoms_.replace(form, lanes.atom, 0);
  const LinearForm rest = form - first;
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].atom == lanes.atom) {
    std::vector<llvm::Constant*> steps;
    for (int64_t lane = 0; lane < width; ++lane) {
      steps.push_back(builder_.getInt64(static_cast<uint64_t>(lane * rest.terms[0].coefficient)));
    }
    return builder_.CreateAdd(builder_.CreateVectorSplat(count, emit(first)),
                              llvm::ConstantVector::get(steps));
  }
  Value* result =
      llvm::Constant::getNullValue(llvm::FixedVectorType::get(builder_.getInt64Ty(), count));
  for (int64_t lane = 0; lane < lanes.active; ++lane) {
    result = builder_.CreateInsertElement(result, emit(atoms_.replace(form, lanes.atom, lane)),
                                          static_cast<uint64_t>(lane));
  }
  return result;
}

Value* TensorAccess::emit_guards(const std::vector<Guard>& guards) {
  Value* all = nullptr;
  for (const Guard& guard : guards) {
    Value* const inside =
        builder_.CreateICmpULT(emit(guard.form - guard.low),
                               builder_.getInt64(static_cast<uint64_t>(guard.high - guard.low)));
    all = all == nullptr ? inside : builder_.CreateAnd(all, inside);
  }
  return all == nullptr ? builder_.getTrue() : all;
}

Value* TensorAccess::pointer(const TensorPlace& tensor, const LinearForm& offset) {
  follow_block();
  const auto size = static_cast<int64_t>(element_size(tensor.type));
  const auto [entry, fresh] = pointers_.try_emplace({tensor.id, offset.terms}, nullptr);
  if (fresh) {
    // One address step for each loop, outer loops first: inner loops then hoist all but theirs.
    Value* address = tensor.base;
    for (const LinearForm::Term& term : offset.terms) {
      Value* const step = builder_.CreateMul(
          emit_atom(term.atom), builder_.getInt64(static_cast<uint64_t>(term.coefficient * size)));
      address = builder_.CreateGEP(builder_.getInt8Ty(), address, step);
    }
    entry->second = address;
  }
  if (offset.constant == 0) return entry->second;
  return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), entry->second,
                                     static_cast<uint64_t>(offset.constant * size));
}

llvm::Align TensorAccess::alignment(const TensorPlace& tensor) const {
  return llvm::Align(element_size(tensor.type));
}

Value* TensorAccess::memory_constant(ElementType type, double value) {
  Arithmetic scalar(builder_, 1);
  return scalar.to_memory(
      {scalar.constant(Arithmetic::computed(type), value), Arithmetic::computed(type)}, type);
}

Value* TensorAccess::active_mask(int64_t active) {
  std::vector<llvm::Constant*> bits;
  for (int64_t lane = 0; lane < arithmetic_.lanes(); ++lane) {
    bits.push_back(builder_.getInt1(lane < active));
  }
  return llvm::ConstantVector::get(bits);
}

Value* TensorAccess::load_scalar(const TensorPlace& tensor, const LinearForm& offset,
                                 const std::vector<Guard>& guards, double fill) {
  llvm::Type* const type = arithmetic_.memory_type(tensor.type, 1);
  if (guards.empty()) {
    return builder_.CreateAlignedLoad(type, pointer(tensor, offset), alignment(tensor));
  }
  // A read outside goes to the first element instead, whose value is then dropped.
  Value* const inside = emit_guards(guards);
  Value* const position = builder_.CreateSelect(inside, emit(offset), builder_.getInt64(0));
  Value* const loaded = builder_.CreateAlignedLoad(
      type, builder_.CreateGEP(type, tensor.base, position), alignment(tensor));
  return builder_.CreateSelect(inside, loaded, memory_constant(tensor.type, fill));
}

Value* TensorAccess::load_vector(const TensorPlace& tensor, const LinearForm& offset,
                                 const std::vector<Guard>& guards, const Lanes& lanes,
                                 double fill) {
  const int64_t width = arithmetic_.lanes();
  const auto count = static_cast<unsigned>(width);
  llvm::Type* const type = arithmetic_.memory_type(tensor.type, width);
  const LinearForm first = atoms_.replace(offset, lanes.atom, 0);
  if (guards.empty() && lanes.active == width) {
    return builder_.CreateAlignedLoad(type, pointer(tensor, first), alignment(tensor));
  }
  Value* mask = active_mask(lanes.active);
  for (const Guard& guard : guards) {
    Value* const shifted = emit_lanes(guard.form - guard.low, lanes);
    Value* const span = builder_.getInt64(static_cast<uint64_t>(guard.high - guard.low));
    mask = builder_.CreateAnd(
        mask, builder_.CreateICmpULT(shifted, builder_.CreateVectorSplat(count, span)));
  }
  Value* const other = builder_.CreateVectorSplat(count, memory_constant(tensor.type, fill));
  return builder_.CreateMaskedLoad(type, pointer(tensor, first), alignment(tensor), mask, other);
}

Value* TensorAccess::load_shuffled(const TensorPlace& tensor, const LinearForm& offset,
                                   const Lanes& lanes) {
  const int64_t width = arithmetic_.lanes();
  std::vector<LinearForm> places;
  for (int64_t lane = 0; lane < lanes.active; ++lane) {
    places.push_back(atoms_.recombine(atoms_.replace(offset, lanes.atom, lane)));
    if (places.back().terms != places.front().terms) return nullptr;
  }
  const auto before = [](const LinearForm& a, const LinearForm& b) {
    return a.constant < b.constant;
  };
  const LinearForm lowest = *std::min_element(places.begin(), places.end(), before);
  const LinearForm highest = *std::max_element(places.begin(), places.end(), before);
  LinearForm base = lowest;
  const bool aligned = std::all_of(base.terms.begin(), base.terms.end(),
                                   [&](const auto& term) { return term.coefficient % width == 0; });
  // Whole aligned blocks can be shared by reads that want other parts of them.
  const int64_t storage = tensor.layout.storage_count(tensor.stored);
  const bool whole = aligned && base.constant >= 0 && storage % width == 0;
  if (whole) base.constant = base.constant / width * width;
  const int64_t span = highest.constant - base.constant + 1;
  if (span > 2 * width) return nullptr;
  llvm::Type* const type = arithmetic_.memory_type(tensor.type, width);
  Value* const nothing = llvm::Constant::getNullValue(type);
  const auto part = [&](int64_t first) -> Value* {
    if (span <= first) return nothing;
    const auto [entry, fresh] =
        blocks_.try_emplace({tensor.id, base + first, whole ? 0 : std::min(span - first, width)});
    if (fresh) {
      Value* const address = pointer(tensor, base + first);
      if (whole || span - first >= width) {
        entry->second = builder_.CreateAlignedLoad(type, address, alignment(tensor));
      } else {
        entry->second = builder_.CreateMaskedLoad(type, address, alignment(tensor),
                                                  active_mask(span - first), nothing);
      }
    }
    return entry->second;
  };
  llvm::SmallVector<int> order(static_cast<size_t>(width), 0);
  for (size_t lane = 0; lane < places.size(); ++lane) {
    order[lane] = static_cast<int>(places[lane].constant - base.constant);
  }
  return builder_.CreateShuffleVector(part(0), part(width), order);
}

Value* TensorAccess::load_lanes(const TensorPlace& tensor, const LinearForm& offset,
                                const std::vector<Guard>& guards, const Lanes& lanes, double fill) {
  if (guards.empty()) {
    if (Value* const shuffled = load_shuffled(tensor, offset, lanes)) return shuffled;
  }
  // Lanes that read the same element share its load.
  const int64_t width = arithmetic_.lanes();
  Value* result = llvm::Constant::getNullValue(arithmetic_.memory_type(tensor.type, width));
  std::map<std::pair<LinearForm, std::vector<Guard>>, Value*> known;
  for (int64_t lane = 0; lane < lanes.active; ++lane) {
    const LinearForm place = atoms_.recombine(atoms_.replace(offset, lanes.atom, lane));
    std::vector<Guard> open;
    bool outside = false;
    for (const Guard& guard : guards) {
      const LinearForm form = atoms_.replace(guard.form, lanes.atom, lane);
      const expression::Range range = atoms_.range(form);
      if (range.begin >= guard.low && range.end <= guard.high) continue;
      outside = outside || range.end <= guard.low || range.begin >= guard.high;
      open.push_back({form, guard.low, guard.high});
    }
    Value* value = nullptr;
    if (outside) {
      value = memory_constant(tensor.type, fill);
    } else {
      Value*& shared = known[{place, open}];
      if (shared == nullptr) shared = load_scalar(tensor, place, open, fill);
      value = shared;
    }
    result = builder_.CreateInsertElement(result, value, static_cast<uint64_t>(lane));
  }
  return result;
}

TypedValue TensorAccess::load(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
                              const std::vector<Guard>& guards, const Lanes& lanes, double fill) {
  follow_block();
  const int64_t width = arithmetic_.lanes();
  bool outside = element_count(tensor.shape) == 0;
  bool by_lane = false;
  for (const Guard& guard : guards) {
    const expression::Range range = atoms_.range(guard.form);
    outside = outside || range.end <= guard.low || range.begin >= guard.high;
    by_lane = by_lane || (lanes.atom >= 0 && atoms_.depends(guard.form, lanes.atom));
  }
  if (outside) {
    Value* const value = memory_constant(tensor.type, fill);
    return arithmetic_.from_memory(
        width == 1 ? value : builder_.CreateVectorSplat(static_cast<unsigned>(width), value),
        tensor.type);
  }
  const LinearForm place = offset(tensor, indices);
  const auto [entry, fresh] =
      loads_.try_emplace(LoadKey{tensor.id, place, guards, lanes.atom, lanes.active}, nullptr);
  if (fresh) {
    Value* loaded = nullptr;
    const bool varies = lanes.atom >= 0 && atoms_.depends(place, lanes.atom);
    if (width == 1) {
      loaded = load_scalar(tensor, place, guards, fill);
    } else if (!varies && !by_lane) {
      loaded = builder_.CreateVectorSplat(static_cast<unsigned>(width),
                                          load_scalar(tensor, place, guards, fill));
    } else {
      LinearForm lane;
      lane.terms.push_back({lanes.atom, 1});
      const bool unit_stride = !atoms_.depends(place - lane, lanes.atom);
      loaded = unit_stride ? load_vector(tensor, place, guards, lanes, fill)
                           : load_lanes(tensor, place, guards, lanes, fill);
    }
    entry->second = arithmetic_.from_memory(loaded, tensor.type).value;
  }
  ElementType type = Arithmetic::computed(tensor.type);
  return {entry->second, type};
}

void TensorAccess::store(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
                         const Lanes& lanes, const TypedValue& value) {
  const int64_t width = arithmetic_.lanes();
  Value* const stored = arithmetic_.to_memory(value, tensor.type);
  const LinearForm place = offset(tensor, indices);
  if (width == 1) {
    builder_.CreateAlignedStore(stored, pointer(tensor, place), alignment(tensor));
    return;
  }
  LinearForm lane;
  lane.terms.push_back({lanes.atom, 1});
  if (!atoms_.depends(place - lane, lanes.atom)) {
    const LinearForm first = atoms_.replace(place, lanes.atom, 0);
    if (lanes.active == width) {
      builder_.CreateAlignedStore(stored, pointer(tensor, first), alignment(tensor));
      return;
    }
    // The vector ends in a block's padding when it fits into the innermost block and what is
    // active ends with the dimension.
    const auto& order = tensor.layout.order;
    const bool in_block = !order.empty() && order.back().block != 0 &&
                          order.back().block % width == 0 &&
                          atoms_.remainder(first, order.back().block) == LinearForm(0);
    const auto dimension = in_block ? static_cast<size_t>(order.back().dimension) : 0;
    const bool at_end = in_block &&
                        atoms_.range(indices[dimension]).end == tensor.stored[dimension] &&
                        tensor.stored[dimension] % width == lanes.active;
    if (at_end) {
      Value* const zeroed = builder_.CreateSelect(active_mask(lanes.active), stored,
                                                  llvm::Constant::getNullValue(stored->getType()));
      builder_.CreateAlignedStore(zeroed, pointer(tensor, first), alignment(tensor));
    } else {
      builder_.CreateMaskedStore(stored, pointer(tensor, first), alignment(tensor),
                                 active_mask(lanes.active));
    }
    return;
  }
  for (int64_t l = 0; l < lanes.active; ++l) {
    const LinearForm single = atoms_.recombine(atoms_.replace(place, lanes.atom, l));
    builder_.CreateAlignedStore(builder_.CreateExtractElement(stored, static_cast<uint64_t>(l)),
                                pointer(tensor, single), alignment(tensor));
  }
}

void TensorAccess::prefetch(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
                            const Lanes& lanes, bool write) {
  LinearForm place = offset(tensor, indices);
  if (lanes.atom >= 0) place = atoms_.replace(place, lanes.atom, 0);
  Value* const address = pointer(tensor, place);
  constexpr uint32_t kEveryLevel = 3;
  constexpr uint32_t kData = 1;
  builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                           {address, builder_.getInt32(write ? 1 : 0),
                            builder_.getInt32(kEveryLevel), builder_.getInt32(kData)});
}

void TensorAccess::add(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
                       const TypedValue& value) {
  Value* const address = pointer(tensor, offset(tensor, indices));
  llvm::Type* const type = arithmetic_.memory_type(tensor.type, 1);
  const TypedValue old = arithmetic_.from_memory(
      builder_.CreateAlignedLoad(type, address, alignment(tensor)), tensor.type);
  const TypedValue sum = arithmetic_.binary(expression::Binary::Add, old, value);
  builder_.CreateAlignedStore(arithmetic_.to_memory(sum, tensor.type), address, alignment(tensor));
}

}  // namespace opsmith::compiler
