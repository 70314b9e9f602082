// Any text as a program of tensor expressions: parsing or validation refuses, or there is a program
// whose printed form reads back the same.

#include "runtime/expression/program.h"
#include "tests/fuzz/target.h"

using namespace opsmith;  // NOLINT: one target, one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  expression::Program program;
  if (!fuzz::accepts([&] {
        program = expression::parse(text);
        expression::validate(program);
      })) {
    return 0;
  }
  const std::string printed = expression::print(program);
  if (expression::print(expression::parse(printed)) != printed) {
    fuzz::broken("this program prints otherwise the second time:\n" + printed);
  }
  expression::content_hash(program);
  return 0;
}
