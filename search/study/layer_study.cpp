#include "search/study/layer_study.h"

#include <algorithm>
#include <map>

#include "search/extract.h"
#include "substitute/refit/matrix_product.h"
#include "support/error.h"
#include "support/log.h"
#include "support/random.h"

namespace opsmith::search {

namespace {

using substitute::LayerShape;
using substitute::LinearForm;
using substitute::Position;
using substitute::Window;

/// Patches per element of a patch, for its covariance to be known well; and bounds on their number.
constexpr int64_t kPatchesPerElement = 32;
constexpr int64_t kFewestPatches = 16384;
constexpr int64_t kMostPatches = 65536;
constexpr int64_t kLargestPatch = 4608;
/// Beyond this an operator that looks further than the layer itself is left out: the work of
/// fitting all others grows with the cube of the patch.
constexpr int64_t kLargestWidenedPatch = 512;

/// Finds the addition that alone reads the layer's output.
void find_sum(const graph::Graph& graph, LayerStudy& study) {
  const graph::ValueId output = study.target.output(graph);
  if (graph.is_output(output)) return;
  const std::vector<int32_t> readers = graph.consumers().at(static_cast<size_t>(output));
  if (readers.size() != 1) return;
  const graph::Node& add = graph.nodes.at(static_cast<size_t>(readers.front()));
  if (!add.is("Add") || add.inputs.size() != 2 || add.inputs[0] == add.inputs[1]) return;
  const graph::ValueId other = add.inputs[add.inputs[0] == output ? 1 : 0];
  // Broadcasting or a constant operand would make it a bias, which the fit finds anyway.
  if (graph.constant(other) != nullptr || depends_on(graph, other, output)) return;
  const auto &a = graph.value(other).shape, &b = graph.value(output).shape;
  if (!a || !b || *a != *b) return;
  study.sum = graph.value(add.outputs.front()).name;
  study.other = graph.value(other).name;
}

/// Traces are the same for layers that differ in height and width only.
using TraceCache = std::map<std::string, std::optional<LinearForm>>;

const std::optional<LinearForm>& trace(const substitute::Candidate& candidate,
                                       const LayerShape& shape, TraceCache& cache) {
  const std::string key = expression::print(candidate.program);
  const auto known = cache.find(key);
  if (known != cache.end()) return known->second;
  std::optional<LinearForm> form;
  try {
    form = substitute::linear_form(candidate.program, shape);
  } catch (const Unsupported& error) {
    log_debug("operator " + candidate.name + " is left out: " + error.what());
  }
  return cache.emplace(key, std::move(form)).first->second;
}

}  // namespace

std::vector<LayerStudy> plan_studies(const graph::Model& model, const graph::Model& fixed,
                                     const std::vector<substitute::Target>& targets,
                                     const StudyOptions& options) {
  const std::vector<substitute::Target> fixed_targets = substitute::find_targets(fixed);
  TraceCache cache;
  std::vector<LayerStudy> studies;
  for (size_t t = 0; t < targets.size(); ++t) {
    const substitute::Target& target = targets[t];
    if (!target.replaceable()) continue;
    const substitute::Target& sized = fixed_targets.at(t);
    require(sized.node == target.node, "fixing shapes changed the order of nodes");
    LayerStudy study;
    study.target = target;
    study.macs = sized.macs;
    study.parameters = target.parameters;
    study.input = model.graph.value(target.input(model.graph)).name;
    study.output = model.graph.value(target.output(model.graph)).name;
    find_sum(model.graph, study);

    const int64_t channels = target.shape.input_channels;
    Window window = window_of(target.shape);
    for (substitute::Candidate& candidate : substitute::catalogue(sized.shape)) {
      const std::optional<LinearForm>& form = trace(candidate, sized.shape, cache);
      if (!form) continue;
      const Window united = window.united(form->window());
      const int64_t largest =
          united == window_of(target.shape) ? kLargestPatch : kLargestWidenedPatch;
      if (united.patch_size(channels) > largest) {
        log_debug("operator " + candidate.name + " is left out: too large a window");
        continue;
      }
      window = united;
      CandidateStudy found;
      found.macs = candidate.macs(sized.shape, sized.rows);
      found.parameters = candidate.parameters() + target.shape.output_channels;
      found.family = candidate.name.substr(0, candidate.name.find(' '));
      found.form = *form;
      found.candidate = std::move(candidate);
      if (found.macs < study.macs) study.candidates.push_back(std::move(found));
    }
    if (study.candidates.empty()) continue;
    study.geometry.window = window;
    study.geometry.stride = target.shape.stride;
    study.original = widen(substitute::original_map(model.graph, target), window, channels);
    const int64_t wanted =
        std::clamp(kPatchesPerElement * window.patch_size(channels), kFewestPatches, kMostPatches);
    const int64_t samples = std::max<int64_t>(options.fit_samples, 1);
    study.positions_per_sample = std::max<int64_t>(1, (wanted + samples - 1) / samples);
    studies.push_back(std::move(study));
  }
  return studies;
}

std::vector<Position> all_positions(const Shape& output) {
  std::vector<Position> positions;
  const bool spatial = output.size() == 4;
  const int64_t rows = spatial ? output[2] : 1, columns = spatial ? output[3] : 1;
  const int64_t images = spatial ? output[0] : element_count(output) / output.back();
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t h = 0; h < rows; ++h) {
      for (int64_t w = 0; w < columns; ++w) positions.push_back({n, h, w});
    }
  }
  return positions;
}

std::vector<Position> sample_positions(const LayerStudy& study, const Shape& output, int64_t first,
                                       uint64_t seed) {
  const std::vector<Position> all = all_positions(output);
  const int64_t samples = output.front();
  const int64_t each = static_cast<int64_t>(all.size()) / std::max<int64_t>(samples, 1);
  if (each <= study.positions_per_sample) return all;
  std::vector<Position> chosen;
  for (int64_t s = 0; s < samples; ++s) {
    Random random(seed * 1000003 + static_cast<uint64_t>(first + s) * 7919 +
                  static_cast<uint64_t>(study.target.node));
    // One position from each of as many equal stretches: spread over the image, never twice.
    for (int64_t i = 0; i < study.positions_per_sample; ++i) {
      const int64_t begin = each * i / study.positions_per_sample;
      const int64_t end = each * (i + 1) / study.positions_per_sample;
      chosen.push_back(all[static_cast<size_t>(s * each + random.integer(begin, end - 1))]);
    }
  }
  return chosen;
}

substitute::LinearMap widen(const substitute::LinearMap& map, const Window& window,
                            int64_t channels) {
  substitute::LinearMap result{window, map.outputs, window.patch_size(channels), {}, map.bias};
  result.kernel.assign(static_cast<size_t>(result.outputs * result.patch_size), 0.0f);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t r = map.window.row_begin; r < map.window.row_end; ++r) {
      for (int64_t q = map.window.column_begin; q < map.window.column_end; ++q) {
        const int64_t from = map.window.patch_index({c, r, q}), to = window.patch_index({c, r, q});
        for (int64_t o = 0; o < map.outputs; ++o) {
          result.kernel[static_cast<size_t>(o * result.patch_size + to)] =
              map.kernel[static_cast<size_t>(o * map.patch_size + from)];
        }
      }
    }
  }
  return result;
}

Tensor apply_map(const substitute::LinearMap& map, const substitute::PatchGeometry& geometry,
                 const Tensor& input, const Shape& output) {
  const std::vector<Position> positions = all_positions(output);
  const int64_t count = static_cast<int64_t>(positions.size());
  const std::vector<float> patches = substitute::gather_patches(input, geometry, positions);
  std::vector<float> rows(static_cast<size_t>(count * map.outputs));
  substitute::multiply(
      substitute::MatrixView::row_major(patches.data(), count, map.patch_size),
      substitute::MatrixView::row_major(map.kernel.data(), map.outputs, map.patch_size)
          .transposed(),
      rows.data());
  Tensor result(ElementType::Float32, output);
  const std::span<float> values = result.data<float>();
  const int64_t plane = output.size() == 4 ? output[2] * output[3] : 1;
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t o = 0; o < map.outputs; ++o) {
      values[static_cast<size_t>((p / plane * map.outputs + o) * plane + p % plane)] =
          rows[static_cast<size_t>(p * map.outputs + o)] + map.bias[static_cast<size_t>(o)];
    }
  }
  return result;
}

void mark_worthwhile(LayerStudy& study, bool every_family) {
  for (CandidateStudy& candidate : study.candidates) {
    candidate.worthwhile =
        candidate.fitted() &&
        std::none_of(
            study.candidates.begin(), study.candidates.end(), [&](const CandidateStudy& other) {
              return &other != &candidate && other.fitted() && other.macs <= candidate.macs &&
                     other.parameters <= candidate.parameters &&
                     other.fit_error < candidate.fit_error &&
                     (!every_family || other.family == candidate.family);
            });
  }
}

}  // namespace opsmith::search
