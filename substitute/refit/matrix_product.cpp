#include "substitute/refit/matrix_product.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/error.h"

namespace opsmith::substitute {

namespace {

typedef float Vector4 __attribute__((vector_size(16), aligned(4)));
typedef float Vector8 __attribute__((vector_size(32), aligned(4)));
typedef float Vector16 __attribute__((vector_size(64), aligned(4)));

using MicroKernel = void (*)(int64_t depth, const float* a, const float* b, float* tile);

// Computes tile[ROWS][2 vectors] = sum over depth of a[depth][ROWS] (outer product)
// b[depth][2 vectors], with the whole tile in registers. A macro and not a template: each
// instruction set needs the body inside a function of its own target, since vector types are
// lowered before anything is inlined.
#define OPSMITH_MICRO_KERNEL(NAME, TARGET, VECTOR, ROWS)                                \
  TARGET void NAME(int64_t depth, const float* a, const float* b, float* tile) {        \
    constexpr int64_t lanes = sizeof(VECTOR) / sizeof(float);                           \
    VECTOR sum[ROWS][2] = {};                                                           \
    for (int64_t p = 0; p < depth; ++p) {                                               \
      const VECTOR left = *reinterpret_cast<const VECTOR*>(b + p * 2 * lanes);          \
      const VECTOR right = *reinterpret_cast<const VECTOR*>(b + p * 2 * lanes + lanes); \
      _Pragma("GCC unroll 16") for (int r = 0; r < (ROWS); ++r) {                       \
        const float factor = a[p * (ROWS) + r];                                         \
        sum[r][0] += left * factor;                                                     \
        sum[r][1] += right * factor;                                                    \
      }                                                                                 \
    }                                                                                   \
    _Pragma("GCC unroll 16") for (int r = 0; r < (ROWS); ++r) {                         \
      *reinterpret_cast<VECTOR*>(tile + r * 2 * lanes) = sum[r][0];                     \
      *reinterpret_cast<VECTOR*>(tile + r * 2 * lanes + lanes) = sum[r][1];             \
    }                                                                                   \
  }

OPSMITH_MICRO_KERNEL(micro_kernel_sse, , Vector4, 4)
#ifdef __x86_64__
OPSMITH_MICRO_KERNEL(micro_kernel_avx2, __attribute__((target("avx2,fma"))), Vector8, 6)
OPSMITH_MICRO_KERNEL(micro_kernel_avx512, __attribute__((target("avx512f"))), Vector16, 12)
#endif

struct Kernel {
  MicroKernel run;
  int64_t rows, columns;  // of the register tile
};

Kernel best_kernel() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {micro_kernel_avx512, 12, 32};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {micro_kernel_avx2, 6, 16};
  }
#endif
  return {micro_kernel_sse, 4, 8};
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Panels of `width` rows, each stored depth-major, the last padded with zeros.
void pack_rows(const MatrixView& m, int64_t first, int64_t count, int64_t depth_begin,
               int64_t depth, int64_t width, float* packed) {
  for (int64_t panel = 0; panel < count; panel += width) {
    const int64_t filled = std::min(width, count - panel);
    const float* source = m.data + (first + panel) * m.row_stride + depth_begin * m.column_stride;
    if (m.row_stride == 1 && filled == width) {
      for (int64_t p = 0; p < depth; ++p) {
        std::memcpy(packed + p * width, source + p * m.column_stride,
                    static_cast<size_t>(width) * sizeof(float));
      }
    } else {
      for (int64_t r = 0; r < width; ++r) {
        for (int64_t p = 0; p < depth; ++p) {
          packed[p * width + r] =
              r < filled ? source[r * m.row_stride + p * m.column_stride] : 0.0f;
        }
      }
    }
    packed += depth * width;
  }
}

constexpr int64_t kDepthBlock = 256;
constexpr int64_t kRowBlock = 96;      // a multiple of every tile height
constexpr int64_t kColumnBlock = 512;  // a multiple of every tile width

}  // namespace

void multiply(const MatrixView& a, const MatrixView& b, float* result, bool accumulate,
              MatrixPart part) {
  require(a.columns == b.rows, "matrix product: inner extents differ");
  const int64_t rows = a.rows, columns = b.columns, depth = a.columns;
  if (!accumulate) std::fill(result, result + rows * columns, 0.0f);
  if (rows == 0 || columns == 0 || depth == 0) return;
  static const Kernel kernel = best_kernel();
  const MatrixView b_rows = b.transposed();
  const int64_t row_blocks = (rows + kRowBlock - 1) / kRowBlock;
  const int64_t column_blocks = (columns + kColumnBlock - 1) / kColumnBlock;

  std::vector<float> packed_b(static_cast<size_t>(kDepthBlock * round_up(columns, kColumnBlock)));
  const bool parallel = rows * columns * depth > (int64_t{1} << 18);
#pragma omp parallel if (parallel)
  {
    std::vector<float> packed_a(static_cast<size_t>(kRowBlock * kDepthBlock));
    alignas(64) float tile[12 * 32];
    for (int64_t depth_begin = 0; depth_begin < depth; depth_begin += kDepthBlock) {
      const int64_t block_depth = std::min(kDepthBlock, depth - depth_begin);
#pragma omp for schedule(dynamic)
      for (int64_t block = 0; block < column_blocks; ++block) {
        const int64_t first = block * kColumnBlock;
        pack_rows(b_rows, first, std::min(kColumnBlock, columns - first), depth_begin, block_depth,
                  kernel.columns, packed_b.data() + first * block_depth);
      }
#pragma omp for schedule(dynamic)
      for (int64_t block = 0; block < row_blocks; ++block) {
        const int64_t row_begin = block * kRowBlock;
        const int64_t block_rows = std::min(kRowBlock, rows - row_begin);
        pack_rows(a, row_begin, block_rows, depth_begin, block_depth, kernel.rows, packed_a.data());
        for (int64_t column = 0; column < columns; column += kernel.columns) {
          const int64_t width = std::min(kernel.columns, columns - column);
          // Panels inside a column block follow each other; blocks begin at multiples.
          const float* panel_b = packed_b.data() + column * block_depth;
          for (int64_t r = 0; r < block_rows; r += kernel.rows) {
            if (part == MatrixPart::UpperTriangle && column + width <= row_begin + r) continue;
            kernel.run(block_depth, packed_a.data() + r * block_depth, panel_b, tile);
            const int64_t height = std::min(kernel.rows, block_rows - r);
            for (int64_t i = 0; i < height; ++i) {
              float* to = result + (row_begin + r + i) * columns + column;
              const float* from = tile + i * kernel.columns;
              for (int64_t j = 0; j < width; ++j) to[j] += from[j];
            }
          }
        }
      }
    }
  }
}

}  // namespace opsmith::substitute
