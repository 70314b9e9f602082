#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace opsmith::exporter {

struct ExportOptions {
  bool inline_functions = false;  ///< write the bodies of functions as plain nodes
  /// Bytes of weights above which they go to a file of their own (a message ends at 2 GB).
  int64_t external_data_above = int64_t{1900} << 20;
};

/// Writes an ONNX file, whole beside its destination and then renamed. Weights above 2 GB in all
/// go to `<path>.data`. Throws UserError when it cannot be written.
void export_model(const graph::Model& model, const std::string& path,
                  const ExportOptions& options = {});

/// The file's bytes, for tests and for handing to another runtime. Throws UserError above 2 GB.
std::string serialize_model(const graph::Model& model, const ExportOptions& options = {});

}  // namespace opsmith::exporter
