#include "cli/core/library.hpp"

#include <algorithm>

namespace rapt::cli {

Problem::Problem(const std::string& text) : varlen_(2 * std::count(text.begin(), text.end(), ':')) {
  check(rapt_problem_parse(text.c_str(), &value_, varlen_.data(), varlen_.size() / 2));
}

std::string Problem::text() const {
  size_t length = 0;
  check(rapt_problem_print(&value_, nullptr, 0, &length));
  std::string text(length + 1, '\0');
  check(rapt_problem_print(&value_, text.data(), text.size(), &length));
  text.resize(length);
  return text;
}

const Candidate* Explanation::chosen() const {
  const auto it = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.chosen; });
  return it == candidates.end() ? nullptr : &*it;
}

const Candidate* Explanation::find(const std::string& backend) const {
  const auto it =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.backend == backend; });
  return it == candidates.end() ? nullptr : &*it;
}

namespace {

Explanation read(rapt_explanation* raw) {
  const std::unique_ptr<rapt_explanation, decltype(&rapt_explanation_free)> owner(raw, rapt_explanation_free);
  Explanation result{rapt_explanation_problem(raw), {}};
  for (size_t i = 0; i < rapt_explanation_count(raw); ++i) {
    const rapt_candidate c = rapt_explanation_candidate(raw, i);
    result.candidates.push_back({c.backend, c.kernel, c.reason, c.chosen != 0});
  }
  return result;
}

}  // namespace

Explanation explain(const Problem& problem, rapt_op op, const rapt_execution* execution) {
  rapt_explanation* raw = nullptr;
  check(rapt_explain_problem(&problem.value(), op, {RAPT_CPU, 0}, execution, &raw));
  return read(raw);
}

Explanation explain(const rapt_forward_call& call) {
  rapt_explanation* raw = nullptr;
  check(rapt_explain(&call, nullptr, &raw));
  return read(raw);
}

Explanation explain(const rapt_backward_call& call) {
  rapt_explanation* raw = nullptr;
  check(rapt_explain(nullptr, &call, &raw));
  return read(raw);
}

Pool make_pool(int num_threads) {
  rapt_executor* executor = nullptr;
  check(rapt_pool_create(num_threads, &executor));
  return Pool(executor);
}

std::vector<Tier> cpu_tiers() {
  std::vector<Tier> tiers;
  int32_t available = 0;
  for (size_t i = 0; const char* name = rapt_cpu_tier(i, &available); ++i) tiers.push_back({name, available != 0});
  return tiers;
}

std::string best_cpu_tier() {
  for (const Tier& tier : cpu_tiers())
    if (tier.available) return tier.name;
  return "portable";
}

}  // namespace rapt::cli
