#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include "runtime/schedule/database.h"

namespace opsmith::cli {
namespace {

struct CacheOptions : CommonOptions {
  std::string database;
  std::string other;
  int64_t keep = 3;
};

using schedule::ScheduleDatabase;

void list(const CacheOptions& options) {
  ScheduleDatabase database(options.database);
  Table table({"kernel", "parameters:", "target:", "best variant:", "ms", "records"});
  nlohmann::json kernels = nlohmann::json::array();
  for (const ScheduleDatabase::Line& line : database.list()) {
    table.add({line.kernel_class, line.parameters, line.target, line.variant,
               fixed(line.seconds * 1e3, 4), std::to_string(line.rows)});
    kernels.push_back({{"class", line.kernel_class},
                       {"parameters", line.parameters},
                       {"target", line.target},
                       {"variant", line.variant},
                       {"milliseconds", line.seconds * 1e3},
                       {"records", line.rows}});
  }
  write_json(options.json, {{"kernels", kernels}});
  if (table.empty()) {
    std::cout << "the schedule database is empty\n";
  } else {
    table.print(std::cout);
  }
}

void merge(const CacheOptions& options) {
  const int64_t taken = ScheduleDatabase(options.database).merge(options.other);
  std::cout << "took over " << taken << " measurements\n";
}

void export_database(const CacheOptions& options) {
  check_output_file(options.other, options.database);
  ScheduleDatabase(options.database).export_to(options.other);
  std::cout << "wrote '" << options.other << "'\n";
}

void prune(const CacheOptions& options) {
  const int64_t dropped = ScheduleDatabase(options.database).prune(options.keep);
  std::cout << "dropped " << dropped << " measurements\n";
}

}  // namespace

void add_cache_command(CLI::App& app) {
  const auto options = std::make_shared<CacheOptions>();
  CLI::App& command = *app.add_subcommand("cache", "The database of measured schedules");
  command.require_subcommand(1);
  command
      .add_option("--database", options->database,
                  "Another database than $XDG_CACHE_HOME/opsmith/schedules.db")
      ->type_name("FILE");

  CLI::App& ls = *command.add_subcommand("ls", "List kernels with their best schedules");
  add_json_flag(ls, *options);
  ls.callback([options] { list(*options); });

  CLI::App& take = *command.add_subcommand("merge", "Take over what another database knows");
  take.add_option("file", options->other, "The other database")
      ->required()
      ->check(CLI::ExistingFile);
  take.callback([options] { merge(*options); });

  CLI::App& give = *command.add_subcommand("export", "Write a compact copy");
  give.add_option("-o,--output", options->other, "File to write")->type_name("FILE")->required();
  give.callback([options] { export_database(*options); });

  CLI::App& drop = *command.add_subcommand("prune", "Keep the fastest measurements of each kernel");
  drop.add_option("--keep", options->keep, "How many")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  drop.callback([options] { prune(*options); });
}

}  // namespace opsmith::cli
