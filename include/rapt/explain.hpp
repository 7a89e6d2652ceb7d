// Explanations: which backend and kernel would run, and why the others would not. Included by rapt.hpp.
#pragma once

#include "rapt/candidate.hpp"
#include "rapt/rapt.hpp"

namespace rapt {
inline namespace api {

struct Explanation {
  std::string problem;
  std::vector<Candidate> candidates;

  // Null if no backend takes the problem.
  const Candidate* chosen() const {
    for (const Candidate& c : candidates)
      if (c.chosen) return &c;
    return nullptr;
  }
};

namespace detail {

inline Explanation take(rapt_explanation* given) {
  Explanation e{rapt_explanation_problem(given), {}};
  for (size_t i = 0; i < rapt_explanation_count(given); ++i) {
    const rapt_candidate c = rapt_explanation_candidate(given, i);
    e.candidates.push_back({c.backend, c.kernel, c.reason, c.chosen != 0});
  }
  rapt_explanation_free(given);
  return e;
}

}  // namespace detail

// Says which backend and kernel would run, and why each other one is refused. Computes nothing.
inline Explanation explain(const Attention& attention, const Tensor& out, const Execution& execution = {}) {
  detail::Structs structs(attention, execution);
  const rapt_forward_call call = structs.forward(out, {});
  rapt_explanation* given = nullptr;
  check(rapt_explain(&call, nullptr, &given));
  return detail::take(given);
}
inline Explanation explain(const Attention& attention, const Tensor& out, const Tensor& lse, const Tensor& dout,
                           const Gradients& gradients, const Execution& execution = {}) {
  detail::Structs structs(attention, execution);
  const rapt_backward_call call = structs.backward(out, lse, dout, gradients);
  rapt_explanation* given = nullptr;
  check(rapt_explain(nullptr, &call, &given));
  return detail::take(given);
}
inline Explanation explain(const Problem& problem, rapt_op op = RAPT_FORWARD, const Execution& execution = {},
                           rapt_device device = {RAPT_CPU, 0}) {
  const rapt_problem c = problem.c();
  const rapt_execution how = detail::c(execution);
  rapt_explanation* given = nullptr;
  check(rapt_explain_problem(&c, op, device, &how, &given));
  return detail::take(given);
}

// An instruction tier of the cpu backend, and whether this machine runs it.
struct CpuTier {
  std::string name;
  bool available;
};

// Best first.
inline std::vector<CpuTier> cpu_tiers() {
  std::vector<CpuTier> tiers;
  int32_t available = 0;
  for (size_t i = 0; const char* name = rapt_cpu_tier(i, &available); ++i) tiers.push_back({name, available != 0});
  return tiers;
}

}  // namespace api
}  // namespace rapt
