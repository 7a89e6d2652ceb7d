#include "sim/profile/profile.hpp"

#include "sim/machine/memory/flat_access.hpp"

#include <algorithm>
#include <tuple>

namespace rapt::sim {

void Footprint::touch(std::uint64_t address, unsigned bytes) {
  const std::uint64_t last = (address + bytes - 1) >> 6;
  for (std::uint64_t sector = address >> 6; sector <= last; ++sector)
    pages_[sector >> 6] |= std::uint64_t{1} << (sector & 63);
}

void Footprint::merge(const Footprint& other) {
  for (const auto& [page, sectors] : other.pages_) pages_[page] |= sectors;
}

std::uint64_t Footprint::bytes() const {
  std::uint64_t sectors = 0;
  for (const auto& [page, mask] : pages_) sectors += static_cast<unsigned>(std::popcount(mask));
  return sectors * 64;
}

namespace {

// Whether a comes before b among the longest waves.
bool longer(const WaveCounts& a, const WaveCounts& b) {
  return std::tuple(b.cycles, a.group, a.wave) < std::tuple(a.cycles, b.group, b.wave);
}

// Instructions and clocks are kept by the machine itself.
void complete(WaveCounts& counts, const Wave& wave) {
  counts.wave = wave.index;
  counts.cycles = counts.totals.issue = wave.cycles;
  counts.totals.instructions = wave.instructions - wave.skipped;
  counts.totals.clocks = wave.clocks;
}

void add_waves(LaunchCounts& to, const LaunchCounts& from) {
  if (from.wave_count != 0 && (to.wave_count == 0 || longer(from.longest, to.longest))) to.longest = from.longest;
  to.wave_count += from.wave_count;
  to.instructions += from.instructions;
  to.cycles += from.cycles;
  to.waves.insert(to.waves.end(), from.waves.begin(), from.waves.end());
}

}  // namespace

Profile::Profile(const Program& program, std::array<std::uint32_t, 2> groups, LaunchCounts& launch)
    : base_(program.base()), groups_(groups), launch_(launch), slots_(program.slots()) {}

Profile::~Profile() {
  const std::lock_guard lock(launch_.mutex);
  launch_.slots.resize(slots_.size());
  for (std::size_t n = 0; n < slots_.size(); ++n) launch_.slots[n] += slots_[n];
  launch_.footprint.merge(own_.footprint);
  add_waves(launch_, own_);
}

void Profile::begin_group(const Workgroup& group) {
  waves_.assign(group.waves.size(), {});
  const std::uint64_t number = group.id[0] + groups_[0] * (group.id[1] + std::uint64_t{groups_[1]} * group.id[2]);
  for (WaveCounts& wave : waves_) wave.group = number;
}

void Profile::access(Wave& wave, const Instruction& i, const Access& access) {
  const AccessCounts counts = count_access(wave, access);
  MemoryCounts add;
  if (i.opcode->format == Format::smem) {
    add.scalar_bytes = counts.bytes;
  } else if (access.space == Space::lds) {
    add.lds_bytes = counts.bytes;
    add.lds_clocks = counts.lds_clocks;
    add.lds_conflicts = counts.lds_conflicts;
  } else {
    add.bytes = counts.bytes;
    add.sectors32 = counts.sectors32;
    add.sectors64 = counts.sectors64;
  }
  if (access.space == Space::global)
    for_lanes(access.lanes, [&](unsigned lane) { own_.footprint.touch(access.at[lane], access.bytes); });
  slots_[current_].memory += add;
  waves_[wave.index].totals.memory += add;
}

void Profile::end_group(const Workgroup& group) {
  LaunchCounts ended;
  for (const Wave& wave : group.waves) {
    WaveCounts& counts = waves_[wave.index];
    complete(counts, wave);
    if (ended.wave_count++ == 0 || longer(counts, ended.longest)) ended.longest = counts;
    ended.instructions += wave.instructions - wave.skipped;
    ended.cycles += wave.cycles;
    if (counts.group * group.waves.size() + wave.index < LaunchCounts::kept_waves) ended.waves.push_back(counts);
  }
  add_waves(own_, ended);
}

}  // namespace rapt::sim
