#pragma once

#include <cstdint>
#include <string>

#include "support/timing.h"

namespace opsmith {

/// Tells on stderr what a long piece of work does, how far it is, the best so far and the time
/// left: one line rewritten in place on a terminal, a line every few seconds elsewhere.
class Progress {
 public:
  Progress(std::string what, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(const std::string& note = "", int64_t steps = 1);

  /// Turns all progress off (tests, --quiet).
  static void set_enabled(bool enabled);

 private:
  void show(const std::string& note, bool last);
  std::string what_;
  int64_t total_;
  int64_t done_ = 0;
  double shown_ = -1;
  Stopwatch watch_;
};

/// Makes Ctrl-C set a flag instead of ending the process, so that long work can keep its best and
/// stop; a second Ctrl-C ends it at once.
void catch_interrupt();
bool interrupted();

}  // namespace opsmith
