#include "cli/probe/peak.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/core/machine.hpp"
#include "cli/inputs/dtype.hpp"

namespace rapt::cli {

namespace {

constexpr int64_t kTasksPerThread = 8;  // a thread that is held up loses its share to other threads, as in a kernel

struct Choice {
  const char* tier;  // of the library, which a build may have without the tiers below it
  bool bf16_only;
  const PeakLoop* loop;
  const char* loop_tier;
};

const Choice& choose(rapt_dtype dtype) {
  static const Choice kChoices[] = {
      {"portable", false, &kPortableFma, "portable"},
#if defined(__x86_64__)
      {"amx_bf16", true, &kAmxBf16Dot, "amx_bf16"},
      {"amx_bf16", false, &kAvx512Fma, "avx512"},
      {"avx512_bf16", true, &kAvx512Bf16Dot, "avx512_bf16"},
      {"avx512_bf16", false, &kAvx512Fma, "avx512"},
      {"avx512", false, &kAvx512Fma, "avx512"},
      {"avx2", false, &kAvx2Fma, "avx2"},
#endif
  };
  for (const CpuTier& tier : cpu_tiers())
    for (const Choice& choice : kChoices)
      if (tier.available && tier.name == choice.tier && (same(dtype, kBf16) || !choice.bf16_only)) return choice;
  return kChoices[0];
}

}  // namespace

PeakProbe::PeakProbe(const Team& team, rapt_dtype dtype) : PeakProbe(team, *choose(dtype).loop) {}

PeakProbe::PeakProbe(const Team& team, const PeakLoop& loop) : team_(team), loop_(loop) {
  constexpr int64_t kFirst = 20000;
  const double start = seconds_now();
  loop_.run(kFirst);
  rate_ = kFirst / (seconds_now() - start);
}

double PeakProbe::sample(double seconds) {
  const int64_t tasks = team_.size() == 1 ? 1 : kTasksPerThread * team_.size();
  const double per_thread = static_cast<double>(tasks) / team_.size();
  const auto iterations = std::max<int64_t>(1000, static_cast<int64_t>(rate_ * seconds / per_thread));
  const double start = seconds_now();
  team_.run(tasks, [&](int64_t) { loop_.run(iterations); });
  const double elapsed = seconds_now() - start;
  rate_ = static_cast<double>(iterations) * per_thread / elapsed;
  return rate_ * team_.size() * loop_.flops_per_iteration;
}

std::vector<Peak> probed_peaks(const Team& team) {
  const auto best = [&](const PeakLoop& loop) {
    PeakProbe probe(team, loop);
    double most = 0;
    for (int i = 0; i < 10; ++i) most = std::max(most, probe.sample(2e-3));
    return most;
  };
  const Choice &fp32 = choose(kFp32), &bf16 = choose(kBf16);
  std::vector<Peak> peaks = {{fmt::format("fp32 ({})", fp32.loop_tier), best(*fp32.loop)},
                             {fmt::format("bf16 ({})", bf16.loop_tier), best(*bf16.loop)}};
#if defined(__x86_64__)
  if (bf16.loop == &kAmxBf16Dot) peaks.push_back({"bf16 with operands from L2", best(kAmxBf16DotFar)});
#endif
  return peaks;
}

ReadProbe::ReadProbe(const Team& team)
    : team_(team), memory_(kUint8, {std::max<int64_t>(4 * machine().last_level_cache, int64_t{64} << 20)}) {
  rate_ = 10e9;
  sample(2e-3);
}

double ReadProbe::sample(double seconds) {
  constexpr int64_t kChunk = int64_t{1} << 20;
  const int64_t chunks =
      std::clamp<int64_t>(static_cast<int64_t>(rate_ * seconds) / kChunk, team_.size(), memory_.bytes() / kChunk);
  const double start = seconds_now();
  team_.run(chunks, [&](int64_t i) {
    const int64_t offset = (at_ + i * kChunk) % (memory_.bytes() - kChunk);
    read_memory(memory_.data() + offset / kChunk * kChunk, kChunk);
  });
  rate_ = static_cast<double>(chunks * kChunk) / (seconds_now() - start);
  at_ = (at_ + chunks * kChunk) % (memory_.bytes() - kChunk);
  return rate_;
}

}  // namespace rapt::cli
