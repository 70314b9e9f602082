#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "compiled.h"
#include "runtime/compiler/object_cache.h"
#include "support/error.h"
#include "support/file.h"

// Kernel objects on disk and in memory.

namespace opsmith::compiler::testing {
namespace {

schedule::KernelSpecification add_one(int64_t size = 100) {
  schedule::KernelSpecification specification;
  const std::string n = std::to_string(size);
  specification.program =
      expression::parse("program add(x: f32[" + n + "];) -> z\n  z: f32[i: " + n + "] = x[i] + 1");
  specification.target = schedule::detect_target();
  return specification;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/opsmith_objects_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      found.push_back(entry.path());
    }
    return found;
  }
  std::string path;
};

TEST(KernelObject, RoundTrip) {
  KernelObject kernel = compile(add_one());
  kernel.zero_fills.push_back({0, 4, 8, {{3, 16}}});
  const KernelObject back = KernelObject::deserialize(kernel.serialize());
  EXPECT_EQ(back.object, kernel.object);
  ASSERT_EQ(back.phases.size(), 1U);
  EXPECT_EQ(back.phases[0].symbol, kernel.phases[0].symbol);
  EXPECT_EQ(back.arguments.at(1).name, "z");
  EXPECT_EQ(back.arguments.at(1).bytes, 400);
  EXPECT_EQ(back.zero_fills.at(0).loops.at(0).stride, 16);
  EXPECT_EQ(back.serialize(), kernel.serialize());
}

TEST(KernelObject, EveryDamageIsFound) {
  const std::string bytes = compile(add_one()).serialize();
  for (size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_THROW(KernelObject::deserialize(damaged), UserError) << "byte " << i;
  }
  for (const size_t size : {size_t{0}, size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_THROW(KernelObject::deserialize(bytes.substr(0, size)), UserError);
  }
  EXPECT_THROW(KernelObject::deserialize(bytes + "x"), UserError);
}

TEST(LoadedKernel, RefusesForeignObjects) {
  KernelObject kernel = compile(add_one());
  kernel.object = "no ELF file at all, but long enough to hold the header of one, with some rest";
  EXPECT_THROW(LoadedKernel{kernel}, InternalError);
  kernel = compile(add_one());
  kernel.phases[0].symbol = "missing";
  EXPECT_THROW(LoadedKernel{kernel}, InternalError);
  // A large scatter stage calls memset; any other name must be refused.
  schedule::KernelSpecification scatter = add_one();
  scatter.program =
      expression::parse("program s(x: f32[9];) -> z\n  z: f32[9000] over (i: 9) at [i * 2] = x[i]");
  kernel = compile(scatter);
  EXPECT_NO_THROW(LoadedKernel{kernel});
  const size_t name = kernel.object.find("memset");
  ASSERT_NE(name, std::string::npos);
  kernel.object.replace(name, 6, "system");
  EXPECT_THROW(LoadedKernel{kernel}, InternalError);
}

TEST(LoadedKernel, RestoresDenormals) {
  schedule::KernelSpecification specification = add_one(4);
  specification.program =
      expression::parse("program f(x: f32[4];) -> z\n  z: f32[i: 4] = x[i] * 0.5");
  const LoadedKernel kernel(compile(specification));
  alignas(64) float x[4] = {1e-40F, 2, 3, 4};
  alignas(64) float z[4] = {};
  void* arguments[] = {x, z};
  kernel.run(arguments, nullptr, 1);
  EXPECT_EQ(z[0], 0.0F);
  EXPECT_EQ(z[1], 1.0F);
  volatile float small = 1e-40F;
  EXPECT_GT(small * 0.5F, 0.0F);
}

TEST(LoadedKernel, ThreadsGiveTheSameResult) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(
      "program mm(x: f32[64, 40]; w: f32[40, 96]) -> z\n"
      "  z: f32[m: 64, n: 96] = sum[f32](k: 40) x[m, k] * w[k, n]");
  specification.target = schedule::detect_target();
  specification.schedule =
      schedule::default_schedule(specification.program, {}, specification.target);
  const LoadedKernel kernel(compile(specification));
  EXPECT_GT(kernel.phases().at(0).tasks, 3);
  Random random(3);
  const expression::Tensors tensors = random_tensors(specification.program, random);
  const Tensor one = run_kernel(specification, kernel, tensors, 1).at("z");
  for (const int threads : {2, 3, 7}) {
    EXPECT_TRUE(identical(one, run_kernel(specification, kernel, tensors, threads).at("z")));
  }
  std::vector<std::thread> callers;
  std::vector<char> same(4, 0);
  for (size_t i = 0; i < same.size(); ++i) {
    callers.emplace_back([&, i] {
      same[i] = identical(one, run_kernel(specification, kernel, tensors, 2).at("z")) ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(same, std::vector<char>(4, 1));
}

TEST(Compiler, KeepsKernelsInMemoryAndOnDisk) {
  const Folder folder;
  const auto first = make_compiler(folder.path);
  const auto kernel = first->kernel(add_one());
  EXPECT_EQ(first->kernel(add_one()), kernel);
  EXPECT_NE(first->kernel(add_one(101)), kernel);
  ASSERT_EQ(folder.files().size(), 2U);
  for (const std::string& file : folder.files()) {
    const auto permissions = std::filesystem::status(file).permissions();
    EXPECT_EQ(
        permissions & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
        std::filesystem::perms::none);
  }
  EXPECT_NE(make_compiler(folder.path)->kernel(add_one()), nullptr);
  EXPECT_EQ(folder.files().size(), 2U);
}

TEST(Compiler, DamagedFilesAreSetAsideAndMadeAnew) {
  const Folder folder;
  make_compiler(folder.path)->kernel(add_one());
  const std::string file = folder.files().at(0);
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(file, bytes);
  const auto kernel = make_compiler(folder.path)->kernel(add_one());
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(std::filesystem::exists(file + ".damaged"));
  EXPECT_NO_THROW(KernelObject::deserialize(read_file(file)));
}

TEST(Compiler, ManyThreadsAskForOneKernel) {
  const auto compiler = make_compiler("none");
  std::vector<std::shared_ptr<const LoadedKernel>> kernels(8);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < kernels.size(); ++i) {
    callers.emplace_back(
        [&, i] { kernels[i] = compiler->kernel(add_one(i % 2 == 0 ? 100 : 200)); });
  }
  for (std::thread& caller : callers) caller.join();
  for (size_t i = 2; i < kernels.size(); ++i) EXPECT_EQ(kernels[i], kernels[i % 2]);
  EXPECT_NE(kernels[0], kernels[1]);
}

TEST(Compiler, FailureIsReportedEveryTime) {
  const auto compiler = make_compiler("none");
  schedule::KernelSpecification specification = add_one();
  specification.schedule.directives.push_back({"split", "z", {"q", "a", "b"}, 2, ""});
  EXPECT_THROW(compiler->kernel(specification), UserError);
  EXPECT_THROW(compiler->kernel(specification), UserError);
}

}  // namespace
}  // namespace opsmith::compiler::testing
