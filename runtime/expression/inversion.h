#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/expression/program.h"

namespace opsmith::expression {

/// The points of an iteration space that touch one element of a tensor: what turns the adjoint of
/// a read from a scatter into a gather.
struct Inversion {
  /// One per dimension of the tensor.
  std::vector<Axis> element;
  /// What is left to run over.
  std::vector<Axis> remaining;
  /// Each iterator of the space over `element` and `remaining`.
  std::map<std::string, Index> solution;
  /// A point counts only where `value` is in [0, extent).
  struct Guard {
    Index value;
    Index extent;
    /// The iterator whose domain it is, empty for others.
    std::string iterator;
  };
  std::vector<Guard> guards;
};

/// Solves indices[d](iterators) = element d of a tensor of `shape` for the iterators. Guards that
/// always hold are left out. nullopt where no rule helps: then scatter.
///
/// Indices are solved by peeling: (a s + b) with b in [0, s) splits into a quotient and a
/// remainder, e / d leaves a remainder to run over, e mod m a number of periods; of a sum such as h
/// + a - 1 the iterator of the largest domain is solved and the others remain. Extents that are not
/// bound leave fewer rules. New iterators avoid the names in `taken`.
std::optional<Inversion> invert(const std::vector<Index>& indices, const std::vector<Index>& shape,
                                const std::vector<Axis>& iterators,
                                std::set<std::string> taken = {});

}  // namespace opsmith::expression
