#pragma once

#include <string>

namespace opsmith {

enum class LogLevel { Debug, Info, Warning, Error };

/// Messages go to stderr; results of commands go to stdout and never through here.
void set_log_level(LogLevel level);
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_error(const std::string& message);

}  // namespace opsmith
