#include "substitute/refit/least_squares.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "substitute/refit/chain.h"
#include "substitute/refit/matrix_product.h"
#include "substitute/refit/preconditioner.h"
#include "substitute/refit/weight_use.h"
#include "support/error.h"
#include "support/random.h"

namespace opsmith::substitute {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMap = Eigen::Map<const FloatMatrix>;

size_t size(int64_t n) { return static_cast<size_t>(n); }
int64_t count(const std::vector<int32_t>& values) { return static_cast<int64_t>(values.size()); }

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

/// Orthonormal rows: the right singular vectors of the largest singular values, at most `wanted`
/// and at most the rank.
Matrix leading_directions(const Matrix& maps, int64_t wanted) {
  const bool wide = maps.rows() <= maps.cols();
  const Matrix square = wide ? Matrix(maps * maps.transpose()) : Matrix(maps.transpose() * maps);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(square);
  const int64_t n = square.rows();
  const double largest = std::max(eigen.eigenvalues()(n - 1), 1e-300);
  int64_t kept = 0;
  while (kept < std::min(wanted, n) && eigen.eigenvalues()(n - 1 - kept) > 1e-12 * largest) ++kept;
  const Matrix vectors = eigen.eigenvectors().rightCols(kept).rowwise().reverse();
  Matrix directions = wide ? Matrix(vectors.transpose() * maps) : Matrix(vectors.transpose());
  if (wide) directions.rowwise().normalize();
  return directions;
}

class Solver {
 public:
  Solver(const LinearForm& form, const FitProblem& problem, const FitOptions& options)
      : form_(form),
        problem_(problem),
        options_(options),
        chain_(form),
        uses_(weight_uses(chain_)),
        random_(options.seed) {
    const Window& window = problem.window();
    require(window.united(form.window()) == window, "operator reads outside the fitted window");
    const int64_t d = problem.patch_size();
    inputs_ = Rows(static_cast<int64_t>(form.inputs.size()), d);
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      patch_indices_.push_back(static_cast<int32_t>(window.patch_index(form.inputs[i])));
      std::copy_n(problem.samples().data() + patch_indices_[i] * d, d,
                  inputs_.row(static_cast<int64_t>(i)));
    }
    weights_.assign(size(form.weight_count), 0.0f);
  }

  Fit run(const std::vector<Tensor>* initial) {
    if (initial != nullptr) {
      for (size_t w = 0; w < form_.weights.size(); ++w) {
        const std::span<const float> values = initial->at(w).data<float>();
        std::copy(values.begin(), values.end(), weights_.begin() + form_.weights[w].begin);
      }
    } else {
      for (size_t u = 0; u + 1 < uses_.size(); ++u) initialise(uses_[u]);
    }
    const double floor = 1e-13 * dot(problem_.targets(), problem_.targets());
    double cost = std::numeric_limits<double>::infinity();
    for (int sweep = 0; sweep < options_.sweeps; ++sweep) {
      double after = cost;
      for (size_t u = uses_.size(); u-- > 0;) after = solve(uses_[u]);
      const bool done =
          after <= floor || uses_.size() < 2 || cost - after < options_.tolerance * after;
      cost = after;
      if (done) break;
    }
    return result(cost);
  }

 private:
  /// Rows of each matrix of the weight = leading directions, among the values that it reads, of
  /// the best unrestricted map. Exact when the layer is a product of this operator's form.
  void initialise(const WeightUse& use) {
    const WeightSpan& span = form_.weights[size(use.weight)];
    if (!use.matrices) {
      const double scale =
          1 / std::sqrt(static_cast<double>(form_.blocks[use.blocks.front()].columns.size()));
      for (int64_t i = 0; i < span.count; ++i) {
        weights_[size(span.begin + i)] = static_cast<float>(scale * random_.normal());
      }
      return;
    }
    const Rows values = chain_.forward(weights_, inputs_);
    for (const TiedBlocks& tie : use.ties) {
      const LinearBlock& first = form_.blocks[tie.blocks.front()];
      const int64_t rows = count(first.rows), columns = count(first.columns);
      Matrix mean_gram = Matrix::Zero(columns, columns);
      Matrix maps(problem_.outputs() * static_cast<int64_t>(tie.blocks.size()), columns);
      for (size_t copy = 0; copy < tie.blocks.size(); ++copy) {
        const LinearBlock& block = form_.blocks[tie.blocks[copy]];
        const Rows sources = gather_rows(values, block.columns);
        FloatMatrix gram(columns, columns);
        const MatrixView view =
            MatrixView::row_major(sources.data.data(), columns, sources.columns);
        multiply(view, view.transposed(), gram.data());
        mean_gram += gram.cast<double>();
        maps.middleRows(static_cast<int64_t>(copy) * problem_.outputs(), problem_.outputs()) =
            best_map(block, sources);
      }
      mean_gram.diagonal().array() +=
          1e-6 * mean_gram.trace() / static_cast<double>(columns) + 1e-20;
      // The whole patch in order has the problem's own factor.
      const bool whole_patch = columns == problem_.patch_size() &&
                               std::is_sorted(first.columns.begin(), first.columns.end()) &&
                               first.columns.back() == columns - 1;
      const Matrix lower =
          whole_patch ? Matrix(FloatMap(problem_.samples().data(), columns, columns).cast<double>())
                      : Matrix(Eigen::LLT<Matrix>(mean_gram).matrixL());
      const Matrix found = leading_directions(maps * lower, rows);
      Matrix directions(rows, columns);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          directions(r, c) = r < found.rows() ? found(r, c) : 0.1 * random_.normal();
        }
      }
      const Matrix matrix =
          lower.transpose().triangularView<Eigen::Upper>().solve(directions.transpose());
      for (int64_t i = 0; i < rows * columns; ++i) {
        weights_[size(first.factors.front()[size(i)])] =
            static_cast<float>(matrix(i % columns, i / columns));
      }
    }
  }

  /// The part of the best unrestricted map that acts on the values a block reads; for values that
  /// are not inputs the regression of the targets on them.
  Matrix best_map(const LinearBlock& block, const Rows& sources) const {
    const int64_t d = problem_.patch_size(), outputs = problem_.outputs();
    const int64_t columns = count(block.columns);
    const bool from_inputs = std::all_of(
        block.columns.begin(), block.columns.end(),
        [&](int32_t value) { return value < static_cast<int32_t>(form_.inputs.size()); });
    Matrix map(outputs, columns);
    if (from_inputs) {
      for (int64_t o = 0; o < outputs; ++o) {
        for (int64_t c = 0; c < columns; ++c) {
          const int32_t patch_index = patch_indices_[size(block.columns[size(c)])];
          map(o, c) = problem_.best_kernel()[size(o * d + patch_index)];
        }
      }
      return map;
    }
    FloatMatrix gram(columns, columns), cross(outputs, columns);
    const MatrixView view = MatrixView::row_major(sources.data.data(), columns, d);
    multiply(view, view.transposed(), gram.data());
    multiply(MatrixView::row_major(problem_.targets().data(), outputs, d), view.transposed(),
             cross.data());
    Matrix damped = gram.cast<double>();
    damped.diagonal().array() += 1e-6 * damped.trace() / static_cast<double>(columns) + 1e-20;
    return Eigen::LLT<Matrix>(damped).solve(cross.cast<double>().transpose()).transpose();
  }

  std::vector<float> outputs_of(const Rows& values) const {
    return gather_rows(values, form_.outputs).data;
  }

  /// Least squares for one weight tensor by conjugate gradients on the normal equations (CGLS).
  /// Returns the cost that is left.
  double solve(const WeightUse& use) {
    const int64_t d = problem_.patch_size(), outputs = problem_.outputs();
    const Rows values = chain_.forward(weights_, inputs_);
    const Rows sensitivity = chain_.sensitivities(weights_, use.blocks.back() + 1);
    struct Local {
      Rows sources;      // [block columns x d]
      Rows sensitivity;  // [block rows x outputs]
      std::vector<float> along, part;
    };
    std::vector<Local> locals;
    for (const size_t b : use.blocks) {
      const LinearBlock& block = form_.blocks[b];
      locals.push_back(
          {gather_rows(values, block.columns), gather_rows(sensitivity, block.rows), {}, {}});
    }

    // Change of the outputs when the weight moves along a direction.
    const auto apply = [&](const std::vector<float>& direction) {
      std::vector<float> change(size(outputs * d));
      for (size_t i = 0; i < locals.size(); ++i) {
        Local& local = locals[i];
        const std::vector<float> matrix =
            chain_.block_matrix(form_.blocks[use.blocks[i]], weights_, use.weight, &direction);
        const int64_t rows = local.sensitivity.count;
        local.along.resize(size(rows * d));
        multiply(MatrixView::row_major(matrix.data(), rows, local.sources.count),
                 MatrixView::row_major(local.sources.data.data(), local.sources.count, d),
                 local.along.data());
        multiply(MatrixView::row_major(local.sensitivity.data.data(), rows, outputs).transposed(),
                 MatrixView::row_major(local.along.data(), rows, d), change.data(), true);
      }
      return change;
    };
    // Its transpose: the gradient of <outputs, residual> with respect to the weight.
    const auto apply_transposed = [&](const std::vector<float>& residual) {
      std::vector<float> gradient(weights_.size());
      for (size_t i = 0; i < locals.size(); ++i) {
        Local& local = locals[i];
        const LinearBlock& block = form_.blocks[use.blocks[i]];
        const int64_t rows = local.sensitivity.count, columns = local.sources.count;
        local.along.resize(size(rows * d));
        multiply(MatrixView::row_major(local.sensitivity.data.data(), rows, outputs),
                 MatrixView::row_major(residual.data(), outputs, d), local.along.data());
        local.part.resize(size(rows * columns));
        multiply(MatrixView::row_major(local.along.data(), rows, d),
                 MatrixView::row_major(local.sources.data.data(), columns, d).transposed(),
                 local.part.data());
        chain_.add_gradient(block, weights_, use.weight, local.part, gradient);
      }
      return gradient;
    };

    std::vector<Rows> sources, sensitivities;
    for (const Local& local : locals) {
      sources.push_back(local.sources);
      sensitivities.push_back(local.sensitivity);
    }
    const bool whole_patch = inputs_.count == d;
    const Preconditioner preconditioner(chain_, use, weights_, sources, sensitivities,
                                        whole_patch ? &problem_.precision() : nullptr);

    std::vector<float> residual = outputs_of(values);
    for (size_t i = 0; i < residual.size(); ++i) residual[i] = problem_.targets()[i] - residual[i];
    double cost = dot(residual, residual);
    std::vector<float> gradient = apply_transposed(residual);
    std::vector<float> step = preconditioner.apply(gradient);
    std::vector<float> direction = step;
    double slope = dot(gradient, step);
    const double enough = 1e-9 * std::max(cost, 1e-30);
    for (int iteration = 0; iteration < options_.iterations && slope > enough; ++iteration) {
      const std::vector<float> change = apply(direction);
      const double curvature = dot(change, change);
      if (!(curvature > 0)) break;
      const float length = static_cast<float>(slope / curvature);
      for (size_t i = 0; i < weights_.size(); ++i) weights_[i] += length * direction[i];
      for (size_t i = 0; i < residual.size(); ++i) residual[i] -= length * change[i];
      const double before = cost;
      cost = dot(residual, residual);
      gradient = apply_transposed(residual);
      step = preconditioner.apply(gradient);
      const double next = dot(gradient, step);
      if (before - cost < 1e-4 * options_.tolerance * cost) break;
      const float keep = static_cast<float>(next / slope);
      for (size_t i = 0; i < direction.size(); ++i) direction[i] = step[i] + keep * direction[i];
      slope = next;
    }
    return cost;
  }

  Fit result(double cost) const {
    Fit fitted;
    for (const WeightSpan& span : form_.weights) {
      Tensor tensor(ElementType::Float32, span.shape);
      std::copy_n(weights_.begin() + span.begin, span.count, tensor.data<float>().begin());
      fitted.weights.push_back(std::move(tensor));
    }
    const int64_t cells = problem_.window().rows() * problem_.window().columns();
    fitted.map =
        linear_map(form_, fitted.weights, problem_.window(), problem_.patch_size() / cells);
    fitted.map.bias = problem_.bias(fitted.map.kernel);
    fitted.relative_error = problem_.relative_error(fitted.map.kernel, cost);
    return fitted;
  }

  const LinearForm& form_;
  const FitProblem& problem_;
  const FitOptions& options_;
  Chain chain_;
  std::vector<WeightUse> uses_;
  Random random_;
  std::vector<int32_t> patch_indices_;
  Rows inputs_;  ///< samples of the input elements that the operator reads
  std::vector<float> weights_;
};

}  // namespace

Fit fit(const LinearForm& form, const FitProblem& problem, const FitOptions& options,
        const std::vector<Tensor>* initial) {
  return Solver(form, problem, options).run(initial);
}

LinearMap linear_map(const LinearForm& form, const std::vector<Tensor>& weights,
                     const Window& window, int64_t channels) {
  std::vector<float> flat(size(form.weight_count));
  for (size_t w = 0; w < form.weights.size(); ++w) {
    const std::span<const float> values = weights.at(w).data<float>();
    std::copy(values.begin(), values.end(), flat.begin() + form.weights[w].begin);
  }
  LinearMap map;
  map.window = window;
  map.outputs = static_cast<int64_t>(form.outputs.size());
  map.patch_size = window.patch_size(channels);
  Rows unit(static_cast<int64_t>(form.inputs.size()), map.patch_size);
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    unit.row(static_cast<int64_t>(i))[window.patch_index(form.inputs[i])] = 1;
  }
  const Rows values = Chain(form).forward(flat, unit);
  map.kernel = gather_rows(values, form.outputs).data;
  map.bias.assign(size(map.outputs), 0.0f);
  return map;
}

}  // namespace opsmith::substitute
