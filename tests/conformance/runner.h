#pragma once

#include <memory>
#include <string>

#include "runtime/schedule/kernel_provider.h"
#include "tests/conformance/suite.h"

namespace opsmith::conformance {

enum class Verdict { Passed, Failed, Unsupported };

struct Outcome {
  Verdict verdict = Verdict::Passed;
  bool statistical = false;  ///< judged by type, shape and statistics
  std::string reason;        ///< why it did not pass
};

/// How models are run.
struct Runner {
  /// nullptr: node by node, without compiler (run_reference).
  std::shared_ptr<schedule::KernelProvider> provider;
  int threads = 1;
};

/// Imports the model, runs every data set and compares the outputs. Then exports it, imports what
/// was written, compares the structures and runs that too.
Outcome run_case(const Case& test, const Runner& runner);

}  // namespace opsmith::conformance
