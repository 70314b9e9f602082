#include "support/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace opsmith {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "opsmith", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%^%l%$: %v");
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return logger().set_level(spdlog::level::debug);
    case LogLevel::Info:
      return logger().set_level(spdlog::level::info);
    case LogLevel::Warning:
      return logger().set_level(spdlog::level::warn);
    case LogLevel::Error:
      return logger().set_level(spdlog::level::err);
  }
}

void log_debug(const std::string& message) { logger().debug(message); }
void log_info(const std::string& message) { logger().info(message); }
void log_warning(const std::string& message) { logger().warn(message); }
void log_error(const std::string& message) { logger().error(message); }

}  // namespace opsmith
