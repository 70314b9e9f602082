#include "graph/operators/arity.h"

#include <limits>
#include <unordered_map>

#include "support/error.h"

namespace opsmith::graph {
namespace {

/// Operators that need other than one input. In all versions of an operator the first so many
/// inputs have to be given; those behind may be absent or came with later versions.
size_t required_inputs(const std::string& type) {
  static const std::unordered_map<std::string, size_t> counts = [] {
    std::unordered_map<std::string, size_t> made;
    for (const char* none : {"Constant", "Loop", "Optional", "RandomNormal", "RandomUniform",
                             "Scan", "SequenceEmpty"}) {
      made[none] = 0;
    }
    for (const char* two : {"Add",
                            "AffineGrid",
                            "And",
                            "BitShift",
                            "BitwiseAnd",
                            "BitwiseOr",
                            "BitwiseXor",
                            "CastLike",
                            "CenterCropPad",
                            "Compress",
                            "Conv",
                            "ConvInteger",
                            "ConvTranspose",
                            "CumSum",
                            "DequantizeLinear",
                            "Div",
                            "Equal",
                            "Expand",
                            "Gather",
                            "GatherElements",
                            "GatherND",
                            "Gemm",
                            "Greater",
                            "GreaterOrEqual",
                            "GridSample",
                            "LayerNormalization",
                            "Less",
                            "LessOrEqual",
                            "MatMul",
                            "MatMulInteger",
                            "MaxRoiPool",
                            "MaxUnpool",
                            "Mod",
                            "Mul",
                            "NegativeLogLikelihoodLoss",
                            "NonMaxSuppression",
                            "Or",
                            "PRelu",
                            "Pow",
                            "QuantizeLinear",
                            "ReverseSequence",
                            "STFT",
                            "SequenceAt",
                            "SequenceInsert",
                            "SoftmaxCrossEntropyLoss",
                            "StringConcat",
                            "Sub",
                            "Tile",
                            "Xor"}) {
      made[two] = 2;
    }
    for (const char* three : {"Col2Im", "DeformConv", "GRU", "GroupNormalization",
                              "InstanceNormalization", "LSTM", "OneHot", "RNN", "Range", "RoiAlign",
                              "Scatter", "ScatterElements", "ScatterND", "Where"}) {
      made[three] = 3;
    }
    made["BatchNormalization"] = made["MelWeightMatrix"] = 5;
    made["QLinearConv"] = made["QLinearMatMul"] = 8;
    return made;
  }();
  const auto found = counts.find(type);
  return found == counts.end() ? 1 : found->second;
}

/// The most outputs that any version of an operator makes.
size_t most_outputs(const std::string& type) {
  constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();
  static const std::unordered_map<std::string, size_t> counts = {
      {"BatchNormalization", 5},
      {"Dropout", 2},
      {"DynamicQuantizeLinear", 3},
      {"GRU", 2},
      {"If", kAnyNumber},
      {"LSTM", 3},
      {"LayerNormalization", 3},
      {"Loop", kAnyNumber},
      {"MaxPool", 2},
      {"RNN", 2},
      {"Scan", kAnyNumber},
      {"SequenceMap", kAnyNumber},
      {"SoftmaxCrossEntropyLoss", 2},
      {"Split", kAnyNumber},
      {"StringSplit", 2},
      {"TopK", 2},
      {"Unique", 4},
  };
  const auto found = counts.find(type);
  return found == counts.end() ? 1 : found->second;
}

}  // namespace

void check_arity(const Node& node) {
  const size_t required = required_inputs(node.type);
  for (size_t i = 0; i < required; ++i) {
    if (node.input(i) != kNoValue) continue;
    throw UserError("node " + describe(node) + " lacks its input " + std::to_string(i) + " of " +
                    std::to_string(required) +
                    " that the operator needs; the model is damaged or was exported wrongly");
  }
  const size_t most = most_outputs(node.type);
  if (node.outputs.size() > most) {
    throw UserError("node " + describe(node) + " has " + std::to_string(node.outputs.size()) +
                    " outputs, but the operator makes at most " + std::to_string(most) +
                    "; the model is damaged or was exported wrongly");
  }
}

}  // namespace opsmith::graph
