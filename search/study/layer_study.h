#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "search/samples.h"
#include "substitute/operator/candidate.h"
#include "substitute/refit/least_squares.h"
#include "substitute/refit/moments.h"
#include "substitute/targets/target.h"

namespace opsmith::search {

/// An operator at a layer and what is known of it.
struct CandidateStudy {
  substitute::Candidate candidate;
  substitute::LinearForm form;
  std::string family;  ///< its name without sizes
  int64_t macs = 0;    ///< for one sample
  int64_t parameters = 0;
  substitute::Fit fit;      ///< alone, on the original's inputs
  double fit_error = 0;     ///< relative L2 of the layer's output on held-out samples
  double loss = 0;          ///< relative L2 of the network's outputs on held-out samples
  double milliseconds = 0;  ///< 0: not measured
  bool worthwhile = true;   ///< no other is both cheaper and closer

  /// False where time ran out before.
  bool fitted() const { return !fit.weights.empty(); }
};

/// A layer that operators can replace.
struct LayerStudy {
  substitute::Target target;
  int64_t macs = 0;  ///< for one sample of the shapes at hand
  int64_t parameters = 0;
  double milliseconds = 0;
  substitute::LinearMap original;  ///< over `geometry.window`
  substitute::PatchGeometry geometry;
  int64_t positions_per_sample = 1;
  std::string input, output;  ///< names of its values

  /// Where the output goes into an addition only: the sum and the other operand. A refit then
  /// aims at the original's sum, so that it makes up for errors that come in beside it.
  std::string sum, other;

  std::vector<CandidateStudy> candidates;  ///< cheapest last
};

struct StudyOptions {
  int64_t fit_samples = 0;
  uint64_t seed = 1;
  bool every_family = false;  ///< keep worthwhile candidates of each family
};

/// The replaceable targets with their traced candidates; `fixed` is the model with the shapes of
/// one sample. Candidates that cannot be fitted linearly are left out.
std::vector<LayerStudy> plan_studies(const graph::Model& model, const graph::Model& fixed,
                                     const std::vector<substitute::Target>& targets,
                                     const StudyOptions& options);

/// The output positions of samples [first, first + count) that the study looks at; always the same
/// for the same samples. `output` has the shape of the layer's output for them.
std::vector<substitute::Position> sample_positions(const LayerStudy& study, const Shape& output,
                                                   int64_t first, uint64_t seed);

/// All output positions.
std::vector<substitute::Position> all_positions(const Shape& output);

/// The same map over a larger window.
substitute::LinearMap widen(const substitute::LinearMap& map, const substitute::Window& window,
                            int64_t channels);

/// What a map makes of an input: a tensor of shape `output`.
Tensor apply_map(const substitute::LinearMap& map, const substitute::PatchGeometry& geometry,
                 const Tensor& input, const Shape& output);

/// Marks the candidates that are not beaten in multiply-accumulates, parameters and error at once.
void mark_worthwhile(LayerStudy& study, bool every_family);

}  // namespace opsmith::search
