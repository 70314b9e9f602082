// Convolution kernels by themselves, in blocked layouts, as a share of the multiply-add peak that
// is measured in the same process.
//
//   bench_convolution [--target NAME] [--threads N] [--schedule] [--variant NAME]
//   [--winograd-tiling rows,columns,vectors,whole input,whole product]
//   [--grouped] [C,O,H,W,kernel,stride[,groups]]...
//
// --grouped: the 3x3 layers of ResNet-34 and WideResNet-40-2 at 1, 2, 4, 8, 16 groups and one for
// each channel, against a bound: the larger of the dense time divided by the groups and the time to
// copy the input over the output.
//
// Without shapes: the layers of ResNet-50 at batch 1; a layer that the variant does not fit is left
// out. Operations are those of the direct program. Prints a line for each, and the line that
// repeats it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "bench/runtime/kernel_time.h"
#include "runtime/compiler/compiler.h"
#include "runtime/compiler/peak.h"
#include "runtime/schedule/variants/winograd.h"
#include "support/error.h"
#include "support/file.h"
#include "support/random.h"
#include "support/tensor.h"
#include "support/thread_team.h"
#include "support/timing.h"

namespace opsmith {
namespace {

struct Shapes {
  int64_t channels, outputs, height, width, kernel, stride, groups;
};

const std::vector<Shapes> kResNet50 = {
    {3, 64, 224, 224, 7, 2, 1},   {64, 64, 56, 56, 1, 1, 1},    {64, 64, 56, 56, 3, 1, 1},
    {64, 256, 56, 56, 1, 1, 1},   {256, 64, 56, 56, 1, 1, 1},   {256, 128, 56, 56, 1, 1, 1},
    {128, 128, 56, 56, 3, 2, 1},  {128, 512, 28, 28, 1, 1, 1},  {256, 512, 56, 56, 1, 2, 1},
    {512, 128, 28, 28, 1, 1, 1},  {128, 128, 28, 28, 3, 1, 1},  {512, 256, 28, 28, 1, 1, 1},
    {256, 256, 28, 28, 3, 2, 1},  {256, 1024, 14, 14, 1, 1, 1}, {512, 1024, 28, 28, 1, 2, 1},
    {1024, 256, 14, 14, 1, 1, 1}, {256, 256, 14, 14, 3, 1, 1},  {1024, 512, 14, 14, 1, 1, 1},
    {512, 512, 14, 14, 3, 2, 1},  {512, 2048, 7, 7, 1, 1, 1},   {1024, 2048, 14, 14, 1, 2, 1},
    {2048, 512, 7, 7, 1, 1, 1},   {512, 512, 7, 7, 3, 1, 1},
};

/// Channels and height of the 3x3 layers; they are square and have as many outputs.
const std::vector<std::pair<int64_t, int64_t>> kGroupedLayers = {
    {64, 56}, {128, 28}, {256, 14}, {512, 7}, {32, 32}, {64, 16}, {128, 8},
};

std::string program_text(const Shapes& s) {
  const int64_t padding = s.kernel / 2;
  const int64_t height = (s.height + 2 * padding - s.kernel) / s.stride + 1;
  const int64_t width = (s.width + 2 * padding - s.kernel) / s.stride + 1;
  const auto n = [](int64_t value) { return std::to_string(value); };
  const std::string per_group = n(s.channels / s.groups);
  const std::string channel =
      s.groups == 1 ? "c" : "o/" + n(s.outputs / s.groups) + "*" + per_group + " + c";
  return "program conv(x: f32[1, " + n(s.channels) + ", " + n(s.height) + ", " + n(s.width) +
         "]; w: f32[" + n(s.outputs) + ", " + per_group + ", " + n(s.kernel) + ", " + n(s.kernel) +
         "], bias: f32[" + n(s.outputs) + "]) -> z\n  z: f32[n: 1, o: " + n(s.outputs) +
         ", h: " + n(height) + ", v: " + n(width) + "] = sum[f32](c: " + per_group +
         ", a: " + n(s.kernel) + ", b: " + n(s.kernel) + ") x[n, " + channel + ", h*" +
         n(s.stride) + " + a - " + n(padding) + ", v*" + n(s.stride) + " + b - " + n(padding) +
         "] * w[o, c, a, b] epilogue maximum(_ + bias[o], 0)\n";
}

struct Options {
  std::string target = "native";
  int threads = 1;
  bool print_schedule = false;
  bool grouped = false;
  std::string variant = "direct";
  std::string tiling;
  std::string object_file;  ///< receives the last kernel's ELF file, for a disassembler
  std::vector<Shapes> shapes;
};

Options parse(int count, char** values) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string value = values[i];
    if (value == "--target" && i + 1 < count) {
      options.target = values[++i];
    } else if (value == "--variant" && i + 1 < count) {
      options.variant = values[++i];
    } else if (value == "--winograd-tiling" && i + 1 < count) {
      options.tiling = values[++i];
    } else if (value == "--threads" && i + 1 < count) {
      options.threads = std::stoi(values[++i]);
    } else if (value == "--object" && i + 1 < count) {
      options.object_file = values[++i];
    } else if (value == "--grouped") {
      options.grouped = true;
    } else if (value == "--schedule") {
      options.print_schedule = true;
    } else {
      Shapes s{0, 0, 0, 0, 1, 1, 1};
      int64_t* const fields[] = {&s.channels, &s.outputs, &s.height, &s.width,
                                 &s.kernel,   &s.stride,  &s.groups};
      std::stringstream stream(value);
      size_t field = 0;
      for (std::string part; std::getline(stream, part, ',') && field < 7;) {
        *fields[field++] = std::stoll(part);
      }
      if (field < 4) throw UserError("'" + value + "' is no C,O,H,W[,kernel[,stride[,groups]]]");
      options.shapes.push_back(s);
    }
  }
  if (options.shapes.empty() && !options.grouped) options.shapes = kResNet50;
  return options;
}

/// Returns the median time in seconds; 0 where the variant does not fit.
double bench(const Shapes& s, const Options& options, double peak) {
  schedule::KernelSpecification specification;
  specification.program = expression::parse(program_text(s));
  specification.target = schedule::detect_target(options.target, options.threads);
  const int64_t block = specification.target.lanes(4);
  const int64_t halo = s.kernel / 2;
  if (s.channels % block == 0) {
    specification.layouts["x"] = schedule::Layout::channel_blocked(4, block);
  } else {
    specification.layouts["x"] = schedule::Layout::row_major(4);
  }
  specification.layouts["x"].halo = {{}, {}, {halo, halo}, {halo, halo}};
  specification.layouts["z"] = schedule::Layout::channel_blocked(4, block);
  const double flops =
      2.0 * static_cast<double>(expression::multiply_accumulates(specification.program));
  const auto variant = schedule::make_variant(specification.program, options.variant);
  if (!variant) return 0;
  const auto reach = schedule::variant_reach(specification.program, "x");
  if (!reach.empty()) specification.layouts["x"].halo = reach;
  schedule::VariantSchedule chosen =
      schedule::default_variant_schedule(*variant, specification.layouts, specification.target);
  if (!options.tiling.empty()) {
    std::string numbers = options.tiling;
    std::replace(numbers.begin(), numbers.end(), ',', ' ');
    schedule::WinogradTiling tiling;
    std::stringstream(numbers) >> tiling.rows >> tiling.columns >> tiling.vectors >>
        tiling.whole_input >> tiling.whole_product;
    chosen = schedule::winograd_schedule(*variant, tiling, specification.target);
  }
  specification.program = variant->program;
  specification.schedule = chosen.schedule;
  for (const auto& [name, layout] : chosen.weights) specification.layouts[name] = layout;
  const Stopwatch stopwatch;
  const compiler::KernelObject object = compiler::compile(specification);
  const double compile_seconds = stopwatch.seconds();
  const compiler::LoadedKernel kernel(object);
  if (!options.object_file.empty()) write_file(options.object_file, object.object);
  std::vector<Tensor> storage;
  std::vector<void*> arguments;
  Random random(1);
  for (const auto& argument : kernel.arguments()) {
    storage.emplace_back(ElementType::Float32, Shape{argument.bytes / 4});
    for (float& value : storage.back().data<float>()) {
      value = static_cast<float>(random.uniform(-1, 1));
    }
    arguments.push_back(storage.back().raw());
  }
  Tensor workspace(ElementType::UInt8, {kernel.workspace_bytes(options.threads) + 1});
  const KernelTime time = time_kernel(
      [&] { kernel.run(arguments, workspace.raw(), options.threads); }, options.threads);
  const auto share = [&](double seconds) { return 100 * flops / seconds / peak / options.threads; };
  std::printf(
      "%5.1f %% of peak (quiet %5.1f %%)  %8.3f ms  compiled in %3.0f ms  "
      "bench_convolution --variant %s%s --target %s --threads %d %ld,%ld,%ld,%ld,%ld,%ld,%ld\n",
      share(time.median), share(time.quiet), time.median * 1e3, compile_seconds * 1e3,
      options.variant.c_str(),
      options.tiling.empty() ? "" : (" --winograd-tiling " + options.tiling).c_str(),
      options.target.c_str(), options.threads, s.channels, s.outputs, s.height, s.width, s.kernel,
      s.stride, s.groups);
  if (options.print_schedule) {
    std::printf("%s  weights %s\n", schedule::to_json(specification.schedule).c_str(),
                to_string(chosen.weights.begin()->second).c_str());
  }
  std::fflush(stdout);
  return time.median;
}

/// Seconds to copy a tensor of one layer's input over one of its output.
double copy_seconds(const Shapes& s, int threads) {
  const Shape shape{s.channels, s.height + 2, s.width + 2};
  const Tensor from(ElementType::Float32, shape);
  Tensor to(ElementType::Float32, shape);
  std::memset(const_cast<void*>(from.raw()), 0, from.bytes());
  ThreadTeam team(threads);
  const int64_t bytes = static_cast<int64_t>(from.bytes());
  const int64_t chunks = team.chunks_for(bytes / 4096);
  return time_kernel(
             [&] {
               team.run(chunks, [&](int64_t chunk, int) noexcept {
                 const int64_t begin = bytes * chunk / chunks;
                 std::memcpy(static_cast<char*>(to.raw()) + begin,
                             static_cast<const char*>(from.raw()) + begin,
                             static_cast<size_t>(bytes * (chunk + 1) / chunks - begin));
               });
             },
             threads)
      .median;
}

void bench_grouped(const Options& options, double peak) {
  for (const auto& [channels, size] : kGroupedLayers) {
    double dense = 0;
    for (const int64_t groups :
         {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}, int64_t{16}, channels}) {
      const Shapes shapes{channels, channels, size, size, 3, 1, groups};
      const double seconds = bench(shapes, options, peak);
      if (groups == 1) dense = seconds;
      const double expected = dense / static_cast<double>(groups);
      const double copy = copy_seconds(shapes, options.threads);
      std::printf("    dense time / groups %.3f ms, copy %.3f ms: %.2f of the larger\n",
                  expected * 1e3, copy * 1e3, seconds / std::max(expected, copy));
    }
  }
}

int run(int count, char** values) {
  try {
    const Options options = parse(count, values);
    const double peak = compiler::measure_peak_flops(schedule::detect_target(options.target));
    std::printf("peak of one core: %.1f GFLOP/s\n", peak * 1e-9);
    for (const Shapes& shapes : options.shapes) bench(shapes, options, peak);
    if (options.grouped) bench_grouped(options, peak);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_convolution: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace opsmith

int main(int count, char** values) { return opsmith::run(count, values); }
