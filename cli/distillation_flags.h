#pragma once

#include <string>
#include <vector>

#include "search/study/distillation.h"

namespace CLI {
class App;
}

namespace opsmith::cli {

/// What the commands that distil take from their flags.
struct DistillationFlags {
  search::DistillationOptions options;
  std::string optimizer = "adam";
  std::string loss = "l2";
  bool flip = false;
  int64_t shift = 0;
};

void add_distillation_flags(CLI::App& command, DistillationFlags& flags);

/// The options that the flags stand for. Throws UserError.
search::DistillationOptions distillation_options(const DistillationFlags& flags);

/// One line about what was reached.
std::string describe(const search::DistillationReport& report);

/// Class numbers of samples, [N] int64, from "FILE" or "FILE[0:2048]". Throws UserError.
Tensor load_labels(const std::string& text);

}  // namespace opsmith::cli
