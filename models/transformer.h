#pragma once

#include "models/reference_models.h"

namespace opsmith::models {

/// BERT-base (Devlin et al., arXiv 1810.04805): 12 layers, 768 wide, 12 heads; inputs input_ids and
/// attention_mask [N, S] int64, outputs last_hidden_state [N, S, 768] and pooler_output [N, 768].
/// S is 128, or the options' size.
graph::Model bert_base(const ModelOptions& options);

/// GPT-2 of 117 M parameters (Radford et al., 2019): 12 layers, 768 wide, 12 heads, causal; input
/// input_ids [N, S] int64, output logits [N, S, 50257] by the tied embedding.
graph::Model gpt2(const ModelOptions& options);

}  // namespace opsmith::models
