#include <re2/re2.h>

#include "runtime/kernels/families.h"
#include "support/error.h"

// RegexFullMatch, in the syntax of RE2 as the specification asks.
namespace opsmith::kernels {
namespace {

std::vector<Tensor> full_match(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const std::string text = call.node.text("pattern", "");
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 pattern(text, options);
  if (!pattern.ok()) {
    throw UserError(describe(call.node) + ": pattern '" + text + "': " + pattern.error());
  }
  Tensor y(ElementType::Bool, x.shape());
  for (size_t i = 0; i < x.strings().size(); ++i) {
    y.data<uint8_t>()[i] = RE2::FullMatch(x.strings()[i], pattern) ? 1 : 0;
  }
  return {y};
}

}  // namespace

std::vector<KernelDefinition> regular_expression_kernels() {
  return {{"RegexFullMatch", nullptr, full_match}};
}

}  // namespace opsmith::kernels
