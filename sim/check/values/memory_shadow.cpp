#include "sim/check/values/memory_shadow.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

// The undefined bits of all lanes' bytes together. `offset_of` gives where a lane's bytes are in `lds`.
template <unsigned Bytes, typename F>
bool any_undefined(const unsigned char* lds, const Access& access, F offset_of) {
  std::uint64_t any = 0;
  for_lanes(access.lanes, [&](unsigned lane) {
    const unsigned char* at = lds + offset_of(access.at[lane]);
    std::uint64_t words[(Bytes + 7) / 8] = {};
    std::memcpy(words, at, Bytes);
    for (const std::uint64_t word : words) any |= word;
  });
  return any != 0;
}

}  // namespace

bool MemoryShadow::all_defined(const Access& access) const {
  if (access.lanes == 0) return true;
  if (access.space == Space::lds) {
    const auto offset_of = [this](std::uint64_t address) { return lds_offset(address); };
    switch (access.bytes) {
      case 1: return !any_undefined<1>(lds_.data(), access, offset_of);
      case 2: return !any_undefined<2>(lds_.data(), access, offset_of);
      case 4: return !any_undefined<4>(lds_.data(), access, offset_of);
      case 8: return !any_undefined<8>(lds_.data(), access, offset_of);
      case 12: return !any_undefined<12>(lds_.data(), access, offset_of);
      default: return !any_undefined<16>(lds_.data(), access, offset_of);
    }
  }
  const Span span = span_of(access);
  if (Memory::process().all_written(span.begin, span.end)) return true;
  bool all = true;
  for_lanes(access.lanes,
            [&](unsigned lane) { all = all && Memory::process().is_written(access.at[lane], access.bytes); });
  return all;
}

std::uint32_t MemoryShadow::bits(Space space, std::uint64_t address, unsigned bytes) const {
  std::uint32_t bits = 0;
  if (space == Space::lds) {
    if (lds_holds(address, bytes)) std::memcpy(&bits, &lds_[lds_offset(address)], bytes);
  } else if (!Memory::process().is_written(address, bytes)) {
    for (unsigned b = 0; b < bytes; ++b)
      if (!Memory::process().is_written(address + b, 1)) bits |= 0xffU << 8 * b;
  }
  return bits;
}

void MemoryShadow::define(const Access& access) {
  if (access.lanes == 0 || access.space == Space::global) return;
  if (access.space == Space::scratch) {
    mark_stored(access);
    return;
  }
  for_lanes(access.lanes, [&](unsigned lane) {
    if (lds_holds(access.at[lane], access.bytes)) std::memset(&lds_[lds_offset(access.at[lane])], 0, access.bytes);
  });
}

void MemoryShadow::set_bits(Space space, std::uint64_t address, unsigned bytes, std::uint32_t undefined) {
  if (space == Space::lds) {
    if (lds_holds(address, bytes)) std::memcpy(&lds_[lds_offset(address)], &undefined, bytes);
  } else if (space == Space::scratch) {
    Memory::process().mark_written(address, bytes);
    for (unsigned b = 0; undefined != 0 && b < bytes; ++b)
      if ((undefined >> 8 * b & 0xff) != 0) Memory::process().mark_unwritten(address + b, 1);
  }
}

}  // namespace rapt::sim
