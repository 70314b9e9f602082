#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>

#include "cli/commands.h"
#include "cli/replay.h"
#include "support/error.h"

namespace {

/// Exit codes, part of the command's contract (docs/cli.md).
enum ExitCode : int {
  kDone = 0,
  kBug = 1,
  kCallersMistake = 2,
  kGateMissed = 3,
  kNothingMeasured = 4,
};

int fail(ExitCode code, const std::string& kind, const std::string& message) {
  std::cout.flush();
  std::cerr << "opsmith: " << kind << ": " << message << "\n";
  return code;
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    std::vector<std::string> arguments = opsmith::cli::expand_replay(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(std::move(arguments));
    std::cout.flush();
    if (!std::cout) return fail(kCallersMistake, "error", "cannot write to the standard output");
    return kDone;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail(kCallersMistake, "error", std::string(error.what()) + "\nSee opsmith --help.");
  } catch (const opsmith::UserError& error) {
    return fail(kCallersMistake, "error", error.what());
  } catch (const opsmith::Unsupported& error) {
    return fail(kCallersMistake, "unsupported", error.what());
  } catch (const opsmith::GateMissed& missed) {
    return fail(kGateMissed, "not met", missed.what());
  } catch (const opsmith::NothingMeasured& nothing) {
    return fail(kNothingMeasured, "nothing measured", nothing.what());
  } catch (const std::bad_alloc&) {
    return fail(kCallersMistake, "error",
                "out of memory; use smaller inputs (--shape) or a machine with more");
  } catch (const std::exception& error) {
    return fail(kBug, "bug",
                std::string(error.what()) +
                    "\nThis is a mistake in opsmith, not in your input. Please report it with the "
                    "command line and, if you can, the model.");
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "opsmith makes a trained ONNX model smaller and faster on a CPU: it replaces the layers that "
      "cost the most by cheaper operators, fits those to the trained model, and runs the result or "
      "writes it back as ONNX.",
      "opsmith"};
  app.require_subcommand(1);
  app.set_version_flag("--version", OPSMITH_VERSION);
  app.footer(
      "Examples:\n"
      "  opsmith inspect model.onnx\n"
      "  opsmith optimize model.onnx -o out --max-flops 40% --calibration images.npz\n"
      "  opsmith run model.onnx --input x=image.npy --output result.npz\n"
      "  opsmith bench model.onnx out/model.onnx --threads 1,2\n"
      "Each command has its own --help. Results go to stdout, progress and messages to stderr.\n"
      "Exit codes: 0 done, 1 a bug in opsmith, 2 a mistake in the input or a flag,\n"
      "3 a gate was not met (the result is still written), 4 nothing could be measured.");
  opsmith::cli::add_inspect_command(app);
  opsmith::cli::add_optimize_command(app);
  opsmith::cli::add_distill_command(app);
  opsmith::cli::add_run_command(app);
  opsmith::cli::add_bench_command(app);
  opsmith::cli::add_compare_command(app);
  opsmith::cli::add_export_command(app);
  opsmith::cli::add_models_command(app);
  opsmith::cli::add_cache_command(app);
  opsmith::cli::add_synth_command(app);
  opsmith::cli::add_tune_command(app);
  return run(app, argc, argv);
}
