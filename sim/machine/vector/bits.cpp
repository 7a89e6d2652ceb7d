// Logic, shifts, bit fields and bit counts on 32 bits.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

#include <bit>

namespace rapt::sim::valu {
namespace {

using U = std::uint32_t;
using I = std::int32_t;

// The number of leading zeros, or of leading bits equal to the sign; -1 if all bits are.
constexpr auto leading_zeros = [](U x) { return x == 0 ? ~U{0} : static_cast<U>(std::countl_zero(x)); };
constexpr auto trailing_zeros = [](U x) { return x == 0 ? ~U{0} : static_cast<U>(std::countr_zero(x)); };
constexpr auto leading_signs = [](I x) { return leading_zeros(static_cast<U>(x < 0 ? ~x : x)); };

U reverse(U x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}

// The field may extend past bit 31, where the sign continues.
I extract_signed(I x, U offset, U width) {
  const U unused = 32 - (width & 31);
  const U field = static_cast<U>(x >> (offset & 31));
  return unused == 32 ? 0 : static_cast<I>(field << unused) >> unused;
}

// gfx950's V_BITOP3: bit {a, b, c} of the truth table, for each bit of the sources. The decoder takes its place among
// the instruction's bits from LLVM; the CDNA4 ISA orders the three fields differently.
template <class T>
struct TruthTable {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    const bool plain = is_plain<T>(w, i);
    if (!plain && run_indexed(w, i, &TruthTable::run<N>)) return;
    std::array<Scratch<N>, 3> scratch;
    const Source<T, N> a = fetch<T, N>(w, i, 0, plain, scratch[0]), b = fetch<T, N>(w, i, 1, plain, scratch[1]),
                       c = fetch<T, N>(w, i, 2, plain, scratch[2]);
    alignas(64) std::uint32_t result[N] = {};
    for (unsigned k = 0; k < 8; ++k) {
      if ((i.immediate >> k & 1) == 0) continue;
      const U not_a = (k & 4) != 0 ? 0 : ~0U, not_b = (k & 2) != 0 ? 0 : ~0U, not_c = (k & 1) != 0 ? 0 : ~0U;
      for (unsigned l = 0; l < N; ++l) result[l] |= (a.bits(l) ^ not_a) & (b.bits(l) ^ not_b) & (c.bits(l) ^ not_c);
    }
    write<T, N>(w, i, w.exec(), result, nullptr, true);
  }
};
template <class T>
void add_truth_table(HandlerTable& t, std::string_view name) {
  t.add(name, &TruthTable<T>::template run<32>, &TruthTable<T>::template run<64>);
}

// Vega ISA, V_SCREEN_PARTITION_4SE_B32: a table.
constexpr std::array<std::uint8_t, 256> screen_partition{
    1,  3,  7,  15, 5,  15, 15, 15, 7,  15, 15, 15, 15, 15, 15, 15, 15, 2,  6,  14, 15, 10, 15, 15, 15, 11, 15, 15, 15,
    15, 15, 15, 13, 15, 4,  12, 15, 15, 5,  15, 15, 15, 13, 15, 15, 15, 15, 15, 9,  11, 15, 8,  15, 15, 15, 10, 15, 15,
    15, 14, 15, 15, 15, 15, 15, 15, 15, 15, 4,  12, 13, 15, 6,  15, 15, 15, 14, 15, 15, 15, 15, 15, 15, 15, 15, 8,  9,
    11, 15, 9,  9,  15, 15, 13, 15, 15, 15, 15, 15, 15, 7,  15, 1,  3,  15, 15, 9,  15, 15, 15, 11, 15, 15, 15, 15, 15,
    6,  14, 15, 2,  6,  15, 15, 6,  15, 15, 15, 7,  11, 15, 15, 15, 15, 15, 15, 15, 2,  3,  11, 15, 10, 15, 15, 15, 15,
    7,  15, 15, 15, 15, 15, 15, 15, 1,  9,  13, 15, 5,  15, 15, 15, 15, 14, 15, 15, 15, 15, 15, 14, 15, 8,  12, 15, 15,
    10, 15, 15, 15, 15, 13, 15, 15, 15, 15, 6,  7,  15, 4,  15, 15, 15, 5,  9,  15, 15, 15, 13, 15, 15, 15, 15, 15, 15,
    15, 8,  12, 14, 15, 15, 6,  6,  15, 15, 14, 15, 15, 15, 15, 15, 15, 15, 4,  6,  7,  15, 15, 6,  15, 15, 15, 7,  15,
    15, 15, 15, 15, 11, 15, 2,  3,  9,  15, 15, 9,  15, 15, 15, 11, 15, 15, 15, 15, 9,  13, 15, 1};

}  // namespace

void register_bits(HandlerTable& t) {
  add<b32(b32, b32)>(t, "v_and_b32", [](U a, U b) { return a & b; });
  add<b32(b32, b32)>(t, "v_or_b32", [](U a, U b) { return a | b; });
  add<b32(b32, b32)>(t, "v_xor_b32", [](U a, U b) { return a ^ b; });
  add<b32(b32, b32)>(t, "v_xnor_b32", [](U a, U b) { return ~(a ^ b); });
  add<b32(b32)>(t, "v_not_b32", [](U a) { return ~a; });
  add<b32(b32, b32, b32)>(t, "v_or3_b32", [](U a, U b, U c) { return a | b | c; });
  add<b32(b32, b32, b32)>(t, "v_xor3_b32", [](U a, U b, U c) { return a ^ b ^ c; });
  add<b32(b32, b32, b32)>(t, "v_and_or_b32", [](U a, U b, U c) { return (a & b) | c; });
  add_truth_table<b32>(t, "v_bitop3_b32");
  add_truth_table<b16>(t, "v_bitop3_b16");

  add<b32(u32, b32)>(t, "v_lshlrev_b32", [](U shift, U x) { return x << (shift & 31); });
  add<b32(u32, b32)>(t, "v_lshrrev_b32", [](U shift, U x) { return x >> (shift & 31); });
  add<i32(u32, i32)>(t, "v_ashrrev_i32", [](U shift, I x) { return x >> (shift & 31); });
  add<b32(b32, u32, b32)>(t, "v_lshl_or_b32", [](U a, U b, U c) { return a << (b & 31) | c; });

  add<u32(u32, u32, u32)>(t, "v_bfe_u32",
                          [](U x, U offset, U width) { return x >> (offset & 31) & ((1U << (width & 31)) - 1); });
  add<i32(i32, u32, u32)>(t, "v_bfe_i32", [](I x, U offset, U width) { return extract_signed(x, offset, width); });
  add<b32(b32, b32, b32)>(t, "v_bfi_b32", [](U mask, U a, U b) { return (mask & a) | (~mask & b); });
  add<b32(u32, u32)>(t, "v_bfm_b32", [](U width, U offset) { return ((1U << (width & 31)) - 1) << (offset & 31); });
  add<b32(b32)>(t, "v_bfrev_b32", [](U x) { return reverse(x); });

  add<u32(b32, u32)>(t, "v_bcnt_u32_b32", [](U x, U base) { return static_cast<U>(std::popcount(x)) + base; });
  add<u32(u32)>(t, "v_ffbh_u32", leading_zeros);
  add<u32(u32)>(t, "v_clz_i32_u32", leading_zeros);
  add<u32(b32)>(t, "v_ffbl_b32", trailing_zeros);
  add<u32(b32)>(t, "v_ctz_i32_b32", trailing_zeros);
  add<u32(i32)>(t, "v_ffbh_i32", leading_signs);
  add<u32(i32)>(t, "v_cls_i32", leading_signs);
  add<b32(u32)>(t, "v_screen_partition_4se_b32", [](U x) { return U{screen_partition[x & 0xff]}; });
}

}  // namespace rapt::sim::valu
