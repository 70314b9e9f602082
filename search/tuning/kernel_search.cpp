#include "search/tuning/kernel_search.h"

#include <algorithm>

#include "support/error.h"
#include "support/progress.h"

namespace opsmith::search {
namespace {

using schedule::KernelChoice;

/// A candidate this much slower is not measured to the end.
constexpr double kHopeless = 1.3;
/// A winner must be this much faster than the rule's choice.
constexpr double kWorthwhile = 0.985;

std::string key_of(const KernelChoice& choice) {
  return choice.variant.name + ' ' + to_json(joined(choice.schedule));
}

/// Time of `candidate` over time of `yardstick`, measured in turns.
double ratio(const std::function<void()>& candidate, const std::function<void()>& yardstick,
             int min_runs, double seconds) {
  TimingOptions timing;
  timing.warmup = 1;
  timing.min_runs = min_runs;
  timing.max_runs = 200;
  timing.seconds = seconds;
  const std::vector<TimingSummary> times = measure_interleaved({candidate, yardstick}, timing);
  return times[0].median / times[1].median;
}

}  // namespace

KernelSearch::KernelSearch(const schedule::KernelProblem& problem,
                           std::shared_ptr<schedule::KernelProvider> provider,
                           schedule::ScheduleDatabase& database, schedule::Target target,
                           const schedule::ChoiceRules& rules, uint64_t seed)
    : problem_(problem),
      database_(database),
      target_(std::move(target)),
      rules_(rules),
      bench_(problem, std::move(provider), target_),
      random_(seed),
      key_(schedule::kernel_key(problem.program, problem.layouts, target_)),
      how_(std::to_string(target_.threads) + " threads, weights cold, in turns") {
  rules_.library = nullptr;
  for (const schedule::ScheduleRow& row : database.find_exactly(key_)) {
    known_[row.variant + ' ' + to_json(row.schedule)] = row.seconds;
  }
}

bool KernelSearch::start() {
  if (run_rule_) return true;
  rule_ = choose_kernel(problem_.program, problem_.layouts, target_, rules_);
  run_rule_ = bench_.runnable(rule_);
  best_choice_ = rule_;
  const auto known = known_.find(key_of(rule_));
  if (known != known_.end()) {
    rule_seconds_ = known->second;
  } else {
    TimingOptions timing;
    timing.warmup = 2;
    timing.min_runs = 7;
    timing.max_runs = 200;
    timing.seconds = 0.1;
    rule_seconds_ = measure(run_rule_, timing).median;
    note(rule_, rule_seconds_, how_ + ", by rule");
  }
  best_seconds_ = rule_seconds_;
  for (const TuningPoint& point : starting_points(problem_, target_, rules_)) {
    if (auto choice = choice_at(point, problem_, target_)) {
      if (point.variant == rule_.variant.name) best_point_ = point;
      waiting_.push_back({std::move(*choice), point});
    }
  }
  std::reverse(waiting_.begin(), waiting_.end());
  return true;
}

void KernelSearch::note(const KernelChoice& choice, double seconds, const std::string& how) {
  known_[key_of(choice)] = seconds;
  database_.add(key_, {choice.variant.name, joined(choice.schedule), seconds, how,
                       schedule::kScheduleVersion});
}

std::optional<double> KernelSearch::seconds_of(const KernelChoice& choice) {
  if (const auto known = known_.find(key_of(choice)); known != known_.end()) return known->second;
  std::function<void()> run;
  try {
    run = bench_.runnable(choice);
  } catch (const UserError&) {
    return std::nullopt;
  }
  ++measured_;
  double relative = ratio(run, run_rule_, 3, 0);
  if (relative < kHopeless) relative = ratio(run, run_rule_, 9, 0.06);
  note(choice, relative * rule_seconds_, how_);
  return relative * rule_seconds_;
}

bool KernelSearch::consider(Candidate candidate) {
  const auto seconds = seconds_of(candidate.choice);
  if (!seconds || *seconds >= best_seconds_) return false;
  best_seconds_ = *seconds;
  best_choice_ = std::move(candidate.choice);
  best_point_ = candidate.point;
  return true;
}

void KernelSearch::run(double seconds) {
  const Stopwatch watch;
  if (!start()) return;
  while (!interrupted() && !exhausted() && watch.seconds() < seconds) {
    if (!waiting_.empty()) {
      Candidate candidate = std::move(waiting_.back());
      waiting_.pop_back();
      consider(std::move(candidate));
      continue;
    }
    if (!best_point_) {
      failures_ = kMostFailures;
      break;
    }
    const TuningPoint point = neighbour(*best_point_, problem_, target_, random_);
    auto choice = choice_at(point, problem_, target_);
    failures_ = choice && consider({std::move(*choice), point}) ? 0 : failures_ + 1;
  }
}

void KernelSearch::confirm() {
  if (!run_rule_ || key_of(best_choice_) == key_of(rule_)) return;
  const double relative = ratio(bench_.runnable(best_choice_), run_rule_, 15, 0.2);
  best_seconds_ = relative * rule_seconds_;
  if (relative > kWorthwhile) {
    // Not better than chance: the rule's choice shall be found first.
    note(best_choice_, std::max(best_seconds_, rule_seconds_ * 1.001), how_);
    best_choice_ = rule_;
    best_seconds_ = rule_seconds_;
    // Others that seemed better were no better than this one.
    for (const auto& row : database_.find_exactly(key_)) {
      if (row.seconds >= rule_seconds_) break;
      schedule::ScheduleRow slower = row;
      slower.seconds = rule_seconds_ * 1.001;
      database_.add(key_, slower);
    }
    return;
  }
  note(best_choice_, best_seconds_, how_);
}

}  // namespace opsmith::search
