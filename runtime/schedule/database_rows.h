#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/schedule/database.h"

namespace opsmith::schedule {

/// Rows of a schedule database as text, one JSON object a line: what ships with the project and can
/// be compared line by line.
using DatabaseRows = std::vector<std::pair<ScheduleKey, ScheduleRow>>;

/// Throws UserError naming file and line.
DatabaseRows read_rows(const std::string& path);
void write_rows(const std::string& path, const DatabaseRows& rows);

}  // namespace opsmith::schedule
