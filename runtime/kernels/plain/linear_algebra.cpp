#include <cmath>
#include <utility>

#include "runtime/kernels/attributes.h"
#include "runtime/kernels/families.h"
#include "runtime/kernels/plain/along_axis.h"
#include "runtime/kernels/plain/dispatch.h"
#include "runtime/kernels/plain/reals.h"
#include "support/error.h"

// Det, LpNormalization and Hardmax.
namespace opsmith::kernels {
namespace {

// By Gaussian elimination with the largest pivot of each column; destroys the matrix.
double determinant(std::vector<double>& m, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      for (size_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
      product = -product;
    }
    product *= m[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (size_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

std::vector<Tensor> determinants(const PlainCall& call) {
  const Shape& x = call.input(0).shape();
  if (x.size() < 2 || x.back() != x[x.size() - 2]) {
    throw UserError(describe(call.node) + ": square matrices are needed, not " + to_string(x));
  }
  const Shape shape(x.begin(), x.end() - 2);
  const auto n = static_cast<size_t>(x.back());
  const std::vector<double> values = to_reals(call.input(0));
  std::vector<double> out, matrix;
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const auto begin = values.begin() + i * static_cast<int64_t>(n * n);
    matrix.assign(begin, begin + static_cast<int64_t>(n * n));
    out.push_back(determinant(matrix, n));
  }
  return {from_reals(call, 0, call.input(0).type(), shape, out)};
}

// x divided by its norm along an axis; what is all zero stays.
std::vector<Tensor> normalize(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const AlongAxis along(call.node.integer("axis", -1), x.shape(), call.node);
  const bool absolute = call.node.integer("p", 2) == 1;
  std::vector<double> values = to_reals(x);
  for (int64_t row = 0; row < along.outer * along.inner; ++row) {
    double* at = values.data() + row / along.inner * along.extent * along.inner + row % along.inner;
    double sum = 0;
    for (int64_t i = 0; i < along.extent; ++i) {
      const double v = at[i * along.inner];
      sum += absolute ? std::fabs(v) : v * v;
    }
    const double norm = absolute ? sum : std::sqrt(sum);
    for (int64_t i = 0; i < along.extent && norm != 0; ++i) at[i * along.inner] /= norm;
  }
  return {from_reals(call, 0, x.type(), x.shape(), values)};
}

// 1 at the first largest element, 0 elsewhere: along one axis since operator set 13, before over
// all dimensions from the axis on.
std::vector<Tensor> hardmax(const PlainCall& call) {
  const Tensor& x = call.input(0);
  const bool single = call.opset() >= 13;
  const int64_t given = call.node.integer("axis", single ? -1 : 1);
  Shape seen = x.shape();
  if (!single) {
    const auto axis =
        static_cast<size_t>(given == x.rank() ? given : normalize_axis(given, x.rank(), call.node));
    seen = {extent_product(x.shape(), 0, axis), extent_product(x.shape(), axis, x.shape().size())};
  }
  const AlongAxis along(single ? given : 1, seen, call.node);
  Tensor y = call.output(0, x.type(), x.shape());
  dispatch_numeric(x.type(), call.node, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t row = 0; row < along.outer * along.inner; ++row) {
      const int64_t base = row / along.inner * along.extent * along.inner + row % along.inner;
      int64_t best = base;
      for (int64_t i = 0; i < along.extent; ++i) {
        const int64_t at = base + i * along.inner;
        if (elements_as<T>(x)[at] > elements_as<T>(x)[best]) best = at;
        elements_as<T>(y)[at] = 0;
      }
      if (along.extent > 0) elements_as<T>(y)[best] = 1;
    }
  });
  return {y};
}

}  // namespace

std::vector<KernelDefinition> linear_algebra_kernels() {
  return {{"Det", nullptr, determinants},
          {"LpNormalization", nullptr, normalize},
          {"Hardmax", nullptr, hardmax, Handling::Widened}};
}

}  // namespace opsmith::kernels
