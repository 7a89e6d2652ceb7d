// DS instructions that move values between lanes without touching LDS.
#include "sim/machine/lds/lds.hpp"

namespace rapt::sim {
namespace {

// The lane that each lane reads (ISA documents, DS_SWIZZLE_B32); bit 5 of the lane stays.
unsigned swizzle_source(u32 offset, unsigned lane) {
  const unsigned low = lane & 31, high = lane & 32;
  if (offset >= 0xe000) {  // FFT: the low lane bits reversed
    const u32 mask = offset & 31;
    unsigned reversed = 0;
    for (unsigned b = 0; b < 5; ++b) reversed |= (low >> b & 1) << (4 - b);
    return reversed >> std::popcount(mask) | (low & mask) | high;
  }
  if (offset >= 0xc000) {  // rotation of the lane bits that the mask leaves free
    const u32 mask = offset & 31, count = offset >> 5 & 31;
    const u32 rotated = offset >> 10 & 1 ? low - count : low + count;
    return (low & mask) | (rotated & ~mask & 31) | high;
  }
  if (offset & 0x8000) return (lane & ~3U) | (offset >> 2 * (lane & 3) & 3);
  return ((((low & offset) | offset >> 5) ^ offset >> 10) & 31) | high;
}

template <unsigned L>
void swizzle(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec();
  u32 in[L];
  std::memcpy(in, w.row(i.src[0]), sizeof in);
  u32* out = w.row(i.dst);
  for_lanes(lanes, [&](unsigned l) {
    const unsigned from = swizzle_source(static_cast<u32>(i.offset), l);
    out[l] = lanes >> from & 1 ? in[from] : 0;
  });
}

// gfx11 exchanges values within each half of a wave of 64 lanes (RDNA3 ISA document: the lane is taken modulo 32).
template <unsigned L>
unsigned other_lane(const Wave& w, u32 address, unsigned lane) {
  if (L == 64 && contains(gfx11, w.arch)) return (address / 4 % 32) | (lane & 32);
  return address / 4 % L;
}

enum class Inactive : u8 { zero, fetch };
template <unsigned L, Inactive I>
void pull(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec(), sources = I == Inactive::fetch ? w.all_lanes() : lanes;
  u32 address[L], in[L], fetched[L];
  std::memcpy(address, w.row(i.src[0]), sizeof address);
  std::memcpy(in, w.row(i.src[1]), sizeof in);
  u32* out = w.row(i.dst);
  for (unsigned l = 0; l < L; ++l) {
    const unsigned from = other_lane<L>(w, address[l] + static_cast<u32>(i.offset), l);
    fetched[l] = sources >> from & 1 ? in[from] : 0;
  }
  if (lanes == w.all_lanes()) std::memcpy(out, fetched, sizeof fetched);
  else for_lanes(lanes, [&](unsigned l) { out[l] = fetched[l]; });
}

template <unsigned L>
void push(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec();
  const u32* address = w.row(i.src[0]);
  const u32* in = w.row(i.src[1]);
  u32 sent[L] = {};
  for_lanes(lanes, [&](unsigned l) { sent[other_lane<L>(w, address[l] + static_cast<u32>(i.offset), l)] = in[l]; });
  u32* out = w.row(i.dst);
  for_lanes(lanes, [&](unsigned l) { out[l] = sent[l]; });
}

}  // namespace

void register_lds_exchange(HandlerTable& t) {
  t.add("ds_swizzle_b32", swizzle<32>, swizzle<64>);
  t.add("ds_permute_b32", push<32>, push<64>);
  t.add("ds_bpermute_b32", pull<32, Inactive::zero>, pull<64, Inactive::zero>);
  t.add("ds_bpermute_fi_b32", pull<32, Inactive::fetch>, pull<64, Inactive::fetch>);
}

}  // namespace rapt::sim
