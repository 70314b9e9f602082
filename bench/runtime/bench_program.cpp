// Any tensor-expression program under its default schedule: time, bytes moved, and the schedule.
//
//   bench_program FILE [--target NAME] [--threads N] [--layout TENSOR=LAYOUT]... [--schedule]
//                 [--object FILE]
//
// The program's sizes must be bound. Layouts are as in docs/schedules.md ("0,1,2,3,1/16").

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/runtime/kernel_time.h"
#include "runtime/compiler/compiler.h"
#include "support/error.h"
#include "support/file.h"
#include "support/random.h"
#include "support/tensor.h"
#include "support/timing.h"

namespace opsmith {
namespace {

int run(int count, char** values) {
  try {
    schedule::KernelSpecification specification;
    std::string file;
    std::string target = "native";
    std::string object_file;
    int threads = 1;
    bool print_schedule = false;
    for (int i = 1; i < count; ++i) {
      const std::string value = values[i];
      const auto next = [&]() -> std::string {
        if (i + 1 >= count) throw UserError(value + " needs a value");
        return values[++i];
      };
      if (value == "--target") {
        target = next();
      } else if (value == "--threads") {
        threads = std::stoi(next());
      } else if (value == "--object") {
        object_file = next();
      } else if (value == "--schedule") {
        print_schedule = true;
      } else if (value == "--layout") {
        const std::string text = next();
        const size_t equals = text.find('=');
        if (equals == std::string::npos) throw UserError("--layout needs TENSOR=LAYOUT");
        specification.layouts[text.substr(0, equals)] =
            schedule::parse_layout(text.substr(equals + 1));
      } else {
        file = value;
      }
    }
    specification.program = expression::parse(read_file(file));
    expression::validate(specification.program);
    specification.target = schedule::detect_target(target, threads);
    for (const auto& [name, layout] : schedule::preferred_weight_layouts(
             specification.program, specification.layouts, specification.target)) {
      specification.layouts.try_emplace(name, layout);
    }
    specification.schedule = schedule::default_schedule(
        specification.program, specification.layouts, specification.target);
    if (print_schedule) {
      std::printf("%s\n", schedule::to_json(specification.schedule).c_str());
      for (const auto& [name, layout] : specification.layouts) {
        std::printf("  %s: %s\n", name.c_str(), to_string(layout).c_str());
      }
    }
    const Stopwatch stopwatch;
    const compiler::KernelObject object = compiler::compile(specification);
    const double compile_seconds = stopwatch.seconds();
    if (!object_file.empty()) write_file(object_file, object.object);
    const compiler::LoadedKernel kernel(object);
    std::vector<Tensor> storage;
    std::vector<void*> arguments;
    Random random(1);
    int64_t bytes = 0;
    for (const auto& argument : kernel.arguments()) {
      bytes += argument.bytes;
      storage.emplace_back(ElementType::Float32, Shape{(argument.bytes + 3) / 4});
      for (float& value : storage.back().data<float>()) {
        value = static_cast<float>(random.uniform(-1, 1));
      }
      arguments.push_back(storage.back().raw());
    }
    Tensor workspace(ElementType::UInt8, {kernel.workspace_bytes(threads) + 1});
    const KernelTime time =
        time_kernel([&] { kernel.run(arguments, workspace.raw(), threads); }, threads);
    const auto macs = static_cast<double>(expression::multiply_accumulates(specification.program));
    std::printf("%s: median %.4f ms (quiet %.4f), %.1f GB/s, %.1f GFLOP/s, compiled in %.0f ms\n",
                specification.program.name.c_str(), time.median * 1e3, time.quiet * 1e3,
                static_cast<double>(bytes) / time.quiet * 1e-9, 2 * macs / time.quiet * 1e-9,
                compile_seconds * 1e3);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_program: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace opsmith

int main(int count, char** values) { return opsmith::run(count, values); }
