#include "runtime/compiler/compiler.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "runtime/compiler/codegen/halo_fill.h"
#include "runtime/compiler/codegen/machine_code.h"
#include "runtime/compiler/codegen/stage_emitter.h"
#include "runtime/compiler/loop_nest.h"
#include "support/error.h"

namespace opsmith::compiler {
namespace {

constexpr int64_t kWorkspaceAlignment = 64;

/// Where a tensor lies: in an argument, or at `offset` in the workspace or the thread's scratch.
struct Storage {
  int64_t argument = -1;
  int64_t offset = 0;
  bool scratch = false;
  Shape shape;   ///< of the tensor
  Shape stored;  ///< of the part that is in memory at once
  ElementType type = ElementType::Float32;
};

class KernelEmitter {
 public:
  KernelEmitter(const LoopNest& nest, const schedule::Target& target)
      : nest_(nest), target_(target), module_(nest.program.name, context_), builder_(context_) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    builder_.setFastMathFlags(flags);
    place_tensors();
  }

  KernelObject emit() {
    for (size_t i = 0; i < nest_.stages.size(); ++i) {
      if (!nest_.stages[i].anchor.empty()) continue;
      emit_phase(nest_.stages[i], "stage" + std::to_string(i));
    }
    if (!kernel_.phases.empty()) kernel_.phases[0].waits = false;
    kernel_.object = emit_object(module_, target_);
    return std::move(kernel_);
  }

 private:
  Shape shape_of(const std::string& tensor) const {
    Shape shape;
    for (const expression::Index& extent : nest_.program.shape_of(tensor)) {
      const expression::Index size = expression::simplify(extent);
      if (!size.is_constant()) {
        throw InternalError("program '" + nest_.program.name + "': a size of '" + tensor +
                            "' is not bound");
      }
      shape.push_back(size.value());
    }
    return shape;
  }

  int64_t bytes_of(const std::string& tensor) const {
    const Storage& storage = storage_.at(tensor);
    return nest_.layouts.at(tensor).storage_count(storage.stored) *
           static_cast<int64_t>(element_size(storage.type));
  }

  void zero_halo(const std::string& tensor) {
    const Storage& storage = storage_.at(tensor);
    const auto fills = halo_fills(nest_.layouts.at(tensor), storage.shape,
                                  static_cast<int64_t>(element_size(storage.type)),
                                  storage.argument, storage.offset);
    kernel_.zero_fills.insert(kernel_.zero_fills.end(), fills.begin(), fills.end());
  }

  void place_argument(const std::string& tensor) {
    const Shape shape = shape_of(tensor);
    storage_[tensor] = {static_cast<int64_t>(kernel_.arguments.size()),
                        0,
                        false,
                        shape,
                        shape,
                        nest_.program.type_of(tensor)};
    schedule::Layout bare = nest_.layouts.at(tensor);
    bare.halo.clear();
    const Storage& storage = storage_.at(tensor);
    const int64_t bytes = bytes_of(tensor);
    const int64_t without =
        bare.storage_count(storage.shape) * static_cast<int64_t>(element_size(storage.type));
    kernel_.arguments.push_back({tensor, bytes, bytes - without});
  }

  void place_tensors() {
    for (const auto& input : nest_.program.inputs) place_argument(input.name);
    for (const auto& weight : nest_.program.weights) place_argument(weight.name);
    for (const std::string& output : nest_.program.outputs) {
      place_argument(output);
      zero_halo(output);
    }
    for (const StageNest& stage : nest_.stages) {
      const std::string& name = stage.stage.name;
      if (storage_.count(name) != 0) continue;
      const bool scratch = !stage.anchor.empty();
      int64_t& used = scratch ? kernel_.scratch_bytes : kernel_.workspace_bytes;
      Shape stored = shape_of(name);
      for (size_t d = 0; scratch && d < stored.size(); ++d) {
        stored[d] = stage.axes.at(stage.stage.axes[d].name).extent;
      }
      storage_[name] = {-1, used, scratch, shape_of(name), stored, stage.stage.type};
      zero_halo(name);
      const int64_t bytes = bytes_of(name) + kWorkspaceAlignment - 1;
      used += bytes / kWorkspaceAlignment * kWorkspaceAlignment;
    }
  }

  /// The tensors that a stage touches, and those that stages inside it do.
  void collect_tensors(const StageNest& nest, std::vector<std::string>& names) {
    names.push_back(nest.stage.name);
    for (const expression::Scalar& read : expression::reads(nest.stage.body)) {
      names.push_back(read.tensor());
    }
    if (nest.stage.epilogue) {
      for (const expression::Scalar& read : expression::reads(*nest.stage.epilogue)) {
        names.push_back(read.tensor());
      }
    }
    for (const StageNest& inner : nest_.stages) {
      if (inner.anchor == nest.stage.name) collect_tensors(inner, names);
    }
  }

  /// Those tensors with their addresses loaded.
  std::map<std::string, TensorPlace> load_places(const StageNest& nest, llvm::Function* function) {
    std::vector<std::string> names;
    collect_tensors(nest, names);
    std::map<std::string, TensorPlace> places;
    for (const std::string& name : names) {
      if (places.count(name) != 0) continue;
      const Storage& storage = storage_.at(name);
      TensorPlace place;
      if (storage.argument >= 0) {
        llvm::Value* const entry = builder_.CreateConstGEP1_64(
            builder_.getPtrTy(), function->getArg(0), static_cast<uint64_t>(storage.argument));
        place.base = builder_.CreateLoad(builder_.getPtrTy(), entry, name);
      } else {
        place.base = builder_.CreateConstGEP1_64(builder_.getInt8Ty(),
                                                 function->getArg(storage.scratch ? 4 : 1),
                                                 static_cast<uint64_t>(storage.offset));
      }
      place.type = storage.type;
      place.shape = storage.shape;
      place.stored = storage.stored;
      place.layout = nest_.layouts.at(name);
      place.strides = place.layout.piece_strides(storage.stored);
      place.id = static_cast<int>(places.size());
      places[name] = place;
    }
    return places;
  }

  void emit_phase(const StageNest& nest, const std::string& symbol) {
    llvm::Type* const pointer = builder_.getPtrTy();
    llvm::Type* const integer = builder_.getInt64Ty();
    llvm::Function* const function = llvm::Function::Create(
        llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, integer, integer, pointer},
                                false),
        llvm::Function::ExternalLinkage, symbol, module_);
    function->setDoesNotThrow();
    function->addFnAttr("target-cpu", target_.cpu);
    function->addFnAttr("target-features", target_.features);
    function->addFnAttr("no-jump-tables", "true");
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
    PhaseContext phase{builder_, nest_, load_places(nest, function), {}, {}};
    StageEmitter emitter(phase, nest);
    emitter.emit(function->getArg(2), function->getArg(3));
    builder_.CreateRetVoid();
    kernel_.phases.push_back({symbol, emitter.tasks(), true});
  }

  const LoopNest& nest_;
  const schedule::Target& target_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> builder_;
  std::map<std::string, Storage> storage_;
  KernelObject kernel_;
};

}  // namespace

KernelObject compile(const schedule::KernelSpecification& specification) {
  const LoopNest nest = apply(specification.program, specification.schedule, specification.layouts);
  return KernelEmitter(nest, specification.target).emit();
}

}  // namespace opsmith::compiler
