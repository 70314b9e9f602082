#include "support/progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

namespace opsmith {
namespace {

std::atomic<bool> progress_enabled{true};
volatile std::sig_atomic_t interrupt_flag = 0;

void on_interrupt(int) {
  interrupt_flag = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)), total_(std::max<int64_t>(total, 0)) {
  show("", false);
}

Progress::~Progress() { show("", true); }

void Progress::set_enabled(bool enabled) { progress_enabled = enabled; }

void Progress::advance(const std::string& note, int64_t steps) {
  done_ = std::min(done_ + steps, total_);
  show(note, false);
}

void Progress::show(const std::string& note, bool last) {
  if (!progress_enabled) return;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const double now = watch_.seconds();
  const double interval = terminal ? 0.1 : 5.0;
  if (!last && shown_ >= 0 && now - shown_ < interval) return;
  shown_ = now;
  std::string line = what_ + " " + std::to_string(done_) + "/" + std::to_string(total_);
  char text[64];
  if (last) {
    std::snprintf(text, sizeof text, ", %.1f s", now);
    line += text;
  } else if (done_ > 0 && done_ < total_) {
    const double left = now / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    std::snprintf(text, sizeof text, ", %.0f s left", left);
    line += text;
  }
  if (!note.empty()) line += ", " + note;
  std::fprintf(stderr, terminal ? "\r\033[K%s%s" : "%s%s", line.c_str(),
               terminal && !last ? "" : "\n");
}

void catch_interrupt() {
  interrupt_flag = 0;
  std::signal(SIGINT, on_interrupt);
}

bool interrupted() { return interrupt_flag != 0; }

}  // namespace opsmith
