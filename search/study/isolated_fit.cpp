#include "search/study/isolated_fit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "search/extract.h"
#include "substitute/refit/matrix_product.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/progress.h"

namespace opsmith::search {

namespace {

using substitute::Moments;

/// Held-out values that later steps need.
std::vector<std::string> kept_values(const std::vector<LayerStudy>& studies,
                                     const std::vector<std::string>& keep) {
  std::set<std::string> names(keep.begin(), keep.end());
  for (const LayerStudy& study : studies) {
    names.insert(study.input);
    names.insert(study.output);
    if (!study.sum.empty()) names.insert(study.sum);
  }
  return {names.begin(), names.end()};
}

/// Relative L2 error of a map at patches whose true outputs are known.
double error_of(const substitute::LinearMap& map, const std::vector<float>& patches,
                const std::vector<float>& expected) {
  const int64_t count = static_cast<int64_t>(expected.size()) / map.outputs;
  std::vector<float> rows(expected.size());
  substitute::multiply(
      substitute::MatrixView::row_major(patches.data(), count, map.patch_size),
      substitute::MatrixView::row_major(map.kernel.data(), map.outputs, map.patch_size)
          .transposed(),
      rows.data());
  double difference = 0, power = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double d =
        static_cast<double>(rows[i]) + map.bias[i % static_cast<size_t>(map.outputs)] - expected[i];
    difference += d * d;
    power += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(difference / std::max(power, 1e-30));
}

/// The cheapest candidate, which a limit may need, and the middle one.
bool is_indispensable(int64_t number, int64_t count) {
  return number == count - 1 || number == count / 2;
}

/// All candidates of one layer, on all threads.
void fit_candidates(LayerStudy& study, const Moments& moments, const Tensors& held_out, int threads,
                    const StudyOptions& options, const std::function<bool()>& stop) {
  const substitute::FitProblem problem(moments, study.original);
  const Tensor& input = held_out.at(study.input);
  const Tensor& output = held_out.at(study.output);
  LayerStudy sparse = study;
  sparse.candidates.clear();
  sparse.positions_per_sample = 64;
  const std::vector<substitute::Position> positions =
      sample_positions(sparse, output.shape(), 0, options.seed + 1);
  const std::vector<float> patches = substitute::gather_patches(input, study.geometry, positions);
  const std::vector<float> expected = substitute::gather_outputs(output, positions);
  substitute::FitOptions fit_options;
  fit_options.seed = options.seed;
  fit_options.sweeps = 2;  // enough to rank them; those that are chosen are fitted further
  fit_options.iterations = 8;
  parallel_for(static_cast<int64_t>(study.candidates.size()), threads, [&](int64_t i) {
    CandidateStudy& candidate = study.candidates[static_cast<size_t>(i)];
    if (!is_indispensable(i, static_cast<int64_t>(study.candidates.size())) && stop()) return;
    candidate.fit = substitute::fit(candidate.form, problem, fit_options);
    candidate.fit_error = error_of(candidate.fit.map, patches, expected);
  });
  mark_worthwhile(study, options.every_family);
}

}  // namespace

OriginalRun fit_isolated(const graph::Model& model,
                         const std::shared_ptr<schedule::KernelProvider>& provider,
                         const Tensors& fit_data, const Tensors& held_out_data, int threads,
                         const StudyOptions& options, const std::vector<std::string>& keep,
                         const std::function<bool()>& stop, std::vector<LayerStudy>& studies) {
  OriginalRun original;
  original.targets.resize(studies.size());
  const BatchRunner runner(model, provider, threads, kept_values(studies, keep));
  original.held_out = runner.run(held_out_data);

  std::vector<std::unique_ptr<Moments>> moments;
  for (const LayerStudy& study : studies) {
    moments.push_back(std::make_unique<Moments>(study.original.patch_size, study.original.outputs));
  }
  const int64_t samples = fit_data.begin()->second.shape().front();
  {
    Progress progress("running the original on the calibration inputs", samples);
    runner.run(fit_data, [&](int64_t begin, const Tensors& results) {
      for (size_t s = 0; s < studies.size(); ++s) {
        LayerStudy& study = studies[s];
        const Tensor& output = results.at(study.output);
        if (output.rank() == 4) {
          study.geometry.output_height = output.shape()[2];
          study.geometry.output_width = output.shape()[3];
        }
        const auto positions = sample_positions(study, output.shape(), begin, options.seed);
        const std::vector<float> patches =
            substitute::gather_patches(results.at(study.input), study.geometry, positions);
        const std::vector<float> rows = substitute::gather_outputs(output, positions);
        moments[s]->add(patches.data(), rows.data(), static_cast<int64_t>(positions.size()));
        const std::vector<float> aim =
            study.sum.empty() ? rows : substitute::gather_outputs(results.at(study.sum), positions);
        original.targets[s].insert(original.targets[s].end(), aim.begin(), aim.end());
      }
      progress.advance("", results.begin()->second.shape().front());
      // What was seen by then must do; one batch is the least.
      return !stop();
    });
  }
  int64_t candidates = 0;
  for (const LayerStudy& study : studies)
    candidates += static_cast<int64_t>(study.candidates.size());
  Progress progress("fitting every operator to every layer", candidates);
  for (size_t s = 0; s < studies.size(); ++s) {
    fit_candidates(studies[s], *moments[s], original.held_out, threads, options, stop);
    moments[s].reset();
    progress.advance(studies[s].target.name, static_cast<int64_t>(studies[s].candidates.size()));
  }
  return original;
}

}  // namespace opsmith::search
