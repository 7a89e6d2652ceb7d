// Transfers between memory and registers: the format of the lanes' bytes, in any address space.
#pragma once

#include "sim/machine/memory/flat_access.hpp"

namespace rapt::sim {

// How a load converts its bytes, or what a store takes from its registers.
enum class Data : u8 {
  u8,
  i8,
  u16,
  i16,  // a load extends to 32 bits; a store writes the low bits
  b32,
  b64,
  b96,
  b128,
  u8_low,
  i8_low,
  b16_low,  // D16: extended to 16 bits, into one half of the register
  u8_high,
  i8_high,
  b16_high,  // a store takes bits 16 and up
};

constexpr unsigned bytes_of(Data data) {
  switch (data) {
    case Data::u8:
    case Data::i8:
    case Data::u8_low:
    case Data::i8_low:
    case Data::u8_high:
    case Data::i8_high: return 1;
    case Data::u16:
    case Data::i16:
    case Data::b16_low:
    case Data::b16_high: return 2;
    case Data::b32: return 4;
    case Data::b64: return 8;
    case Data::b96: return 12;
    case Data::b128: return 16;
  }
  return 0;
}
constexpr unsigned rows_of(Data data) { return (bytes_of(data) + 3) / 4; }
constexpr bool is_half(Data data) { return data >= Data::u8_low; }

// Row d of lane l is at[d * L + l]. `keep`: a D16 load leaves the other half of the register as it is.
template <Data D, unsigned L>
void load_rows(u32* rows, const u64* at, u64 lanes, bool keep);
template <Data D, unsigned L>
void store_rows(const u32* rows, const u64* at, u64 lanes);

// With SRAM ECC, which the CDNA products have on, D16 loads write the whole register, with zeros in the unused half
// (CDNA ISA documents, "16-bit Memory Operations"; LLVM's GCNSubtarget::d16PreservesUnusedBits agrees).
inline bool keeps_other_half(const Wave& w) { return is_rdna(w.arch); }

template <Data D, unsigned L>
inline void zero_rows(u32* rows, u64 lanes, bool keep) {
  constexpr u32 kept = D == Data::u8_low || D == Data::i8_low || D == Data::b16_low ? 0xffff0000
                       : is_half(D)                                                 ? 0xffff
                                                                                    : 0;
  for_lanes(lanes, [&](unsigned l) {
    for (unsigned d = 0; d < rows_of(D); ++d) rows[d * L + l] &= keep ? kept : 0;
  });
}

// All data formats of loads and stores, for explicit instantiations: M(data, lanes).
#define RAPT_BOTH_WAVES(M, d) M(d, 32) M(d, 64)
#define RAPT_EACH_STORE(M)     \
  RAPT_BOTH_WAVES(M, u8)       \
  RAPT_BOTH_WAVES(M, u16)      \
  RAPT_BOTH_WAVES(M, u8_high)  \
  RAPT_BOTH_WAVES(M, b16_high) \
  RAPT_BOTH_WAVES(M, b32) RAPT_BOTH_WAVES(M, b64) RAPT_BOTH_WAVES(M, b96) RAPT_BOTH_WAVES(M, b128)
#define RAPT_EACH_LOAD(M) \
  RAPT_EACH_STORE(M)      \
  RAPT_BOTH_WAVES(M, i8)  \
  RAPT_BOTH_WAVES(M, i16) \
  RAPT_BOTH_WAVES(M, u8_low) RAPT_BOTH_WAVES(M, i8_low) RAPT_BOTH_WAVES(M, i8_high) RAPT_BOTH_WAVES(M, b16_low)

}  // namespace rapt::sim
