#include <map>

#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// TfIdfVectorizer: counts of n-grams of integers or strings.
namespace opsmith::kernels {
namespace {

/// What all rows are searched for: n-grams, each with its place in the output and its weight.
template <typename Word>
struct Pool {
  struct Entry {
    size_t column = 0;
    double weight = 1;
  };
  std::map<std::vector<Word>, Entry> grams;
  size_t columns = 0;
};

std::vector<int64_t> required(const graph::Node& node, const std::string& name) {
  const std::vector<int64_t> values = node.integers(name);
  if (values.empty()) throw UserError(describe(node) + ": attribute " + name + " is missing");
  return values;
}

template <typename Word>
Pool<Word> read_pool(const graph::Node& node, const std::vector<Word>& words) {
  const std::vector<int64_t> begins = required(node, "ngram_counts");
  const std::vector<int64_t> columns = required(node, "ngram_indexes");
  const std::vector<double> weights = real_attribute(node, "weights");
  Pool<Word> pool;
  size_t gram = 0;
  for (size_t length = 1; length <= begins.size(); ++length) {
    const auto size = static_cast<int64_t>(words.size());
    const int64_t end = length < begins.size() ? begins[length] : size;
    for (int64_t at = begins[length - 1]; at + static_cast<int64_t>(length) <= end;
         at += static_cast<int64_t>(length), ++gram) {
      if (at < 0 || end > size || gram >= columns.size() || columns[gram] < 0 ||
          (!weights.empty() && gram >= weights.size())) {
        throw UserError(describe(node) + ": its pool, ngram_counts and ngram_indexes do not fit");
      }
      pool.grams[{words.begin() + at, words.begin() + at + static_cast<int64_t>(length)}] = {
          static_cast<size_t>(columns[gram]), weights.empty() ? 1 : weights[gram]};
    }
  }
  for (const int64_t column : columns) {
    pool.columns = std::max(pool.columns, static_cast<size_t>(std::max<int64_t>(0, column)) + 1);
  }
  return pool;
}

template <typename Word>
Tensor count(const PlainCall& call, const Pool<Word>& pool, const std::vector<Word>& words) {
  const graph::Node& node = call.node;
  const Shape& shape = call.input(0).shape();
  if (shape.empty() || shape.size() > 2) throw UserError(describe(node) + ": needs rank 1 or 2");
  const int64_t rows = shape.size() == 2 ? shape[0] : 1, extent = shape.back();
  const std::string mode = node.text("mode", "TF");
  const int64_t shortest = node.integer("min_gram_length", 1);
  const int64_t longest = node.integer("max_gram_length", 1);
  const int64_t most_skipped = node.integer("max_skip_count", 0);
  const auto columns = static_cast<int64_t>(pool.columns);
  Tensor y = call.output(0, ElementType::Float32,
                         shape.size() == 2 ? Shape{rows, columns} : Shape{columns});
  std::vector<double> counts(static_cast<size_t>(rows * columns), 0), weight(pool.columns, 1);
  for (const auto& [gram, entry] : pool.grams) weight[entry.column] = entry.weight;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t length = std::max<int64_t>(1, shortest); length <= longest; ++length) {
      for (int64_t skip = 0; skip <= (length == 1 ? 0 : most_skipped); ++skip) {
        const int64_t reach = (length - 1) * (skip + 1) + 1;
        for (int64_t at = 0; at + reach <= extent; ++at) {
          std::vector<Word> gram;
          for (int64_t i = 0; i < length; ++i) {
            gram.push_back(words[static_cast<size_t>(row * extent + at + i * (skip + 1))]);
          }
          const auto found = pool.grams.find(gram);
          if (found == pool.grams.end()) continue;
          ++counts[static_cast<size_t>(row * columns) + found->second.column];
        }
      }
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    double value = counts[i];
    if (mode == "IDF") value = value > 0 ? 1 : 0;
    if (mode != "TF") value *= weight[i % pool.columns];
    y.data<float>()[i] = static_cast<float>(value);
  }
  return y;
}

std::vector<Tensor> vectorize(const PlainCall& call) {
  const Tensor& x = call.input(0);
  if (x.type() == ElementType::String) {
    const Pool<std::string> pool =
        read_pool<std::string>(call.node, text_attribute(call.node, "pool_strings"));
    return {count<std::string>(call, pool, {x.strings().begin(), x.strings().end()})};
  }
  const Pool<int64_t> pool = read_pool<int64_t>(call.node, required(call.node, "pool_int64s"));
  return {count<int64_t>(call, pool, call.integers(0))};
}

}  // namespace

std::vector<KernelDefinition> ngram_kernels() { return {{"TfIdfVectorizer", nullptr, vectorize}}; }

}  // namespace opsmith::kernels
