#include "cli/bench/measure.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::cli {

namespace {

constexpr double kLeastSample = 200e-6;  // seconds: shorter calls are repeated within a sample
constexpr double kWarmUp = 20e-3;
constexpr double kProbe = 1e-3, kReadProbe = 3e-3;  // well under 5 ms, so that the call after it sees the same machine

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
}

struct Series {
  Contender* contender;
  int repeats;                              // calls in a sample
  std::vector<double> calls, peaks, reads;  // seconds a call, seconds a FLOP, seconds a byte
  double spent = 0;

  bool done(const SamplingRule& rule) const {
    if (rule.iterations > 0) return static_cast<int>(calls.size()) >= rule.iterations;
    if (calls.empty()) return false;
    if (spent >= rule.most_seconds) return true;
    return static_cast<int>(calls.size()) >= rule.samples && spent >= rule.least_seconds;
  }
};

// A long call has few samples, so it gets several probes each: their percentile must be meaningful.
void probe(Series& s, PeakProbe& peak, ReadProbe* read) {
  if (s.contender->on_gpu) return;
  constexpr double kCallForEachProbe = 10e-3;
  constexpr int kMostProbes = 8;
  const int probes = std::clamp(static_cast<int>(s.contender->warm_up_seconds / kCallForEachProbe), 1, kMostProbes);
  for (int i = 0; i < probes; ++i) {
    s.peaks.push_back(1 / peak.sample(kProbe));
    if (read) s.reads.push_back(1 / read->sample(kReadProbe));
  }
}

void take_sample(Series& s, PeakProbe& peak, ReadProbe* read) {
  const double begin = seconds_now();
  probe(s, peak, read);
  const double start = seconds_now();
  for (int i = 0; i < s.repeats; ++i) s.contender->call();
  if (s.contender->finish) s.contender->finish();
  const double end = seconds_now();
  s.calls.push_back((end - start) / s.repeats);
  s.spent += end - begin;
}

Measurement summarise(const Series& s, const Work& work) {
  Measurement m;
  m.samples = static_cast<int>(s.calls.size());
  m.ms = percentile(s.calls, 0.5) * 1e3;
  m.ms_p20 = percentile(s.calls, 0.2) * 1e3;
  if (s.peaks.empty()) return m;
  const double per_flop = percentile(s.peaks, 0.2);
  m.peak_flops = 1 / per_flop;
  m.limit_ms = work.flops * per_flop * 1e3;
  if (s.reads.empty()) return m;
  const double per_byte = percentile(s.reads, 0.2);
  m.peak_bytes = 1 / per_byte;
  m.memory_limited = work.bytes * per_byte * 1e3 >= m.limit_ms;
  m.limit_ms = std::max(m.limit_ms, work.bytes * per_byte * 1e3);
  return m;
}

}  // namespace

void warm_up(Contender& contender, const SamplingRule& rule) {
  double elapsed = 0;
  int calls = 0;
  do {
    const double start = seconds_now();
    contender.call();
    if (contender.finish) contender.finish();
    contender.warm_up_seconds = seconds_now() - start;
    elapsed += contender.warm_up_seconds;
  } while (rule.warm_up_calls > 0 ? ++calls < rule.warm_up_calls : elapsed < kWarmUp);
}

double estimated_seconds(double call_seconds, const SamplingRule& rule) {
  const double warming = rule.warm_up_calls > 0 ? rule.warm_up_calls * call_seconds : std::max(call_seconds, kWarmUp);
  if (rule.iterations > 0) return warming + rule.iterations * (call_seconds + kProbe);
  if (call_seconds >= rule.most_seconds) return call_seconds;  // its first call is its sample
  const double sampling = std::clamp(rule.samples * (call_seconds + kProbe), rule.least_seconds, rule.most_seconds);
  return warming + std::max(call_seconds, sampling);
}

void Sampler::measure(const std::vector<Contender*>& contenders, const Work& work, const SamplingRule& rule) {
  const bool any_host =
      !std::all_of(contenders.begin(), contenders.end(), [](const Contender* c) { return c->on_gpu; });
  if (work.bytes > 0 && any_host && !read_) read_ = std::make_unique<ReadProbe>(team_);
  std::vector<Series> series;
  for (Contender* c : contenders) {
    const double repeats = rule.iterations > 0 ? 1 : std::ceil(kLeastSample / std::max(c->warm_up_seconds, 1e-9));
    series.push_back({c, static_cast<int>(repeats), {}, {}, {}});
    if (rule.iterations > 0 || c->warm_up_seconds < rule.most_seconds) continue;
    series.back().calls.push_back(c->warm_up_seconds);
    series.back().spent = c->warm_up_seconds;
    probe(series.back(), peak_, work.bytes > 0 ? read_.get() : nullptr);
  }
  for (bool active = true; active;) {
    active = false;
    for (Series& s : series) {
      if (s.done(rule)) continue;
      take_sample(s, peak_, work.bytes > 0 ? read_.get() : nullptr);
      active = true;
    }
  }
  for (const Series& s : series) s.contender->result = summarise(s, work);
}

}  // namespace rapt::cli
