#include <algorithm>
#include <clocale>
#include <cwctype>
#include <optional>
#include <set>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// Operators on tensors of strings: normalising, concatenating, splitting.
namespace opsmith::kernels {
namespace {

/// Length in bytes of the UTF-8 sequence that `lead` begins; 1 for what begins none.
size_t sequence_length(unsigned char lead) {
  return lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

void append_utf8(char32_t c, std::string& text) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | c >> 18);
    text += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  }
}

/// Every character of a UTF-8 text changed; bytes that are no UTF-8 stay.
std::string map_characters(const std::string& text, wint_t (*change)(wint_t, locale_t),
                           locale_t locale) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = sequence_length(lead);
    bool valid = i + length <= text.size() && (lead < 0x80 || length > 1);
    char32_t c = length == 1 ? lead : lead & (0x7fU >> length);
    for (size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xc0) == 0x80;
      c = c << 6 | (next & 0x3f);
    }
    if (!valid) {
      result += text[i++];
      continue;
    }
    append_utf8(static_cast<char32_t>(change(static_cast<wint_t>(c), locale)), result);
    i += length;
  }
  return result;
}

/// Upper and lower case as Unicode has them, independent of the machine's language.
class CaseChange {
 public:
  CaseChange() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ == nullptr) locale_ = newlocale(LC_CTYPE_MASK, "C", nullptr);
  }
  ~CaseChange() { freelocale(locale_); }
  CaseChange(const CaseChange&) = delete;
  CaseChange& operator=(const CaseChange&) = delete;
  std::string lower(const std::string& text) const {
    return map_characters(text, towlower_l, locale_);
  }
  std::string upper(const std::string& text) const {
    return map_characters(text, towupper_l, locale_);
  }

 private:
  locale_t locale_;
};

// Drops stop words, then changes the case. All dropped leaves one empty string.
std::vector<Tensor> normalize(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const bool plain = x.rank() == 1, row = x.rank() == 2 && x.shape()[0] == 1;
  if (!plain && !row) {
    throw UserError(describe(call.node) + ": needs the shape [C] or [1, C], not " +
                    to_string(x.shape()));
  }
  const CaseChange change;
  const bool sensitive = call.node.integer("is_case_sensitive", 0) != 0;
  const auto key = [&](const std::string& word) { return sensitive ? word : change.lower(word); };
  std::set<std::string> stop;
  for (const std::string& word : text_attribute(call.node, "stopwords")) stop.insert(key(word));
  const std::string action = call.node.text("case_change_action", "NONE");
  std::vector<std::string> kept;
  for (const std::string& word : x.strings()) {
    if (!stop.empty() && stop.contains(key(word))) continue;
    kept.push_back(action == "LOWER"   ? change.lower(word)
                   : action == "UPPER" ? change.upper(word)
                                       : word);
  }
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<int64_t>(kept.size());
  return {Tensor::of<std::string>(plain ? Shape{count} : Shape{1, count}, kept)};
}

std::vector<Tensor> concatenate(const PlainCall& call) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), call.node);
  Tensor y(ElementType::String, shape);
  BroadcastCursor a_at(a.shape(), shape), b_at(b.shape(), shape);
  for (std::string& text : y.strings()) {
    text = a.strings()[static_cast<size_t>(a_at.offset())] +
           b.strings()[static_cast<size_t>(b_at.offset())];
    a_at.advance();
    b_at.advance();
  }
  return {y};
}

constexpr const char* kSpaces = " \t\n\v\f\r";

// At runs of white space, which also go from both ends.
std::vector<std::string> split_at_spaces(const std::string& text, int64_t most) {
  std::vector<std::string> parts;
  for (size_t begin = text.find_first_not_of(kSpaces); begin != std::string::npos;) {
    if (static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin));
      break;
    }
    const size_t end = text.find_first_of(kSpaces, begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? end : text.find_first_not_of(kSpaces, end);
  }
  return parts;
}

std::vector<std::string> split_at(const std::string& text, const std::string& delimiter,
                                  int64_t most) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (static_cast<int64_t>(parts.size()) != most) {
    const size_t end = text.find(delimiter, begin);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// One dimension more, as long as the longest list of parts; the others are filled up with "".
std::vector<Tensor> split(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const std::string delimiter = call.node.text("delimiter", "");
  const int64_t most = call.node.integer("maxsplit", -1);
  std::vector<std::vector<std::string>> lists;
  Tensor counts(ElementType::Int64, x.shape());
  size_t longest = 0;
  for (const std::string& text : x.strings()) {
    lists.push_back(delimiter.empty() ? split_at_spaces(text, most)
                                      : split_at(text, delimiter, most));
    counts.data<int64_t>()[lists.size() - 1] = static_cast<int64_t>(lists.back().size());
    longest = std::max(longest, lists.back().size());
  }
  Shape shape = x.shape();
  shape.push_back(static_cast<int64_t>(longest));
  Tensor y(ElementType::String, shape);
  for (size_t i = 0; i < lists.size(); ++i) {
    std::copy(lists[i].begin(), lists[i].end(),
              y.strings().begin() + static_cast<int64_t>(i * longest));
  }
  return {y, counts};
}

}  // namespace

std::vector<KernelDefinition> string_kernels() {
  return {{"StringNormalizer", nullptr, normalize},
          {"StringConcat", nullptr, concatenate},
          {"StringSplit", nullptr, split}};
}

}  // namespace opsmith::kernels
