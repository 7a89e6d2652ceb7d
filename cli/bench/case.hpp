// Runs one case of a benchmark on every requested backend, within the remaining time and memory.
#pragma once

#include <map>
#include <memory>

#include "cli/bench/measure.hpp"
#include "cli/bench/tables.hpp"
#include "cli/core/inputs.hpp"
#include "cli/core/report.hpp"

namespace rapt::cli {

struct BenchRow {
  BenchCase which;
  rapt_op op = RAPT_FORWARD;
  std::string device, backend, kernel, dtype;
  bool causal = false;
  int threads = 1;
  std::string simulated;  // the model that forecast the time, "" if it was measured
  std::string left_out;   // why; "" if it was measured
  bool failed = false;    // left out because the call returned an error, although the backend took the problem
  Work work;
  Measurement measured;
  int64_t extra_bytes = 0;

  // "measured", or "simulated (...)" with the model's name.
  std::string origin() const { return simulated.empty() ? "measured" : "simulated (" + simulated + ")"; }
  double tflops() const { return work.flops / measured.ms * 1e-9; }
  double gigabytes() const { return work.bytes / measured.ms * 1e-6; }  // per second
  double peak_fraction() const { return measured.limit_ms / measured.ms_p20; }
};

inline constexpr double kNoBudget = 1e12;  // seconds

struct BenchPlan {
  std::vector<BenchCase> cases;
  std::vector<std::string> backends;  // empty: all that take the problem
  bool every_kernel = false;  // on a GPU, without `backends`: what the tuning table chooses, then every other kernel
  std::vector<rapt_op> ops;
  SamplingRule rule;
  uint64_t seed = 1;
  Layout layout = Layout::compact;
  rapt_device device = kHost;
  double budget = kNoBudget;  // seconds
};

class BenchRunner {
 public:
  BenchRunner(const BenchPlan& plan, const Team& team, Progress& progress);
  std::vector<BenchRow> run(const BenchCase& which);  // a case of the plan; one row per op and backend, in that order

 private:
  struct Tensors;
  struct Entry;
  std::vector<std::string> backends_of(const Problem& problem, rapt_op op) const;
  std::vector<BenchRow> rows_of(const BenchCase& which, const Problem& problem) const;
  void run_op(Tensors& tensors, std::vector<BenchRow*> rows);
  std::string over_budget(const BenchRow& row);
  double rate_guess(const std::string& backend, rapt_op op);
  void reserve_for_the_rest(const BenchCase& current);
  Sampler& sampler(rapt_dtype dtype);
  double left() const;

  const BenchPlan& plan_;
  const Team& team_;
  Progress& progress_;
  double end_;
  double reserved_ = 0;                                  // seconds that the math backend must leave for later cases
  std::map<int, std::unique_ptr<Sampler>> samplers_;     // by dtype
  std::map<std::pair<std::string, int>, double> rates_;  // the last FLOP/s of a backend and op
};

}  // namespace rapt::cli
