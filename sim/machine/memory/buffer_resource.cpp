#include "sim/machine/memory/buffer_resource.hpp"

#include <algorithm>

namespace rapt::sim {

BufferResource buffer_resource(const Wave& w, const Operand& srsrc) {
  u32 words[4];
  for (unsigned n = 0; n < 4; ++n) words[n] = w.sgpr[srsrc.index + n];
  BufferResource r;
  r.base = words[0] | u64{words[1] & 0xffff} << 32;
  r.stride = words[1] >> 16 & 0x3fff;
  r.records = words[2];
  for (unsigned c = 0; c < 4; ++c) r.select[c] = words[3] >> 3 * c & 7;
  r.index_shift = static_cast<u8>(3 + (words[3] >> 21 & 3));
  r.add_tid = words[3] >> 23 & 1;
  r.gfx9 = is_cdna(w.arch);
  if (r.gfx9) {
    r.swizzled = words[1] >> 31;  // by dwords: gfx9 has no ELEMENT_SIZE
    r.number_format = words[3] >> 12 & 7;
    r.data_format = words[3] >> 15 & 15;
  } else {
    r.swizzled = words[1] >> 30 != 0;  // by 4, 8 or 16 bytes
    r.element_shift = static_cast<u8>((words[1] >> 30) + 1);
    r.data_format = words[3] >> 12 & 63;
    r.out_of_bounds = words[3] >> 28 & 3;
  }
  return r;
}

BufferLanes::BufferLanes(Wave& w, const Instruction& i, bool format)
    : wave_(w),
      resource_(buffer_resource(w, i.src[2])),
      idxen_(i.idxen),
      offen_(i.offen),
      inst_offset_(static_cast<u32>(i.offset)),
      soffset_(read_scalar32(w, i.src[3])) {
  if (idxen_) std::copy_n(w.row(i.src[0]), w.lanes, index_);
  if (offen_) std::copy_n(w.row(i.src[0]) + (idxen_ ? w.lanes : 0), w.lanes, offset_);
  if (resource_.gfx9 && resource_.add_tid && !format) resource_.stride |= u32{resource_.data_format} << 14;
  set_limits();
}

template <unsigned L>
bool BufferLanes::linear(u64 lanes, unsigned bytes, Addresses& a) const {
  if (idxen_ || resource_.add_tid || resource_.swizzled) return false;
  if (!resource_.gfx9 && resource_.out_of_bounds != 3) return false;
  const u64 room = resource_.records, taken = u64{soffset_} + bytes;
  if (taken > room) return false;
  const u64 last = room - taken, start = resource_.base + soffset_;
  u64 outside = 0;  // its top bit: an offset is more than `last`
  if (offen_) {
    for (unsigned l = 0; l < L; ++l) a.at[l] = start + (offset_[l] + inst_offset_);
    if (lanes == wave_.all_lanes())
      for (unsigned l = 0; l < L; ++l) outside |= last - (a.at[l] - start);
    else for_lanes(lanes, [&](unsigned l) { outside |= last - (a.at[l] - start); });
  } else {
    outside = last - inst_offset_;
    for (unsigned l = 0; l < L; ++l) a.at[l] = start + inst_offset_;
  }
  return static_cast<std::int64_t>(outside) >= 0;
}
template bool BufferLanes::linear<32>(u64, unsigned, Addresses&) const;
template bool BufferLanes::linear<64>(u64, unsigned, Addresses&) const;

// CDNA ISA documents, "Range Checking"; that the scalar offset counts and that a linear buffer is checked per dword
// follows AMD's rocjitsu, which was checked against gfx950. RDNA: OOB_SELECT 0 is structured, 1 only by index, 2 none
// except for an empty buffer, 3 raw, or structured if swizzled with a stride. The scalar offset counts in a raw buffer,
// as in rocjitsu.
void BufferLanes::set_limits() {
  const BufferResource& r = resource_;
  const auto structured = [&](bool offsets_too) {
    index_limit_ = r.records;
    if (offsets_too) end_limit_ = r.stride;
  };
  const std::int64_t raw = std::int64_t{r.records} - soffset_;
  if (r.gfx9) {
    if (r.add_tid && !idxen_) return;
    if (idxen_ && r.stride != 0) structured(false);
    else end_limit_ = raw;
    return;
  }
  switch (r.out_of_bounds) {
    case 0: structured(true); break;
    case 1: structured(false); break;
    case 2: index_limit_ = r.records != 0 ? ~u64{0} : 0; break;
    default:
      if (r.swizzled && r.stride != 0) structured(true);
      else end_limit_ = raw;
  }
}

u64 BufferLanes::part(u64 lanes, u32 plus, unsigned bytes, Addresses& a) const {
  const BufferResource r = resource_;
  const u64 start = r.base + soffset_;
  const std::int64_t last = end_limit_ - std::int64_t{plus} - bytes;
  u64 inside = 0;
  const auto place = [&](unsigned lane) {
    const u32 index = (idxen_ ? index_[lane] : 0) + (r.add_tid ? lane : 0);
    const u32 first = (offen_ ? offset_[lane] : 0) + inst_offset_;  // wraps at 32 bits
    inside |= static_cast<u64>((index < index_limit_) & (std::int64_t{first} <= last)) << lane;
    const u64 offset = u64{first} + plus;
    u64 within = u64{index} * r.stride + offset;
    if (r.swizzled) {
      const u64 low_index = index & ((1U << r.index_shift) - 1), low_offset = offset & ((1U << r.element_shift) - 1);
      within = ((u64{index >> r.index_shift} * r.stride + (offset - low_offset)) << r.index_shift) +
               (low_index << r.element_shift) + low_offset;
    }
    a.at[lane] = start + within;
  };
  for (unsigned lane = 0; lane < wave_.lanes; ++lane) place(lane);
  return inside & lanes;
}

void BufferLanes::check(const Access& access) const {
  if (is_private()) {
    const u64 own = wave_.scratch_base, size = u64{wave_.scratch_bytes_per_lane} * wave_.lanes;
    u64 outside = 0;
    for_lanes(access.lanes, [&](unsigned lane) {
      if (access.at[lane] - own > size || size - (access.at[lane] - own) < access.bytes) outside |= u64{1} << lane;
    });
    if (outside == 0) return;
    const Allocation* scratch = Memory::process().find(own);
    for_lanes(outside, [&](unsigned lane) {
      if (!scratch || access.at[lane] - scratch->base >= scratch->size) return;
      throw Fault(FaultKind::illegal_address,
                  "private access outside the " + std::to_string(wave_.scratch_bytes_per_lane) + " bytes of a lane",
                  lane, access.at[lane]);
    });
  }
  if (wave_.lanes == 32) check_global<32>(wave_, access);
  else check_global<64>(wave_, access);
}

}  // namespace rapt::sim
