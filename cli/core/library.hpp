// Owners of what the C API hands out: problems, explanations, thread pools.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/core/error.hpp"
#include "rapt/rapt.h"

namespace rapt::cli {

class Problem {
 public:
  explicit Problem(const std::string& text);  // throws LibraryError with every violation
  Problem(Problem&&) = default;
  Problem& operator=(Problem&&) = default;
  const rapt_problem* operator->() const { return &value_; }
  const rapt_problem& value() const { return value_; }
  std::string text() const;

 private:
  rapt_problem value_ = RAPT_INIT(rapt_problem);
  std::vector<int64_t> varlen_;  // value_ points into it
};

struct Candidate {
  std::string backend, kernel, reason;
  bool chosen = false;
  bool can_run() const { return !kernel.empty(); }
};

struct Explanation {
  std::string problem;
  std::vector<Candidate> candidates;
  const Candidate* chosen() const;  // null: no backend takes it
  const Candidate* find(const std::string& backend) const;
};

Explanation explain(const Problem& problem, rapt_op op, const rapt_execution* execution);
Explanation explain(const rapt_forward_call& call);
Explanation explain(const rapt_backward_call& call);

struct PoolDeleter {
  void operator()(rapt_executor* executor) const { rapt_pool_destroy(executor); }
};
using Pool = std::unique_ptr<rapt_executor, PoolDeleter>;
Pool make_pool(int num_threads);  // 0: one thread for each core

struct Tier {
  std::string name;
  bool available;
};
std::vector<Tier> cpu_tiers();  // best first
std::string best_cpu_tier();

}  // namespace rapt::cli
