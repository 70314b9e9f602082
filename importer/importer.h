#pragma once

#include <string>

#include "graph/graph.h"

namespace opsmith::importer {

/// Reads an ONNX file (opset 1 to 22; external data beside the file). Throws UserError naming the
/// file and what is wrong with it. Unknown operators are kept as they are.
graph::Model import_model(const std::string& path);

}  // namespace opsmith::importer
