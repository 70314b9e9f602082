#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace opsmith::importer {

/// Reads an ONNX file (opset 1 to 22; external data beside the file). Throws UserError naming the
/// file and what is wrong with it. Unknown operators are kept as they are.
graph::Model import_model(const std::string& path);

/// The same from the bytes of a file. `source` names them in messages; external data is looked for
/// beside it.
graph::Model import_model(std::string_view bytes, const std::string& source);

}  // namespace opsmith::importer
