#include <cmath>
#include <cstdlib>

#include "search/optimize.h"
#include "support/error.h"

namespace opsmith::search {

Limit parse_limit(const std::string& text) {
  const auto fail = [&]() {
    return UserError("'" + text +
                     "' is no limit; write a share such as 40%, or a number such as 26M or 3ms");
  };
  char* end = nullptr;
  Limit limit;
  limit.value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str() || !std::isfinite(limit.value) || limit.value < 0) throw fail();
  if (unit == "%") {
    limit.share = true;
    limit.value /= 100;
  } else if (unit == "k" || unit == "K") {
    limit.value *= 1e3;
  } else if (unit == "M") {
    limit.value *= 1e6;
  } else if (unit == "G") {
    limit.value *= 1e9;
  } else if (unit == "s") {
    limit.value *= 1e3;
  } else if (unit == "us") {
    limit.value /= 1e3;
  } else if (!unit.empty() && unit != "ms") {
    throw fail();
  }
  return limit;
}

}  // namespace opsmith::search
