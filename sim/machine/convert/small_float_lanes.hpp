// Reads sources and writes results of the conversions of small floats, one lane at a time.
#pragma once

#include "sim/machine/packed/lanes.hpp"
#include "sim/machine/convert/small_float_narrow.hpp"

namespace rapt::sim::packed {

// Source k's dword `dword` as f32 bits, with neg, abs and flushing.
template <unsigned N>
inline const std::uint32_t* f32_source(Wave& w, const Instruction& i, unsigned k, unsigned dword, Row<N>& scratch) {
  const std::uint32_t* row = word_source<N>(w, i, k, dword, scratch);
  const std::uint32_t keep = (i.abs >> k & 1) != 0 ? 0x7fffffff : 0xffffffff,
                      flip = (i.neg >> k & 1) != 0 ? 0x80000000 : 0;
  const bool flushes = !valu::keeps_denormals(w, valu::info<valu::f32>(), valu::Direction::input);
  if (keep == 0xffffffff && flip == 0 && !flushes) return row;
  for (unsigned l = 0; l < N; ++l) scratch[l] = (row[l] & keep) ^ flip;
  if (flushes) flush<N>(valu::format_f32, scratch);
  return scratch.data();
}

template <unsigned N>
inline std::uint64_t written_lanes(const Wave& w, const Instruction& i) {
  return i.lane_map == LaneMap::none || i.lane_map == LaneMap::sdwa ? w.exec() : valu::enabled_lanes<N>(w, i);
}

// Puts `bits` bits of each lane at bit `at` of the destination, leaving the rest.
template <unsigned N>
inline void write_bits(Wave& w, const Instruction& i, unsigned at, unsigned bits, Row<N>& values) {
  std::uint32_t* const to = w.row(i.dst);
  const std::uint32_t mask = ((bits == 32 ? 0 : 1U << bits) - 1) << at;
  for (unsigned l = 0; l < N; ++l) values[l] = (to[l] & ~mask) | (values[l] << at & mask);
  valu::write_row<N>(to, values.data(), written_lanes<N>(w, i));
}

}  // namespace rapt::sim::packed
