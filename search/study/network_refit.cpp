#include "search/study/network_refit.h"

#include <algorithm>

#include "search/extract.h"
#include "substitute/rewriting/rewrite.h"
#include "support/progress.h"

namespace opsmith::search {

namespace {

using substitute::Moments;

/// Moments of the layer's present input with what it should give.
Moments gather_moments(const graph::Model& model,
                       const std::shared_ptr<schedule::KernelProvider>& provider,
                       const Tensors& fit_data, const std::vector<float>& targets,
                       const LayerStudy& study, const substitute::PatchGeometry& geometry,
                       const RefitOptions& options) {
  std::vector<std::string> wanted = {study.input};
  if (!study.other.empty() && study.other != study.input) wanted.push_back(study.other);
  const graph::Model before = extract_before(model, wanted);
  Moments moments(geometry.window.patch_size(study.target.shape.input_channels),
                  study.original.outputs);
  size_t used = 0;
  BatchRunner(before, provider, options.threads)
      .run(fit_data, [&](int64_t begin, const Tensors& results) {
        const Tensor& input = results.at(study.input);
        Shape output = input.shape();
        if (output.size() == 4) {
          output = {input.shape()[0], study.original.outputs, geometry.output_height,
                    geometry.output_width};
        } else {
          output.back() = study.original.outputs;
        }
        const auto positions = sample_positions(study, output, begin, options.seed);
        const std::vector<float> patches = substitute::gather_patches(input, geometry, positions);
        std::vector<float> rows(positions.size() * static_cast<size_t>(study.original.outputs));
        std::copy_n(targets.begin() + static_cast<int64_t>(used), rows.size(), rows.begin());
        used += rows.size();
        if (!study.other.empty()) {
          const std::vector<float> beside =
              substitute::gather_outputs(results.at(study.other), positions);
          for (size_t i = 0; i < rows.size(); ++i) rows[i] -= beside[i];
        }
        moments.add(patches.data(), rows.data(), static_cast<int64_t>(positions.size()));
        return used < targets.size();
      });
  return moments;
}

}  // namespace

Choice to_choice(const std::vector<size_t>& assignment) {
  Choice choice;
  for (const size_t option : assignment) {
    choice.push_back(option == 0 ? std::nullopt : std::optional<size_t>(option - 1));
  }
  return choice;
}

RefitNetwork refit_network(const graph::Model& model,
                           const std::shared_ptr<schedule::KernelProvider>& provider,
                           const Tensors& fit_data, const OriginalRun& original,
                           const std::vector<LayerStudy>& studies, const Choice& choice,
                           const RefitOptions& options) {
  RefitNetwork result{model, std::vector<RefitLayer>(studies.size())};
  Progress progress("refitting the chosen operators in order",
                    static_cast<int64_t>(studies.size()));
  bool changed = false;
  for (size_t s = 0; s < studies.size(); ++s) {
    const LayerStudy& study = studies[s];
    progress.advance(study.target.name);
    // Nothing has changed before this layer yet: its own weights are the best.
    if (!choice[s] && (!changed || !options.refit_unchanged)) continue;
    if (options.stop && options.stop()) {
      if (!choice[s]) continue;
      const CandidateStudy& chosen = study.candidates.at(*choice[s]);
      result.layers[s].fit = chosen.fit;
      result.layers[s].fit_error = chosen.fit_error;
      substitute::replace_target(result.model, study.target, chosen.candidate, chosen.fit.weights,
                                 Tensor::of<float>({chosen.fit.map.outputs}, chosen.fit.map.bias));
      continue;
    }
    substitute::PatchGeometry geometry = study.geometry;
    if (!choice[s]) geometry.window = substitute::window_of(study.target.shape);
    const Moments moments = gather_moments(result.model, provider, fit_data, original.targets[s],
                                           study, geometry, options);
    RefitLayer& layer = result.layers[s];
    if (!choice[s]) {
      const substitute::FitProblem problem(moments,
                                           substitute::original_map(model.graph, study.target));
      layer.fit.map = substitute::best_map(problem);
      substitute::set_map(result.model.graph, study.target, layer.fit.map);
      continue;
    }
    const substitute::FitProblem problem(moments, study.original);
    const CandidateStudy& chosen = study.candidates.at(*choice[s]);
    substitute::FitOptions fit_options;
    fit_options.seed = options.seed;
    fit_options.sweeps = 6;  // a bound on time: more cost seconds for each wide layer
    fit_options.iterations = 20;
    layer.fit = substitute::fit(chosen.form, problem, fit_options, &chosen.fit.weights);
    layer.fit_error = layer.fit.relative_error;
    substitute::replace_target(result.model, study.target, chosen.candidate, layer.fit.weights,
                               Tensor::of<float>({layer.fit.map.outputs}, layer.fit.map.bias));
    changed = true;
  }
  result.model.graph.compact();
  return result;
}

}  // namespace opsmith::search
