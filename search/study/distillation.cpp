#include "search/study/distillation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "runtime/compiler/peak.h"
#include "search/divergence.h"
#include "search/extract.h"
#include "substitute/refit/distillation/training_graph.h"
#include "support/error.h"
#include "support/log.h"
#include "support/progress.h"
#include "support/timing.h"

namespace opsmith::search {

namespace {

using substitute::LossKind;

std::vector<std::string> real_outputs(const graph::Model& model) {
  std::vector<std::string> names;
  for (const graph::ValueId id : model.graph.outputs) {
    const graph::Value& value = model.graph.value(id);
    if (value.type == ElementType::Float32) names.push_back(value.name);
  }
  return names;
}

/// Rows of scores / temperature become probabilities, mixed with those of the labels.
void to_probabilities(Tensor& scores, double temperature, const int64_t* labels, double weight) {
  const int64_t classes = scores.shape().back();
  float* row = scores.data<float>().data();
  for (int64_t n = 0; n < scores.count() / classes; ++n, row += classes) {
    const float largest = *std::max_element(row, row + classes);
    double total = 0;
    for (int64_t k = 0; k < classes; ++k) total += std::exp((row[k] - largest) / temperature);
    for (int64_t k = 0; k < classes; ++k) {
      double probability = std::exp((row[k] - largest) / temperature) / total;
      if (labels != nullptr) {
        probability = (1 - weight) * probability + (labels[n] == k ? weight : 0.0);
      }
      row[k] = static_cast<float>(probability);
    }
  }
}

double mean_power(const Tensor& outputs) {
  double power = 0;
  for (const float value : outputs.data<float>()) power += static_cast<double>(value) * value;
  return std::max(power / static_cast<double>(std::max<int64_t>(outputs.shape().front(), 1)),
                  1e-30);
}

class Distiller {
 public:
  Distiller(graph::Model& student, const graph::Model& original,
            const std::shared_ptr<schedule::KernelProvider>& provider, const DistillationData& data,
            const DistillationOptions& options)
      : student_(student),
        provider_(provider),
        data_(data),
        options_(options),
        random_(options.seed * 7919 + 17),
        samples_(data.inputs.begin()->second.shape().front()),
        batch_(std::min(batch_size(student, options.batch), samples_)),
        outputs_(real_outputs(original)),
        original_(original, provider, options.threads) {}

  DistillationReport run() {
    const Stopwatch watch;
    report_.loss = to_string(options_.loss);
    report_.held_out.push_back(held_out_divergence());
    // With augmentation the original is asked again for each batch.
    if (!options_.augmentation) answers_ = original_.run(data_.inputs);
    prepare();
    best_ = good_ = copies(parameters_);
    const int64_t steps_per_epoch = samples_ / batch_;
    const int64_t steps = steps_per_epoch * options_.epochs;
    highest_rate_ =
        options_.rate > 0 ? options_.rate : chosen_rate(report_.held_out.front(), steps);
    report_.rate = highest_rate_;
    const int64_t patience =
        options_.patience > 0 ? options_.patience : std::max<int64_t>(2, options_.epochs / 3);
    double best = report_.held_out.front();
    Progress progress("distilling the original into the new network", steps);
    for (int64_t epoch = 1; epoch <= options_.epochs && !ended_; ++epoch) {
      std::vector<int64_t> order = shuffled();
      for (int64_t s = 0; s < steps_per_epoch && !ended_; ++s) {
        double share = static_cast<double>(report_.steps) / static_cast<double>(steps);
        if (options_.seconds > 0) share = std::max(share, watch.seconds() / options_.seconds);
        step({order.begin() + s * batch_, order.begin() + (s + 1) * batch_}, share);
        ended_ = share >= 1 || (options_.stop && options_.stop());
        progress.advance(note(best));
      }
      store(parameters_);
      const double now = held_out_divergence();
      report_.held_out.push_back(now);
      if (!std::isfinite(now)) {
        recover();
        continue;
      }
      good_ = copies(parameters_);
      if (now < best) {
        best = now;
        best_ = copies(parameters_);
        report_.best_epoch = epoch;
      }
      // The high rates of the first half cost accuracy that the second half regains.
      const int64_t since = epoch - std::max(report_.best_epoch, options_.epochs / 2);
      if (since >= patience) break;
    }
    store(best_);
    report_.seconds = watch.seconds();
    finish_report();
    return report_;
  }

 private:
  static int64_t batch_size(const graph::Model& model, int64_t wanted) {
    for (const graph::ValueId id : model.graph.inputs) {
      const auto& shape = model.graph.value(id).shape;
      if (shape && !shape->empty() && shape->front().known()) return *shape->front().size;
    }
    return wanted;
  }

  static std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors) result.push_back(tensor.clone());
    return result;
  }

  void prepare() {
    std::map<std::string, substitute::OutputLoss> losses;
    const Tensors known = answers_.empty() ? data_.held_out_outputs : answers_;
    for (const std::string& name : outputs_) {
      substitute::OutputLoss loss;
      loss.kind = options_.loss;
      loss.temperature = options_.temperature;
      if (known.at(name).rank() < 2) loss.kind = LossKind::RelativeSquares;
      if (loss.kind == LossKind::RelativeSquares) loss.scale = 1 / mean_power(known.at(name));
      losses[name] = loss;
    }
    losses_ = losses;
    training_ =
        substitute::make_training_graph(student_, batch_shapes(data_.inputs, batch_), losses);
    executor::SessionOptions session;
    session.exact = true;  // what is taught is the model itself
    session.threads = options_.threads;
    session.parameters = training_.parameters;
    session_ = std::make_unique<executor::Session>(training_.model, provider_, session);
    for (const std::string& name : training_.parameters) {
      const auto id = student_.graph.find(name);
      parameters_.push_back(student_.graph.constant(*id)->clone());
    }
    optimizer_ = std::make_unique<substitute::Optimizer>(options_.optimizer, parameters_);
  }

  std::vector<int64_t> shuffled() {
    std::vector<int64_t> order(static_cast<size_t>(samples_));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1],
                order[static_cast<size_t>(random_.integer(0, static_cast<int64_t>(i) - 1))]);
    }
    return order;
  }

  void step(const std::vector<int64_t>& chosen, double progress) {
    Tensors feed = pick_samples(data_.inputs, chosen);
    Tensors targets;
    if (options_.augmentation) {
      options_.augmentation(feed, random_);
      targets = original_.run(feed);
    } else {
      targets = pick_samples(answers_, chosen);
    }
    for (const auto& [output, target] : training_.targets) {
      Tensor wanted = targets.at(output);
      if (losses_.at(output).kind == LossKind::Divergence) {
        const bool labelled = data_.labels && output == outputs_.front();
        std::vector<int64_t> labels;
        for (const int64_t i : chosen) {
          if (labelled) labels.push_back(data_.labels->data<int64_t>()[static_cast<size_t>(i)]);
        }
        to_probabilities(wanted, options_.temperature, labelled ? labels.data() : nullptr,
                         options_.label_weight);
      }
      feed[target] = std::move(wanted);
    }
    for (size_t i = 0; i < parameters_.size(); ++i) feed[training_.parameters[i]] = parameters_[i];
    if (options_.profile && report_.steps == 1) report_.profile = session_->profile(feed);
    const Stopwatch watch;
    const Tensors results = session_->run(feed);
    loss_ = static_cast<double>(results.at(training_.loss).data<float>()[0]);
    ++report_.steps;
    if (!std::isfinite(loss_)) return recover();
    std::vector<Tensor> gradients;
    for (const std::string& name : training_.gradients) gradients.push_back(results.at(name));
    optimizer_->step(parameters_, gradients,
                     rate_ * highest_rate_ * substitute::cosine_schedule(progress),
                     options_.threads);
    if (report_.steps > 1) step_seconds_ += watch.seconds();  // the first one compiles
  }

  /// Back to the last weights that were finite, with half the rate.
  void recover() {
    ++report_.recoveries;
    rate_ /= 2;
    parameters_ = copies(good_);
    optimizer_->reset();
    log_debug("a loss was not finite: restored the last good weights and halved the rate");
    if (report_.recoveries > 20) ended_ = true;
  }

  void store(const std::vector<Tensor>& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const auto id = student_.graph.find(training_.parameters[i]);
      student_.graph.value(*id).constant = parameters[i].clone();
    }
  }

  double held_out_divergence() const {
    const Tensors now = BatchRunner(student_, provider_, options_.threads).run(data_.held_out);
    return divergence(now, data_.held_out_outputs, outputs_.front()).relative_l2;
  }

  std::string note(double best) const {
    char text[96];
    std::snprintf(text, sizeof text, "loss %.4f, best held-out divergence %.4f", loss_, best);
    return text;
  }

  void finish_report() {
    if (report_.steps < 2 || step_seconds_ <= 0) return;
    const auto timed = static_cast<double>(report_.steps - 1);
    report_.samples_per_second = timed * static_cast<double>(batch_) / step_seconds_;
    report_.gflops = 2e-9 * static_cast<double>(training_.macs) * timed / step_seconds_;
    const double peak = compiler::measure_peak_flops(schedule::detect_target());
    report_.peak_share = 1e9 * report_.gflops / (peak * options_.threads);
  }

  graph::Model& student_;
  std::shared_ptr<schedule::KernelProvider> provider_;
  const DistillationData& data_;
  const DistillationOptions& options_;
  Random random_;
  int64_t samples_, batch_;
  std::vector<std::string> outputs_;
  BatchRunner original_;
  Tensors answers_;
  std::map<std::string, substitute::OutputLoss> losses_;
  substitute::TrainingGraph training_;
  std::unique_ptr<executor::Session> session_;
  std::unique_ptr<substitute::Optimizer> optimizer_;
  std::vector<Tensor> parameters_, best_, good_;
  DistillationReport report_;
  double loss_ = 0, rate_ = 1, highest_rate_ = 0, step_seconds_ = 0;
  bool ended_ = false;
};

}  // namespace

double chosen_rate(double divergence, int64_t steps) {
  // Fitted to trials on one residual network: 0.05 and 224 steps want 5e-5, 0.09 and 224 steps
  // 3e-4, 0.1 and 660 steps or 0.18 and 330 steps 1e-3.
  const double closeness = divergence / 0.1;
  return std::clamp(1e-3 * closeness * closeness * static_cast<double>(steps) / 750, 3e-5, 1e-3);
}

DistillationReport distill(graph::Model& student, const graph::Model& original,
                           const std::shared_ptr<schedule::KernelProvider>& provider,
                           const DistillationData& data, const DistillationOptions& options) {
  return Distiller(student, original, provider, data, options).run();
}

}  // namespace opsmith::search
