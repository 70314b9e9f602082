#pragma once

namespace CLI {
class App;
}

namespace opsmith::cli {

// One subcommand per file. Each adds its flags and a callback that does the work; errors leave it
// as exceptions, which main.cpp turns into messages and exit codes.
void add_inspect_command(CLI::App& app);
void add_optimize_command(CLI::App& app);
void add_distill_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_models_command(CLI::App& app);
void add_cache_command(CLI::App& app);
void add_synth_command(CLI::App& app);
void add_tune_command(CLI::App& app);

}  // namespace opsmith::cli
