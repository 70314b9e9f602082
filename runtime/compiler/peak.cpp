#include "runtime/compiler/peak.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <ctime>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/compiler/codegen/machine_code.h"
#include "runtime/compiler/loader/kernel_object.h"

namespace opsmith::compiler {
namespace {

/// More than latency times throughput on any processor, and few enough for 16 registers.
constexpr unsigned kChains = 12;
constexpr int64_t kSteps = 200000;

KernelObject multiply_add_loop(const schedule::Target& target) {
  llvm::LLVMContext context;
  llvm::Module module("peak", context);
  llvm::IRBuilder<> builder(context);
  llvm::Type* const pointer = builder.getPtrTy();
  llvm::Type* const integer = builder.getInt64Ty();
  llvm::Function* const function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, integer, integer}, false),
      llvm::Function::ExternalLinkage, "peak", module);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->setDoesNotThrow();
  auto* const entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* const loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* const done = llvm::BasicBlock::Create(context, "done", function);
  llvm::Type* const vector =
      llvm::FixedVectorType::get(builder.getFloatTy(), static_cast<unsigned>(target.lanes(4)));

  builder.SetInsertPoint(entry);
  llvm::Value* const data =
      builder.CreateLoad(pointer, builder.CreateConstGEP1_64(pointer, function->getArg(0), 0));
  llvm::Value* const factor = builder.CreateAlignedLoad(vector, data, llvm::Align(4));
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* const step = builder.CreatePHI(integer, 2);
  step->addIncoming(function->getArg(2), entry);
  std::array<llvm::PHINode*, kChains> chains{};
  for (llvm::PHINode*& chain : chains) {
    chain = builder.CreatePHI(vector, 2);
    chain->addIncoming(factor, entry);
  }
  for (llvm::PHINode* chain : chains) {
    llvm::Value* const next =
        builder.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {chain, factor, factor});
    chain->addIncoming(next, loop);
  }
  llvm::Value* const next = builder.CreateAdd(step, builder.getInt64(1));
  step->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpSLT(next, function->getArg(3)), loop, done);
  builder.SetInsertPoint(done);
  llvm::Value* sum = factor;
  for (llvm::PHINode* chain : chains) {
    sum = builder.CreateFAdd(sum, chain->getIncomingValueForBlock(loop));
  }
  builder.CreateAlignedStore(sum, data, llvm::Align(4));
  builder.CreateRetVoid();

  KernelObject kernel;
  kernel.object = emit_object(module, target);
  kernel.phases.push_back({"peak", kSteps, false});
  kernel.arguments.push_back({"data", 64, 0});
  return kernel;
}

}  // namespace

double measure_peak_flops(const schedule::Target& target) {
  const LoadedKernel kernel(multiply_add_loop(target));
  alignas(64) std::array<float, 16> data{};
  void* arguments[] = {data.data()};
  // Time on the processor: what other processes take must not lower the peak.
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  std::vector<double> samples;
  const double start = now();
  while (samples.size() < 20 || now() - start < 0.2) {
    data.fill(0.5F);
    const double begin = now();
    kernel.run(arguments, nullptr, 1);
    samples.push_back(now() - begin);
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  const double seconds = *middle;
  return 2.0 * static_cast<double>(target.lanes(4)) * kChains * static_cast<double>(kSteps) /
         seconds;
}

}  // namespace opsmith::compiler
