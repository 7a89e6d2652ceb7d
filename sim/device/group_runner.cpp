#include "sim/device/group_runner.hpp"

#include "sim/memory/memory.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/machine/core/run.hpp"
#include "sim/profile/profile.hpp"
#include "sim/profile/trace.hpp"
#include "sim/timing/recorder.hpp"

#include <algorithm>

namespace rapt::sim {

GroupRunner::GroupRunner(const LaunchSetup& setup, const Program& program, std::uint64_t scratch_base,
                         std::uint64_t scratch_offset, Watchers watchers)
    : setup_(setup), scratch_base_(scratch_base), scratch_offset_(scratch_offset), watchers_(watchers) {
  group_.program = &program;
  group_.lds.resize((setup.lds_bytes() + 511) / 512 * 512);
}

void GroupRunner::begin(std::array<std::uint32_t, 3> id, std::uint64_t seed, timing::Recorder* recorder) {
  group_.id = id;
  // Registers start at a cache line of the host: a row is one or more whole lines.
  constexpr std::size_t line = 64 / sizeof(std::uint32_t);
  registers_.resize(setup_.registers_per_group() + line);
  auto* aligned = registers_.data();
  while (reinterpret_cast<std::uintptr_t>(aligned) % 64 != 0) ++aligned;
  setup_.start(group_, aligned, scratch_base_, scratch_offset_);
  if (check_options().any()) {
    // Private memory that a previous group wrote counts as unwritten for this one.
    Memory::process().mark_unwritten(scratch_base_ + scratch_offset_,
                                     setup_.scratch_bytes_per_wave() * setup_.waves_per_group());
    checks_ = std::make_unique<Checks>(check_options(), group_, watchers_.races);
  }
  group_.observers.clear();
  if (watchers_.trace && watchers_.trace->follows(id)) group_.observers.push_back(watchers_.trace);
  if (watchers_.profile) {
    watchers_.profile->begin_group(group_);
    group_.observers.push_back(watchers_.profile);
  }
  if (checks_) group_.observers.push_back(checks_.get());
  if (recorder) group_.observers.push_back(recorder);
  group_.checked = checks_ != nullptr;
  next_ = 0;
  random_order_ = seed != 0;
  random_.seed(seed ^ (id[0] + (std::uint64_t{id[1]} << 20) + (std::uint64_t{id[2]} << 40)));
}

bool GroupRunner::turn(Wave& wave, std::uint64_t quantum, std::uint64_t wave_limit, std::uint64_t& spent) {
  if (wave.state == WaveState::sleeping) wave.state = WaveState::running;
  if (wave.state != WaveState::running) return false;
  spent += run_wave(wave, quantum);
  if (wave.instructions > wave_limit)
    throw Fault(FaultKind::endless, "wave " + std::to_string(wave.index) + " of workgroup (" +
                                        std::to_string(group_.id[0]) + ", " + std::to_string(group_.id[1]) + ", " +
                                        std::to_string(group_.id[2]) + ") ran " + std::to_string(wave.instructions) +
                                        " instructions without an end");
  return true;
}

bool GroupRunner::advance(std::uint64_t budget, std::uint64_t wave_limit) {
  // On hardware waves run at the same time, and kernels that AMD ships rely on it: none may run far ahead. One of
  // aiter's GEMMs overwrites LDS 22 instructions after a barrier that other waves have just left to read it.
  constexpr std::uint64_t short_turn = 16;
  std::uint64_t spent = 0;
  while (group_.live_waves > 0 && spent < budget) {
    bool any = false;
    if (random_order_) next_ = random_() % group_.waves.size();
    for (std::size_t n = 0; n < group_.waves.size(); ++n) {
      Wave& wave = group_.waves[(next_ + n) % group_.waves.size()];
      any |= turn(wave, random_order_ ? 1 + random_() % 64 : short_turn, wave_limit, spent);
    }
    if (!any && group_.live_waves > 0)
      throw Fault(FaultKind::endless, "every wave of workgroup (" + std::to_string(group_.id[0]) + ", " +
                                          std::to_string(group_.id[1]) + ", " + std::to_string(group_.id[2]) +
                                          ") waits at a barrier that none can complete");
  }
  if (group_.live_waves > 0) return false;
  if (watchers_.profile) watchers_.profile->end_group(group_);
  return true;
}

std::uint64_t GroupRunner::instructions() const {
  std::uint64_t sum = 0;
  for (const Wave& wave : group_.waves) sum += wave.instructions;
  return sum;
}

std::uint64_t GroupRunner::longest_wave() const {
  std::uint64_t longest = 0;
  for (const Wave& wave : group_.waves) longest = std::max(longest, wave.cycles);
  return longest;
}

std::array<std::uint64_t, pipe_count> GroupRunner::clocks() const {
  std::array<std::uint64_t, pipe_count> sums{};
  for (const Wave& wave : group_.waves)
    for (unsigned p = 0; p < pipe_count; ++p) sums[p] += wave.clocks[p];
  return sums;
}

}  // namespace rapt::sim
