#include "cli/replay.h"

#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/file.h"

namespace opsmith::cli {

namespace {

std::vector<std::string> recorded;

std::vector<std::string> read_arguments(const std::string& path) {
  const auto json = nlohmann::json::parse(read_file(path), nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("arguments") ||
      !json["arguments"].is_array()) {
    throw UserError("'" + path + "' records no run of optimize; give the config.json of one");
  }
  std::vector<std::string> arguments;
  for (const auto& argument : json["arguments"]) {
    if (!argument.is_string()) throw UserError("'" + path + "' holds an argument that is no text");
    arguments.push_back(argument.get<std::string>());
  }
  return arguments;
}

}  // namespace

std::vector<std::string> expand_replay(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || arguments[0] != "optimize") return arguments;
  for (size_t i = 1; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--replay") continue;
    std::vector<std::string> replayed = read_arguments(arguments[i + 1]);
    const auto at = arguments.begin() + static_cast<int64_t>(i);
    arguments.erase(at, at + 2);
    arguments.insert(arguments.begin() + 1, replayed.begin(), replayed.end());
    break;
  }
  recorded.assign(arguments.begin() + 1, arguments.end());
  return arguments;
}

const std::vector<std::string>& recorded_arguments() { return recorded; }

}  // namespace opsmith::cli
