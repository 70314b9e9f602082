#include "models/transformer.h"

#include <algorithm>
#include <cmath>

#include "models/builder.h"

namespace opsmith::models {

using graph::Dimension;
using graph::ValueId;

namespace {

/// A branch's last product is damped so that a sum over many layers stays bounded.
constexpr double kBranchGain = 0.1;
constexpr int64_t kHeadWidth = 64;

struct Dimensions {
  int64_t layers = 12;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t sequence = 128;
  int64_t vocabulary = 0;
};

Dimensions dimensions(const ModelOptions& options, int64_t vocabulary) {
  Dimensions shape;
  shape.heads = std::max<int64_t>(1, shape.heads / options.width_divisor);
  shape.width = shape.heads * kHeadWidth;
  if (options.width_divisor > 1) {
    shape.layers = 2;
    vocabulary = std::max<int64_t>(1000, vocabulary / options.width_divisor);
  }
  shape.vocabulary = vocabulary;
  if (options.size > 0) shape.sequence = options.size;
  return shape;
}

ValueId token_input(Builder& b, const std::string& name, const Dimensions& shape) {
  const int64_t batch = b.options().batch;
  return b.input(name, ElementType::Int64,
                 {batch > 0 ? Dimension(batch) : Dimension::named("N"), shape.sequence});
}

ValueId gather_rows(Builder& b, ValueId table, ValueId indices) {
  return b.graph().add_node("Gather", {table, indices}, {{"axis", int64_t{0}}}, 1, "",
                            "embeddings.word");
}

/// [N, S, width] to [N, heads, S, head width].
ValueId split_heads(Builder& b, ValueId x, const Dimensions& shape) {
  return b.transpose(b.reshape(x, {0, shape.sequence, shape.heads, kHeadWidth}), {0, 2, 1, 3});
}

/// Scaled dot-product attention over all heads; `mask` is added to the scores.
ValueId attention(Builder& b, ValueId x, ValueId mask, const Dimensions& shape,
                  const std::string& name) {
  const auto project = [&](const char* what) {
    return split_heads(b, b.matmul(x, shape.width, shape.width, name + "." + what), shape);
  };
  const ValueId query = project("query"), key = project("key"), value = project("value");
  const float scale = std::sqrt(static_cast<float>(kHeadWidth));
  ValueId scores = b.binary("MatMul", query, b.transpose(key, {0, 1, 3, 2}));
  scores = b.binary("Div", scores, b.constant(name + ".scale", Tensor::scalar(scale)));
  const ValueId weights = b.softmax(b.add(scores, mask));
  ValueId joined = b.transpose(b.binary("MatMul", weights, value), {0, 2, 1, 3});
  joined = b.reshape(joined, {0, shape.sequence, shape.width});
  return b.matmul(joined, shape.width, shape.width, name + ".output", kBranchGain);
}

/// Two products with a GELU between.
ValueId feed_forward(Builder& b, ValueId x, const Dimensions& shape, const std::string& name) {
  const ValueId wide = b.gelu(b.matmul(x, shape.width, 4 * shape.width, name + ".in", 2));
  return b.matmul(wide, 4 * shape.width, shape.width, name + ".out", kBranchGain);
}

/// 0 where attention is allowed, a large negative number elsewhere: [N, 1, 1, S] from [N, S].
ValueId padding_mask(Builder& b, ValueId mask, const Dimensions& shape) {
  const ValueId real = b.graph().add_node("Cast", {mask}, {{"to", int64_t{1}}}, 1, "",
                                          "mask.cast");  // 1 is FLOAT in ONNX
  const ValueId spread = b.reshape(real, {-1, 1, 1, shape.sequence});
  const ValueId inverse = b.binary("Sub", b.constant("mask.one", Tensor::scalar(1.0f)), spread);
  return b.mul(inverse, b.constant("mask.lowest", Tensor::scalar(-1e4f)));
}

/// The same for what lies ahead: a constant [1, 1, S, S].
ValueId causal_mask(Builder& b, const Dimensions& shape) {
  Tensor mask = Tensor::zeros(ElementType::Float32, {1, 1, shape.sequence, shape.sequence});
  for (int64_t row = 0; row < shape.sequence; ++row) {
    for (int64_t column = row + 1; column < shape.sequence; ++column) {
      mask.data<float>()[static_cast<size_t>(row * shape.sequence + column)] = -1e4f;
    }
  }
  return b.constant("mask.causal", std::move(mask));
}

}  // namespace

graph::Model bert_base(const ModelOptions& options) {
  Builder b("bert_base", options);
  const Dimensions shape = dimensions(options, 30522);
  const ValueId ids = token_input(b, "input_ids", shape);
  const ValueId mask = padding_mask(b, token_input(b, "attention_mask", shape), shape);
  const ValueId words = gather_rows(
      b, b.random_weight("embeddings.word.weight", {shape.vocabulary, shape.width}, 1), ids);
  ValueId x = b.add(
      words, b.random_weight("embeddings.position.weight", {1, shape.sequence, shape.width}, 0.5));
  x = b.layer_norm(x, shape.width, "embeddings.norm");
  for (int64_t i = 0; i < shape.layers; ++i) {
    const std::string name = "encoder." + std::to_string(i);
    x = b.layer_norm(b.add(x, attention(b, x, mask, shape, name + ".attention")), shape.width,
                     name + ".attention.norm");
    x = b.layer_norm(b.add(x, feed_forward(b, x, shape, name + ".feed_forward")), shape.width,
                     name + ".feed_forward.norm");
  }
  const ValueId first =
      b.graph().add_node("Gather", {x, b.constant("pooler.position", Tensor::scalar<int64_t>(0))},
                         {{"axis", int64_t{1}}}, 1, "", "pooler.first");
  const ValueId pooled = b.unary("Tanh", b.matmul(first, shape.width, shape.width, "pooler.dense"));
  return b.finish({{"last_hidden_state", x}, {"pooler_output", pooled}});
}

graph::Model gpt2(const ModelOptions& options) {
  Builder b("gpt2", options);
  const Dimensions shape = dimensions(options, 50257);
  const ValueId ids = token_input(b, "input_ids", shape);
  const ValueId table = b.random_weight("wte.weight", {shape.vocabulary, shape.width},
                                        1 / std::sqrt(static_cast<double>(shape.width)));
  ValueId x = b.add(gather_rows(b, table, ids),
                    b.random_weight("wpe.weight", {1, shape.sequence, shape.width}, 0.05));
  const ValueId mask = causal_mask(b, shape);
  for (int64_t i = 0; i < shape.layers; ++i) {
    const std::string name = "h." + std::to_string(i);
    const ValueId first = b.layer_norm(x, shape.width, name + ".ln_1");
    x = b.add(x, attention(b, first, mask, shape, name + ".attn"));
    const ValueId second = b.layer_norm(x, shape.width, name + ".ln_2");
    x = b.add(x, feed_forward(b, second, shape, name + ".mlp"));
  }
  x = b.layer_norm(x, shape.width, "ln_f");
  // The output matrix is the embedding, as exporters write a tied weight.
  const ValueId logits = b.binary("MatMul", x, b.transpose(table, {1, 0}));
  return b.finish({{"logits", logits}});
}

}  // namespace opsmith::models
