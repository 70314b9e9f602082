#include "support/sample_range.h"

#include <algorithm>
#include <cstring>

#include "support/error.h"

namespace opsmith {

SampleRange resolve(const SampleRange& range, int64_t count, const std::string& origin) {
  const int64_t end = range.end.value_or(count);
  if (range.begin < 0 || end > count || range.begin >= end) {
    throw UserError("'" + origin + "' holds " + std::to_string(count) + " samples; [" +
                    std::to_string(range.begin) + ":" +
                    (range.end ? std::to_string(*range.end) : "") + "] is not within them");
  }
  return {range.begin, end};
}

Tensor slice_samples(const Tensor& tensor, const SampleRange& samples, const std::string& origin) {
  if (samples.all()) return tensor;
  if (tensor.rank() == 0) throw UserError("'" + origin + "' holds a scalar: it has no samples");
  const SampleRange range = resolve(samples, tensor.shape()[0], origin);
  Shape shape = tensor.shape();
  const size_t sample_bytes = tensor.bytes() / static_cast<size_t>(shape[0]);
  shape[0] = *range.end - range.begin;
  Tensor result(tensor.type(), shape);
  if (tensor.type() == ElementType::String) {
    const int64_t sample = result.count() / shape[0];
    const auto chosen = tensor.strings().subspan(static_cast<size_t>(sample * range.begin),
                                                 static_cast<size_t>(result.count()));
    std::copy(chosen.begin(), chosen.end(), result.strings().begin());
  } else if (result.bytes() > 0) {
    std::memcpy(
        result.raw(),
        static_cast<const char*>(tensor.raw()) + sample_bytes * static_cast<size_t>(range.begin),
        result.bytes());
  }
  return result;
}

SampleRange take_sample_range(std::string& path) {
  if (path.empty() || path.back() != ']') return {};
  const size_t open = path.rfind('[');
  const std::string text = open == std::string::npos ? "" : path.substr(open + 1);
  const size_t colon = text.find(':');
  const auto number = [&](const std::string& digits) -> int64_t {
    if (digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 18) {
      throw UserError("the samples of '" + path + "' are not written as [begin:end]");
    }
    return std::stoll(digits);
  };
  if (colon == std::string::npos || text.size() < 3) {
    throw UserError("the samples of '" + path + "' are not written as [begin:end]");
  }
  SampleRange range;
  const std::string begin = text.substr(0, colon);
  const std::string end = text.substr(colon + 1, text.size() - colon - 2);
  if (!begin.empty()) range.begin = number(begin);
  if (!end.empty()) range.end = number(end);
  path.resize(open);
  return range;
}

}  // namespace opsmith
