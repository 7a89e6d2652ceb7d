#include "sim/device/standstill.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

// Hands out the group's state piece by piece, what differs most often first, until `take` returns false.
template <typename Take>
bool each_piece(const Workgroup& group, Take take) {
  const auto value = [&](const auto& v) { return take(&v, sizeof v); };
  for (const Wave& w : group.waves)
    if (!value(w.pc) || !value(w.state) || !value(w.scc) || !value(w.mode) || !value(w.sgpr)) return false;
  if (!value(group.barrier.members) || !value(group.barrier.signalled)) return false;
  for (const Wave& w : group.waves) {
    const std::uint64_t phases = group.barrier.phase - w.barrier_phase;
    const std::size_t row = w.lanes * sizeof *w.vgpr;
    if (!value(w.status) || !value(w.trapsts) || !value(phases) || !take(w.vgpr, w.vgpr_count * row) ||
        !take(w.vgpr + std::size_t{w.first_agpr} * w.lanes, w.agpr_count * row) ||
        !take(reinterpret_cast<const void*>(w.scratch_base), std::size_t{w.scratch_bytes_per_lane} * w.lanes))
      return false;
  }
  return take(group.lds.data(), group.lds.size());
}

std::vector<std::byte> state_of(const Workgroup& group) {
  std::vector<std::byte> state;
  each_piece(group, [&](const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    state.insert(state.end(), begin, begin + bytes);
    return true;
  });
  return state;
}

bool is_in(const std::vector<std::byte>& state, const Workgroup& group) {
  auto at = state.begin();
  return each_piece(group, [&](const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    const bool same = std::equal(begin, begin + bytes, at);
    at += static_cast<std::ptrdiff_t>(bytes);
    return same;
  });
}

}  // namespace

std::uint64_t Standstill::rounds(const Workgroup& group, std::uint64_t instructions, std::uint64_t effects) {
  // Data on its way to LDS is part of no state here.
  const auto none_arrives = [](const Wave& wave) { return wave.lds_arrivals.empty(); };
  if (!std::all_of(group.waves.begin(), group.waves.end(), none_arrives)) return 0;
  if (instructions >= next_) {
    state_ = state_of(group);
    instructions_ = instructions;
    effects_ = effects;
    next_ = 2 * instructions;
    return 0;
  }
  return !state_.empty() && effects == effects_ && is_in(state_, group) ? instructions - instructions_ : 0;
}

}  // namespace rapt::sim
