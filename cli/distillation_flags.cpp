#include "cli/distillation_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/common.h"
#include "support/error.h"
#include "support/tensor_files.h"

namespace opsmith::cli {

void add_distillation_flags(CLI::App& command, DistillationFlags& flags) {
  search::DistillationOptions& options = flags.options;
  const std::string group = "Distillation";
  command
      .add_option("--distill-epochs", options.epochs,
                  "Train all weights to give the original's outputs, this often over the "
                  "calibration inputs (0: only fit layer by layer)")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--distill-rate", options.rate,
                  "Highest rate of the cosine schedule (0: chosen from the divergence)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(group);
  command.add_option("--distill-batch", options.batch, "Samples of one step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->group(group);
  command.add_option("--optimizer", flags.optimizer, "adam or sgd")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--distill-loss", flags.loss,
                  "l2 (relative squared error of the outputs) or kl (Kullback-Leibler divergence "
                  "of class probabilities)")
      ->capture_default_str()
      ->group(group);
  command.add_option("--temperature", options.temperature, "Softens the probabilities of kl")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  command.add_flag("--flip", flags.flip, "Mirror half of the images")->group(group);
  command.add_option("--shift", flags.shift, "Shift images by up to this many pixels")
      ->check(CLI::Range(0, 1024))
      ->group(group);
}

search::DistillationOptions distillation_options(const DistillationFlags& flags) {
  search::DistillationOptions options = flags.options;
  options.optimizer = substitute::parse_optimizer(flags.optimizer);
  if (flags.loss == "kl") {
    options.loss = substitute::LossKind::Divergence;
  } else if (flags.loss != "l2") {
    throw UserError("'" + flags.loss + "' is no loss; there are l2 and kl");
  }
  options.augmentation = search::image_augmentation(flags.flip, flags.shift);
  return options;
}

std::string describe(const search::DistillationReport& report) {
  const double best = *std::min_element(report.held_out.begin(), report.held_out.end());
  std::string text = "distilled by " + report.loss + " in " + fixed(report.seconds, 1) +
                     " s: held-out divergence " + fixed(report.held_out.front(), 4) + " -> " +
                     fixed(best, 4) + " in epoch " + std::to_string(report.best_epoch) + " of " +
                     std::to_string(report.held_out.size() - 1) + ", " +
                     fixed(report.samples_per_second, 0) + " samples/s, " +
                     fixed(report.gflops, 1) + " GFLOP/s (" + fixed(100 * report.peak_share, 1) +
                     " % of peak)";
  if (report.recoveries > 0) {
    text += ", rate halved " + std::to_string(report.recoveries) + " times";
  }
  return text;
}

Tensor load_labels(const std::string& text) {
  const TensorSource source = parse_tensor_source(text);
  const std::vector<std::string> name{"labels"};
  Tensor labels = load_tensors(source, name).at("labels");
  if (labels.rank() != 1) {
    throw UserError("'" + source.path + "' holds a tensor of shape " + to_string(labels.shape()) +
                    "; labels are one class number per sample, shape [N]");
  }
  return labels.type() == ElementType::Int64 ? labels : labels.cast(ElementType::Int64);
}

}  // namespace opsmith::cli
