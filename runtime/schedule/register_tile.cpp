#include "runtime/schedule/register_tile.h"

#include <algorithm>

namespace opsmith::schedule {
namespace {

/// Cycles of one reduction step of a tile: two multiply-adds and two loads a cycle at best, and a
/// chain of dependent multiply-adds that advances once in four cycles.
double step_cost(const TileProblem& problem, int64_t points, int64_t vectors) {
  const auto multiply_adds = static_cast<double>(points * vectors);
  const auto vector_loads =
      static_cast<double>(problem.shares_vectors ? vectors : vectors * points);
  const auto scalar_loads = static_cast<double>(problem.shares_scalars ? points : points * vectors);
  return std::max({multiply_adds / 2, (vector_loads + scalar_loads) / 2, 4.0}) + 0.25;
}

/// Cost along one axis of extent `extent` in steps of `size`: full steps, then a shorter one.
template <typename Cost>
double along(int64_t extent, int64_t size, const Cost& cost) {
  const int64_t rest = extent % size;
  return static_cast<double>(extent / size) * cost(size) + (rest != 0 ? cost(rest) : 0.0);
}

}  // namespace

RegisterTile choose_tile(const TileProblem& problem) {
  RegisterTile best;
  best.cost = -1;
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(problem.vectors, 8); ++vectors) {
    const auto& counts = problem.vector_counts;
    if (!counts.empty() && std::find(counts.begin(), counts.end(), vectors) == counts.end()) {
      continue;
    }
    for (int64_t rows = 1; rows <= std::min<int64_t>(problem.rows, 8); ++rows) {
      for (int64_t columns = 1; columns <= std::min<int64_t>(problem.columns, 28); ++columns) {
        const int64_t points = rows * columns;
        // Rows are worth their code only where a row is too short for a tile.
        if (rows > 1 && columns != problem.columns) continue;
        const int64_t loaded = problem.shares_vectors ? vectors : 1;
        if (points * vectors + loaded + 1 > problem.registers) break;
        const double cost = along(problem.vectors, vectors, [&](int64_t v) {
          return along(problem.rows, rows, [&](int64_t r) {
            return along(problem.columns, columns,
                         [&](int64_t c) { return step_cost(problem, r * c, v); });
          });
        });
        const bool better = best.cost < 0 || cost < best.cost * 0.999;
        if (better) best = {rows, columns, vectors, cost};
      }
    }
  }
  return best;
}

}  // namespace opsmith::schedule
