#include <nlohmann/json.hpp>

#include "runtime/schedule/schedule.h"
#include "support/error.h"

namespace opsmith::schedule {

using nlohmann::json;

std::string to_json(const Schedule& schedule) {
  json list = json::array();
  for (const Directive& directive : schedule.directives) {
    json entry = {{"kind", directive.kind}, {"stage", directive.stage}};
    if (!directive.axes.empty()) entry["axes"] = directive.axes;
    if (directive.factor != 0) entry["factor"] = directive.factor;
    if (!directive.argument.empty()) entry["argument"] = directive.argument;
    list.push_back(std::move(entry));
  }
  return list.dump();
}

Schedule schedule_from_json(const std::string& text) {
  try {
    Schedule schedule;
    for (const json& entry : json::parse(text)) {
      Directive directive;
      directive.kind = entry.at("kind").get<std::string>();
      directive.stage = entry.at("stage").get<std::string>();
      directive.axes = entry.value("axes", std::vector<std::string>{});
      directive.factor = entry.value("factor", int64_t{0});
      directive.argument = entry.value("argument", std::string{});
      schedule.directives.push_back(std::move(directive));
    }
    return schedule;
  } catch (const json::exception& error) {
    throw UserError(std::string("schedule is no list of directives: ") + error.what());
  }
}

}  // namespace opsmith::schedule
