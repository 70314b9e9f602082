#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/executor/session.h"
#include "support/tensor.h"

namespace CLI {
class App;
}

namespace opsmith::cli {

/// Flags that most commands share.
struct CommonOptions {
  std::string json;  ///< file for machines; empty: none
  int threads = 1;
  uint64_t seed = 1;
  std::vector<std::string> shapes;  ///< "name:1x3x224x224"
  bool exact = false;               ///< no Winograd convolutions
  bool low_memory = false;          ///< no weights larger than the model's own
  std::string target = "native";
  bool quiet = false;
  bool verbose = false;
};

/// --quiet and --verbose, with their effect.
void add_log_flags(CLI::App& command, CommonOptions& options);
void add_json_flag(CLI::App& command, CommonOptions& options);
void add_threads_flag(CLI::App& command, CommonOptions& options);
/// --exact and --low-memory.
void add_kernel_flags(CLI::App& command, CommonOptions& options);
/// --target.
void add_target_flag(CLI::App& command, CommonOptions& options);
void add_seed_flag(CLI::App& command, CommonOptions& options);
void add_shape_flag(CLI::App& command, CommonOptions& options);

/// "x:1x3x224x224" or "x:1,3,224,224" by input name. Throws UserError.
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts);

/// "90", "90s", "10m", "1.5h" in seconds. Throws UserError.
double parse_duration(const std::string& text);

/// Imports a model and fixes the shapes that were given on the command line.
graph::Model load_model(const std::string& path, const std::vector<std::string>& shapes = {});

/// Names of the inputs that a caller must give: those without a default.
std::vector<std::string> input_names(const graph::Model& model);

/// Throws UserError when writing `output` would overwrite `input`, or its folder does not exist or
/// takes no files. Called before any long work.
void check_output_file(const std::string& output, const std::string& input = "");

/// How sessions run as these flags say, with the measured schedules of this machine.
executor::SessionOptions session_options(const CommonOptions& options);

/// The kernels' compiler with its cache on disk; one per process.
std::shared_ptr<schedule::KernelProvider> kernel_provider();

/// Writes the document if a file was asked for.
void write_json(const std::string& path, const nlohmann::json& document);

/// 1234567 as "1.23 M"; plain below a thousand.
std::string human(double count);
/// With this many digits after the point.
std::string fixed(double value, int digits);

}  // namespace opsmith::cli
