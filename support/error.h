#pragma once

#include <stdexcept>
#include <string>

namespace opsmith {

/// Bad input: a file, flag or model that the caller must change. Exit code 2. The message names
/// the file, the node where there is one, and a remedy.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A valid model that opsmith cannot handle yet. Exit code 2. The message names the node.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An accuracy or budget gate that was not met; the best result was still written. Exit code 3.
class GateMissed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Work that measures ended without a single measurement. Exit code 4.
class NothingMeasured : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A bug in opsmith. Exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError(message) unless `condition` holds. Never put work into the condition.
inline void require(bool condition, const std::string& message) {
  if (!condition) throw InternalError(message);
}

}  // namespace opsmith
