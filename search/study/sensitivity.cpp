#include "search/study/sensitivity.h"

#include "search/divergence.h"
#include "search/extract.h"
#include "support/progress.h"

namespace opsmith::search {

std::vector<graph::Model> models_after(const graph::Model& model,
                                       const std::vector<LayerStudy>& studies) {
  std::vector<graph::Model> after;
  for (const LayerStudy& study : studies) after.push_back(extract_after(model, study.output));
  return after;
}

void measure_sensitivities(const std::vector<graph::Model>& after,
                           const std::shared_ptr<schedule::KernelProvider>& provider,
                           const Tensors& held_out, int threads, const std::function<bool()>& stop,
                           std::vector<LayerStudy>& studies) {
  int64_t work = 0;
  for (const LayerStudy& study : studies) {
    for (const CandidateStudy& candidate : study.candidates) work += candidate.worthwhile ? 1 : 0;
  }
  Progress progress("measuring what each operator does to the outputs", work);
  for (size_t s = 0; s < studies.size(); ++s) {
    LayerStudy& study = studies[s];
    for (CandidateStudy& candidate : study.candidates) candidate.loss = candidate.fit_error;
    if (stop()) continue;
    const BatchRunner runner(after[s], provider, threads);
    Tensors inputs, reference;
    for (const std::string& name : input_names(after[s])) inputs.emplace(name, held_out.at(name));
    const std::vector<std::string> outputs = output_names(after[s]);
    for (const std::string& name : outputs) reference.emplace(name, held_out.at(name));
    for (CandidateStudy& candidate : study.candidates) {
      if (!candidate.worthwhile || stop()) continue;
      inputs[study.output] = apply_map(candidate.fit.map, study.geometry, held_out.at(study.input),
                                       held_out.at(study.output).shape());
      candidate.loss = outputs.empty()
                           ? 0
                           : divergence(runner.run(inputs), reference, outputs.front()).relative_l2;
      progress.advance(study.target.name + ": " + candidate.candidate.name);
    }
  }
}

}  // namespace opsmith::search
