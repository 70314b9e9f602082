#include "graph/operators/arity.h"

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

}  // namespace

void check_required_inputs(const Node& node) {
  const size_t required = required_inputs(node.type);
  for (size_t i = 0; i < required; ++i) {
    if (node.input(i) != kNoValue) continue;
    throw UserError("node " + describe(node) + " lacks its input " + std::to_string(i) + " of " +
                    std::to_string(required) +
                    " that the operator needs; the model is damaged or was exported wrongly");
  }
}

}  // namespace opsmith::graph
