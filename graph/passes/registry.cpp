#include "graph/passes/passes.h"
#include "graph/shape_inference.h"

namespace opsmith::graph {
namespace {

/// Each round ends with fewer nodes or constants to look at; the bound only guards against two
/// passes that undo each other.
constexpr int kMostRounds = 32;

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"constant-nodes", "Constant nodes become constants", make_constants},
      {"shape-folding", "integers that follow from shapes become constants", fold_shapes},
      {"constant-folding", "nodes of constants are evaluated", fold_constants},
      {"identity-removal", "nodes that change nothing go", remove_identities},
      {"branch-inlining", "the branch of an If that is always taken stands in its place",
       inline_branches},
      {"padding-folding", "Pad goes into the convolution behind it", fold_padding},
      {"batch-norm-folding", "BatchNormalization goes into the layer before it", fold_batch_norms},
      {"affine-folding", "scale and shift go into the layer before them", fold_affine},
      {"layer-norm-fusion", "spelled-out LayerNormalization becomes one node", fuse_layer_norms},
      {"gelu-fusion", "spelled-out Gelu becomes one node", fuse_gelus},
      {"duplicate-removal", "equal constants and nodes become one", merge_duplicates},
      {"dead-code-removal", "what no output needs goes", remove_dead_code},
  };
  return passes;
}

std::vector<PassCount> simplify(Model& model, const PassContext& context) {
  std::vector<PassCount> counts;
  for (const Pass& pass : all_passes()) counts.push_back({pass.name, 0});
  for (int round = 0; round < kMostRounds; ++round) {
    infer_shapes(model);
    int changes = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const int here = all_passes()[i].run(model, context);
      counts[i].changes += here;
      changes += here;
    }
    if (changes == 0) break;
  }
  infer_shapes(model);
  model.graph.compact();
  return counts;
}

}  // namespace opsmith::graph
