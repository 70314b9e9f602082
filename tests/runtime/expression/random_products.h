#pragma once

#include <string>
#include <vector>

#include "support/random.h"

namespace opsmith::expression::testing {

/// Texts of random programs: one stage z over h and v that reduces, over a and b, products (now and
/// then sums) of reads of x0, x1, ... whose indices are windows, strides, groups, wraps and guards.
class RandomProducts {
 public:
  struct Options {
    uint64_t seed = 1;
    std::string type = "f64";
    /// Of each dimension of the tensors read.
    int64_t largest_size = 7;
    std::string axes = "h: 5, v: 4";
    std::string reduction = "sum";
    int64_t least_factors = 1;
    int64_t most_factors = 3;
    bool sums = true;
  };
  explicit RandomProducts(const Options& options) : options_(options), random_(options.seed) {}

  std::string next() {
    std::string inputs, body;
    const int64_t count = random_.integer(options_.least_factors, options_.most_factors);
    for (int64_t f = 0; f < count; ++f) {
      const std::string tensor = "x" + std::to_string(f);
      std::string shape, indices;
      const int64_t rank = random_.integer(1, 3);
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t size = random_.integer(3, options_.largest_size);
        shape += (d ? ", " : "") + std::to_string(size);
        indices += (d ? ", " : "") + index(std::to_string(size));
      }
      inputs += (f ? ", " : "") + tensor + ": " + options_.type + "[" + shape + "]";
      if (f > 0) body += options_.sums && random_.integer(0, 3) == 0 ? " + " : " * ";
      body += tensor + "[" + indices + "]";
    }
    const std::string fill = random_.integer(0, 3) == 0 ? " fill 0.5" : "";
    return "program f(" + inputs + ") -> z z: " + options_.type + "[" + options_.axes +
           "] = " + options_.reduction + "[" + options_.type + "](a: 3, b: 2) " + body + fill;
  }

 private:
  std::string iterator() {
    return std::string(1, "hvab"[static_cast<size_t>(random_.integer(0, 3))]);
  }
  std::string index(const std::string& size) {
    const auto digit = [&](int64_t low, int64_t high) {
      return std::to_string(random_.integer(low, high));
    };
    const std::string x = iterator(), y = iterator();
    const std::string sum = x + "*" + digit(1, 3) + " + " + y + "*" + digit(1, 2) + " - 2";
    const std::vector<std::string> forms = {
        x,
        sum,
        x + " + " + y + " - 1",
        x + "*4 + " + y,
        "(" + sum + ")/" + digit(2, 3),
        "(" + sum + ") mod " + digit(2, 9),
        x + "/2*3 + " + y + " mod 3",
        "(within(" + sum + ", 4) + 1) mod " + size,
        "within(" + x + " - " + y + ", 3)*2 + " + y,
        digit(0, 3),
    };
    return forms[static_cast<size_t>(random_.integer(0, static_cast<int64_t>(forms.size()) - 1))];
  }

  Options options_;
  Random random_;
};

}  // namespace opsmith::expression::testing
