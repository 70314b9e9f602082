#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace opsmith::graph {

/// Names of all operators of ONNX's domain up to operator set 22, sorted.
std::vector<std::string> onnx_operators();

/// Whether a node of the type, written for the operator set `version`, means the same in a model
/// of operator set `other`: older nodes do in a newer set unless the operator changed in between
/// other than by taking more types and attributes; newer ones in an older set only where nothing
/// changed. True for types that ONNX's domain does not have.
bool same_meaning(const std::string& type, int64_t version, int64_t other);

}  // namespace opsmith::graph
