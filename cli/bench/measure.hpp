// Times calls against what the machine can do: short samples of every contender in turn, a probe of the peak before
// each, and percentiles of both. On a shared machine whole-run averages say more about the neighbours than the code.
#pragma once

#include <memory>
#include <functional>
#include <vector>

#include "cli/probe/peak.hpp"

namespace rapt::cli {

struct Work {
  double flops = 0;
  double bytes = 0;  // read from memory at least once; 0: not a case that memory limits
};

struct Measurement {
  int samples = 0;
  double ms = 0, ms_p20 = 0;  // median and 20th percentile of one call
  double peak_flops = 0;      // 80th percentiles of the interleaved probes, a second
  double peak_bytes = 0;
  double limit_ms = 0;  // the least that the probed machine could take: arithmetic or memory; 0: not probed
  bool memory_limited = false;
};

struct Contender {
  std::function<void()> call;
  std::function<void()> finish;  // waits for calls that return before they are done; empty where none does
  bool on_gpu = false;           // then the probes of the host's peak say nothing
  double warm_up_seconds = 0;    // set by warm_up
  Measurement result;
};

struct SamplingRule {
  int samples = 30;  // enough, if also
  double least_seconds = 0.3;
  double most_seconds = 1;  // of sampling; a call as long as this is measured by its first run alone
};

// The first calls: until the caches, the clock and the allocator have settled, at least once.
void warm_up(Contender& contender);

// What measuring a call of this length will take, warm-up included.
double estimated_seconds(double call_seconds, const SamplingRule& rule);

class Sampler {
 public:
  Sampler(const Team& team, rapt_dtype dtype) : peak_(team, dtype), team_(team) {}
  double peak_flops_now() { return peak_.sample(2e-3); }
  void measure(const std::vector<Contender*>& contenders, const Work& work, const SamplingRule& rule);

 private:
  PeakProbe peak_;
  const Team& team_;
  std::unique_ptr<ReadProbe> read_;  // made when a case first needs it
};

}  // namespace rapt::cli
