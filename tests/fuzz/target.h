#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/error.h"

namespace opsmith::fuzz {

/// A broken promise: the fuzzer keeps the input.
[[noreturn]] inline void broken(const std::string& promise) {
  std::fprintf(stderr, "broken: %s\n", promise.c_str());
  std::abort();
}

/// Runs `work` on hostile input: it may refuse, but in one of our own ways. False where it did.
template <typename Work>
bool accepts(const Work& work) {
  try {
    work();
    return true;
  } catch (const UserError&) {
  } catch (const Unsupported&) {
  }
  return false;
}

}  // namespace opsmith::fuzz
