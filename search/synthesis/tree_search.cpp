#include "search/synthesis/tree_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "search/synthesis/tree_policy.h"
#include "support/error.h"

namespace opsmith::synthesis {

namespace {

nlohmann::json to_json(const RewardStatistics& s) { return {s.visits, s.mean, s.squares}; }

RewardStatistics statistics_of(const nlohmann::json& json) {
  RewardStatistics s;
  s.visits = json.at(0).get<int64_t>();
  s.mean = json.at(1).get<double>();
  s.squares = json.at(2).get<double>();
  return s;
}

}  // namespace

double accuracy_reward(double accuracy, double low, double high) {
  return std::pow((std::max(accuracy, low) - low) / (high - low), 4);
}

struct TreeSearch::Implementation {
  Implementation(const Problem& problem, const Limits& limits, const TreeSearchOptions& options)
      : policy(problem, limits, options), seed(options.seed) {}

  TreePolicy policy;
  uint64_t seed;
  uint64_t tickets = 0;
  std::map<uint64_t, std::vector<TreePolicy::Path>> pending;  ///< by ticket
  std::map<uint64_t, Evaluated> evaluated;                    ///< by ticket
  std::unordered_map<uint64_t, double> rewards;               ///< by formula
  std::map<uint64_t, uint64_t> asked;                         ///< tickets of formulas under way
  std::mutex mutex;
};

TreeSearch::TreeSearch(const Problem& problem, const Limits& limits,
                       const TreeSearchOptions& options)
    : implementation_(std::make_unique<Implementation>(problem, limits, options)) {}

TreeSearch::~TreeSearch() = default;

std::optional<TreeSearch::Ticket> TreeSearch::ask(int descents) {
  Implementation& self = *implementation_;
  const std::lock_guard<std::mutex> lock(self.mutex);
  for (int i = 0; i < descents && !self.policy.exhausted(); ++i) {
    TreePolicy::Path path;
    const StateNode* node = self.policy.descend(path);
    if (node == nullptr) continue;
    const auto found = endings(self.policy.space(), node->state);
    if (found.empty()) {
      self.policy.refuse_end(node->state);
      continue;
    }
    const auto& [match, cost] = found.front();
    const uint64_t hash = formula_hash(node->state, match);
    if (const auto known = self.rewards.find(hash); known != self.rewards.end()) {
      self.policy.finish(path, known->second, false);
      continue;
    }
    self.policy.start(path);
    if (const auto known = self.asked.find(hash); known != self.asked.end()) {
      self.pending[known->second].push_back(std::move(path));  // reached in another way
      continue;
    }
    Ticket ticket{{finish(self.policy.space(), node->state, match), cost}, ++self.tickets};
    self.asked[hash] = ticket.number;
    self.pending[ticket.number].push_back(std::move(path));
    return ticket;
  }
  return std::nullopt;
}

void TreeSearch::tell(const Ticket& ticket, double reward) {
  Implementation& self = *implementation_;
  const std::lock_guard<std::mutex> lock(self.mutex);
  const auto paths = self.pending.find(ticket.number);
  require(paths != self.pending.end(), "a reward for what was not asked");
  for (const TreePolicy::Path& path : paths->second) self.policy.finish(path, reward, true);
  self.pending.erase(paths);
  self.asked.erase(ticket.sample.found.hash);
  self.rewards[ticket.sample.found.hash] = reward;
  self.evaluated[ticket.number] = {ticket.sample.found.hash, reward};
}

std::vector<TreeSearch::Evaluated> TreeSearch::evaluated() const {
  const std::lock_guard<std::mutex> lock(implementation_->mutex);
  std::vector<Evaluated> list;
  for (const auto& [number, evaluated] : implementation_->evaluated) list.push_back(evaluated);
  return list;
}

uint64_t TreeSearch::descents() const {
  const std::lock_guard<std::mutex> lock(implementation_->mutex);
  return implementation_->policy.descents;
}

std::string TreeSearch::save() const {
  Implementation& self = *implementation_;
  const std::lock_guard<std::mutex> lock(self.mutex);
  nlohmann::json nodes = nlohmann::json::array(), moves = nodes, evaluated = nodes;
  for (const auto& [hash, node] : self.policy.nodes) {
    nlohmann::json kinds = nlohmann::json::array();
    for (size_t kind = 0; kind < Move::kinds; ++kind)
      kinds.push_back({to_json(node.kinds[kind]), node.revealed[kind]});
    nodes.push_back({hash, to_json(node.all), to_json(node.end), node.dead, node.refused, kinds});
  }
  for (const auto& [hash, statistics] : self.policy.moves)
    moves.push_back({hash, to_json(statistics)});
  for (const auto& [number, e] : self.evaluated) evaluated.push_back({number, e.hash, e.reward});
  return nlohmann::json{{"version", 1},
                        {"seed", self.seed},
                        {"descents", self.policy.descents},
                        {"tickets", self.tickets},
                        {"nodes", nodes},
                        {"moves", moves},
                        {"evaluated", evaluated}}
      .dump();
}

void TreeSearch::load(const std::string& text) {
  Implementation& self = *implementation_;
  const std::lock_guard<std::mutex> lock(self.mutex);
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("version") != 1 || json.at("seed") != self.seed)
      throw UserError("the saved search is of another version or seed");
    for (const auto& entry : json.at("nodes")) {
      NodeStatistics& node = self.policy.nodes[entry.at(0).get<uint64_t>()];
      node.all = statistics_of(entry.at(1));
      node.end = statistics_of(entry.at(2));
      node.dead = entry.at(3).get<bool>();
      node.refused = entry.at(4).get<bool>();
      for (size_t kind = 0; kind < Move::kinds; ++kind) {
        node.kinds[kind] = statistics_of(entry.at(5).at(kind).at(0));
        node.revealed[kind] = entry.at(5).at(kind).at(1).get<std::vector<int>>();
      }
    }
    for (const auto& entry : json.at("moves"))
      self.policy.moves[entry.at(0).get<uint64_t>()] = statistics_of(entry.at(1));
    for (const auto& entry : json.at("evaluated")) {
      const Evaluated evaluated{entry.at(1).get<uint64_t>(), entry.at(2).get<double>()};
      self.evaluated[entry.at(0).get<uint64_t>()] = evaluated;
      self.rewards[evaluated.hash] = evaluated.reward;
    }
    self.policy.descents = json.at("descents").get<uint64_t>();
    self.tickets = json.at("tickets").get<uint64_t>();
  } catch (const nlohmann::json::exception& error) {
    throw UserError(std::string("the saved search cannot be read: ") + error.what());
  }
}

}  // namespace opsmith::synthesis
