#include "runtime/compiler/codegen/machine_code.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "support/error.h"

namespace opsmith::compiler {
namespace {

std::unique_ptr<llvm::TargetMachine> make_machine(const schedule::Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // The register tile is emitted in the order that keeps it in registers: the machine scheduler
    // would move all loads of an unrolled body to its front and spill. Addresses are shared as
    // they should be: loop strength reduction would take most of the compile time for nothing.
    const char* const options[] = {"opsmith", "-enable-misched=false", "-disable-lsr"};
    llvm::cl::ParseCommandLineOptions(3, options);
  });
  const std::string triple = llvm::sys::getDefaultTargetTriple();
  std::string error;
  const llvm::Target* const found = llvm::TargetRegistry::lookupTarget(triple, error);
  require(found != nullptr, "LLVM knows no target for " + triple + ": " + error);
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, target.features, {}, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
  require(machine != nullptr, "LLVM cannot make code for " + target.cpu);
  return machine;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  // Little is left to do: addresses are shared and loops are unrolled as the schedule says.
  llvm::Error error = builder.parsePassPipeline(
      passes,
      "function(early-cse,instcombine<max-iterations=1;no-verify-fixpoint>,loop-mssa(licm),"
      "early-cse)");
  require(!error, "LLVM rejects the pass pipeline: " + llvm::toString(std::move(error)));
  passes.run(module, modules);
}

}  // namespace

std::string emit_object(llvm::Module& module, const schedule::Target& target) {
  const std::unique_ptr<llvm::TargetMachine> machine = make_machine(target);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  std::string fault;
  llvm::raw_string_ostream fault_stream(fault);
  require(!llvm::verifyModule(module, &fault_stream),
          "generated code is malformed: " + fault_stream.str());
  optimize(module, *machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const bool refused =
      machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  require(!refused, "LLVM cannot write object files for this target");
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

std::string code_generator_version() {
  return std::string("llvm ") + LLVM_VERSION_STRING + ' ' + llvm::sys::getHostCPUName().str();
}

}  // namespace opsmith::compiler
