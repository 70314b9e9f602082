#include "runtime/schedule/database_rows.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/error.h"
#include "support/file.h"

namespace opsmith::schedule {

using nlohmann::json;

DatabaseRows read_rows(const std::string& path) {
  DatabaseRows rows;
  std::istringstream lines(read_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      const json entry = json::parse(line);
      const auto text = [&](const char* name) { return entry.at(name).get<std::string>(); };
      rows.push_back({{text("class"), text("parameters"), text("layouts"), text("target")},
                      {text("variant"), schedule_from_json(entry.at("schedule").dump()),
                       entry.at("seconds").get<double>(), text("measured"), text("version")}});
    } catch (const json::exception& error) {
      throw UserError(path + ", line " + std::to_string(number) +
                      ": no row of a schedule database: " + error.what());
    }
  }
  return rows;
}

void write_rows(const std::string& path, const DatabaseRows& rows) {
  std::string text;
  for (const auto& [key, row] : rows) {
    const json entry = {
        {"class", key.kernel_class}, {"parameters", key.parameters},
        {"layouts", key.layouts},    {"target", key.target},
        {"variant", row.variant},    {"schedule", json::parse(to_json(row.schedule))},
        {"seconds", row.seconds},    {"measured", row.measured},
        {"version", row.version}};
    text += entry.dump() + "\n";
  }
  write_file(path, text);
}

}  // namespace opsmith::schedule
