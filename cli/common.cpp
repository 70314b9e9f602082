#include "cli/common.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/shape_inference.h"
#include "importer/importer.h"
#include "runtime/compiler/compiler.h"
#include "runtime/schedule/library.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "support/parallel.h"
#include "support/progress.h"

namespace opsmith::cli {

namespace fs = std::filesystem;

void add_log_flags(CLI::App& command, CommonOptions& options) {
  command.add_flag("-q,--quiet", options.quiet, "No progress, only warnings and errors")
      ->group("Output");
  command.add_flag("-v,--verbose", options.verbose, "Say more about what is done")->group("Output");
  command.parse_complete_callback([&options] {
    if (options.quiet) {
      set_log_level(LogLevel::Warning);
      Progress::set_enabled(false);
    } else if (options.verbose) {
      set_log_level(LogLevel::Debug);
    }
  });
}

void add_json_flag(CLI::App& command, CommonOptions& options) {
  command.add_option("--json", options.json, "Write the results as JSON to this file")
      ->type_name("FILE")
      ->group("Output");
}

void add_threads_flag(CLI::App& command, CommonOptions& options) {
  command.add_option("--threads", options.threads, "Threads to run on")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group("Running");
}

void add_kernel_flags(CLI::App& command, CommonOptions& options) {
  command
      .add_flag("--exact,!--no-exact", options.exact,
                "Only kernels that sum as the model's operators do (no Winograd convolutions)")
      ->group("Running");
  command
      .add_flag("--low-memory", options.low_memory,
                "No packed weights larger than the model's own (no Winograd convolutions)")
      ->group("Running");
}

void add_target_flag(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--target", options.target, "Instructions to compile for: native, avx2 or avx512")
      ->check(CLI::IsMember({"native", "avx2", "avx512"}))
      ->capture_default_str()
      ->group("Running");
}

void add_seed_flag(CLI::App& command, CommonOptions& options) {
  command.add_option("--seed", options.seed, "Seed of everything random")
      ->capture_default_str()
      ->group("Running");
}

void add_shape_flag(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--shape", options.shapes,
                  "Fix the shape of an input: name:1x3x224x224 (repeatable)")
      ->type_name("NAME:SHAPE")
      ->allow_extra_args(false)
      ->group("Input");
}

std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const auto malformed = [&] {
      return UserError("shape '" + text + "' is not written as NAME:1x3x224x224");
    };
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) throw malformed();
    Shape shape;
    int64_t extent = -1;
    for (const char c : text.substr(colon + 1) + "x") {
      if (c >= '0' && c <= '9') {
        extent = (extent < 0 ? 0 : extent) * 10 + (c - '0');
        if (extent > int64_t{1} << 40) throw malformed();
      } else if ((c == 'x' || c == ',') && extent >= 0) {
        shape.push_back(extent);
        extent = -1;
      } else if (text.size() > colon + 1) {  // "NAME:" alone is a scalar
        throw malformed();
      }
    }
    shapes[text.substr(0, colon)] = shape;
  }
  return shapes;
}

double parse_duration(const std::string& text) {
  size_t end = 0;
  double value = -1;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == 0 || factor == 0 || !(value > 0) || !std::isfinite(value)) {
    throw UserError("duration '" + text + "' is not written as 90s, 10m or 1.5h");
  }
  return value * factor;
}

graph::Model load_model(const std::string& path, const std::vector<std::string>& shapes) {
  graph::Model model = importer::import_model(path);
  if (shapes.empty()) {
    graph::infer_shapes(model);
  } else {
    graph::fix_input_shapes(model, parse_shapes(shapes));
  }
  return model;
}

std::vector<std::string> input_names(const graph::Model& model) {
  std::vector<std::string> names;
  for (const graph::ValueId id : model.graph.inputs) {
    const graph::Value& value = model.graph.value(id);
    if (!value.constant) names.push_back(value.name);
  }
  return names;
}

void check_output_file(const std::string& output, const std::string& input) {
  std::error_code error;
  if (!input.empty() && fs::equivalent(output, input, error)) {
    throw UserError("writing '" + output + "' would overwrite the input; choose another name");
  }
  if (fs::is_directory(output)) {
    throw UserError("cannot write '" + output + "': it is a folder; give a file's name");
  }
  fs::path folder = fs::path(output).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder)) {
    throw UserError("cannot write '" + output + "': the folder '" + folder.string() +
                    "' does not exist; create it first");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw UserError("cannot write '" + output + "': the folder '" + folder.string() +
                    "' takes no files; choose another or change its permissions");
  }
}

executor::SessionOptions session_options(const CommonOptions& options) {
  static const std::shared_ptr<schedule::ScheduleLibrary> schedules =
      schedule::ScheduleLibrary::open();
  executor::SessionOptions result;
  result.threads = options.threads;
  result.target = options.target;
  result.exact = options.exact;
  result.low_memory = options.low_memory;
  result.schedules = schedules;
  return result;
}

std::shared_ptr<schedule::KernelProvider> kernel_provider() {
  static const std::shared_ptr<schedule::KernelProvider> provider = compiler::make_compiler();
  return provider;
}

void write_json(const std::string& path, const nlohmann::json& document) {
  if (!path.empty()) write_file(path, document.dump(2) + "\n");
}

std::string human(double count) {
  constexpr std::array<const char*, 5> kUnits{"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (count >= 999.5 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  const int digits = unit == 0 ? 0 : count < 10 ? 2 : count < 100 ? 1 : 0;
  return fixed(count, digits) + kUnits[unit];
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

}  // namespace opsmith::cli
