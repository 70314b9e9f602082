#pragma once

#include <string>

#include "runtime/kernels/lowering.h"

namespace opsmith::kernels {

/// A number as Cast writes it: the shortest decimal that reads back the same, "NaN", "INF", "-INF".
std::string number_text(const Tensor& tensor, size_t at);

struct ParsedNumber {
  double real = 0;
  int64_t whole = 0;  ///< exact where the text is an integer, else `real` truncated
};

/// The number that a text says: plain, scientific, NaN or infinite. Throws UserError naming the
/// node.
ParsedNumber parse_number_text(const std::string& text, const graph::Node& node);

/// "FLOAT", "INT64", ...: names of TensorProto.DataType. Throws UserError naming the node.
ElementType named_element_type(const std::string& name, const graph::Node& node);

}  // namespace opsmith::kernels
