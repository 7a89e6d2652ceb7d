// Times calls relative to the machine's peak: short samples of all backends in turn, a probe of the peak before each,
// and percentiles of both. On a shared machine, averages over a whole run depend more on other processes than on the
// code.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cli/probe/peak.hpp"

namespace rapt::cli {

struct Work {
  double flops = 0;
  double bytes = 0;  // that must be read from memory; 0: memory does not limit the case
};

struct Measurement {
  int samples = 0;
  double ms = 0, ms_p20 = 0;  // median and 20th percentile of one call
  double peak_flops = 0;      // per second: the 80th percentile of the interleaved probes
  double peak_bytes = 0;
  double limit_ms = 0;  // the least time that the probed machine needs, for arithmetic or memory; 0: not probed
  bool memory_limited = false;
};

struct Contender {
  std::function<void()> call;
  std::function<void()> finish;  // waits for asynchronous calls; empty if there are none
  bool on_gpu = false;           // then the probes of the host's peak do not apply
  double warm_up_seconds = 0;    // set by warm_up
  Measurement result;
};

struct SamplingRule {
  int samples = 30;  // enough, if `least_seconds` are over too
  double least_seconds = 0.3;
  double most_seconds = 1;  // of sampling; for a longer call, the first run is the only sample
  int warm_up_calls = 0;    // 0: until the caches, the clock and the allocator have settled
  int iterations = 0;       // this many samples of one call each, however long they take; 0: by the numbers above
};

// The first calls, at least one.
void warm_up(Contender& contender, const SamplingRule& rule);

// The time to measure a call of this length, including warm-up.
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
