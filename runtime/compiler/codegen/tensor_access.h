#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/compiler/codegen/typed_value.h"
#include "runtime/compiler/linear_form.h"
#include "runtime/schedule/layout.h"

namespace opsmith::compiler {

/// A tensor as generated code sees it.
struct TensorPlace {
  llvm::Value* base = nullptr;  ///< address of the first stored element
  ElementType type = ElementType::Float32;
  Shape shape;   ///< of the tensor
  Shape stored;  ///< of the part that is in memory at once
  schedule::Layout layout;
  std::vector<int64_t> strides;  ///< of the layout's pieces
  int id = 0;
};

/// A condition for a read: low <= form < high.
struct Guard {
  LinearForm form;
  int64_t low = 0;
  int64_t high = 0;
  auto operator<=>(const Guard&) const = default;
};

/// The lanes at one point of the register tile.
struct Lanes {
  int atom = -1;       ///< the loop variable that runs over the lanes; -1: no vector axis
  int64_t active = 1;  ///< lanes in use, the first ones
};

/// Emits addresses, loads and stores. Equal addresses within one basic block are emitted once, so
/// that a weight vector is loaded once for all pixels of a tile.
class TensorAccess {
 public:
  TensorAccess(llvm::IRBuilder<>& builder, Atoms& atoms, Arithmetic& arithmetic)
      : builder_(builder), atoms_(atoms), arithmetic_(arithmetic) {}

  /// The run-time value of a loop variable.
  void define(const LinearForm& loop, llvm::Value* value);
  /// Knows the loop variables of the code around.
  void inherit(const TensorAccess& outer) { loops_ = outer.loops_; }
  /// Tensors were written by others: what was loaded must be loaded again.
  void forget() { block_ = nullptr; }

  LinearForm offset(const TensorPlace& tensor, const std::vector<LinearForm>& indices);
  /// The element at `indices` in every lane; `fill` where a guard is violated. Guards that always
  /// hold must have been dropped.
  TypedValue load(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
                  const std::vector<Guard>& guards, const Lanes& lanes, double fill);
  /// Stores the active lanes; where the rest lies in the padding of a block, it is zeroed.
  void store(const TensorPlace& tensor, const std::vector<LinearForm>& indices, const Lanes& lanes,
             const TypedValue& value);
  /// Asks for the cache line of the first lane, to be read or written soon.
  void prefetch(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
                const Lanes& lanes, bool write);
  /// Adds a scalar to an element.
  void add(const TensorPlace& tensor, const std::vector<LinearForm>& indices,
           const TypedValue& value);

  /// As a 64-bit integer; must not depend on the lanes.
  llvm::Value* emit(const LinearForm& form);
  /// As 64-bit integers, one for each lane.
  llvm::Value* emit_lanes(const LinearForm& form, const Lanes& lanes);
  /// 1 where all guards hold (none of which may depend on lanes).
  llvm::Value* emit_guards(const std::vector<Guard>& guards);

 private:
  llvm::Value* emit_atom(int atom);
  llvm::Value* pointer(const TensorPlace& tensor, const LinearForm& offset);
  llvm::Value* load_scalar(const TensorPlace& tensor, const LinearForm& offset,
                           const std::vector<Guard>& guards, double fill);
  llvm::Value* load_vector(const TensorPlace& tensor, const LinearForm& offset,
                           const std::vector<Guard>& guards, const Lanes& lanes, double fill);
  llvm::Value* load_lanes(const TensorPlace& tensor, const LinearForm& offset,
                          const std::vector<Guard>& guards, const Lanes& lanes, double fill);
  /// Lanes from one or two neighbouring vectors, put in place by a shuffle; nullptr where they lie
  /// too far apart.
  llvm::Value* load_shuffled(const TensorPlace& tensor, const LinearForm& offset,
                             const Lanes& lanes);
  llvm::Value* memory_constant(ElementType type, double value);
  llvm::Value* active_mask(int64_t active);
  llvm::Align alignment(const TensorPlace& tensor) const;
  /// Forgets what was emitted when another basic block has begun.
  void follow_block();

  using LoadKey = std::tuple<int, LinearForm, std::vector<Guard>, int, int64_t>;

  llvm::IRBuilder<>& builder_;
  Atoms& atoms_;
  Arithmetic& arithmetic_;
  std::map<int, llvm::Value*> loops_;
  llvm::BasicBlock* block_ = nullptr;
  std::map<int, llvm::Value*> emitted_;
  std::map<std::pair<int, std::vector<LinearForm::Term>>, llvm::Value*> pointers_;
  std::map<LoadKey, llvm::Value*> loads_;
  std::map<std::tuple<int, LinearForm, int64_t>, llvm::Value*> blocks_;  ///< to shuffle from
};

}  // namespace opsmith::compiler
