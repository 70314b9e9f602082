#pragma once

#include "graph/passes/pass.h"

namespace opsmith::graph {

/// The passes, one file each. They return how many places they changed.
int make_constants(Model& model, const PassContext& context);
int fold_shapes(Model& model, const PassContext& context);
int fold_constants(Model& model, const PassContext& context);
int remove_identities(Model& model, const PassContext& context);
int inline_branches(Model& model, const PassContext& context);
int fold_padding(Model& model, const PassContext& context);
int fold_batch_norms(Model& model, const PassContext& context);
int fold_affine(Model& model, const PassContext& context);
int fuse_layer_norms(Model& model, const PassContext& context);
int fuse_gelus(Model& model, const PassContext& context);
int merge_duplicates(Model& model, const PassContext& context);
int remove_dead_code(Model& model, const PassContext& context);

}  // namespace opsmith::graph
