// Operations across lanes: reading and writing one, permuting rows of 16, counting bits below a lane.
#include "sim/machine/scalar/operands.hpp"
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

#include <algorithm>
#include <bit>

namespace rapt::sim::valu {
namespace {

using U = std::uint32_t;

// V_READLANE and V_READFIRSTLANE ignore EXEC; a scalar source is its own first lane.
U lane_of(Wave& w, const Operand& o, unsigned lane) {
  const bool vector = o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr;
  return vector ? w.row(o)[lane] : read_scalar32(w, o);
}
template <unsigned N>
void read_first_lane(Wave& w, const Instruction& i) {
  if (run_indexed(w, i, &read_first_lane<N>)) return;
  const std::uint64_t exec = w.exec();
  write_scalar32(w, i.dst, lane_of(w, i.src[0], exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec))));
}
template <unsigned N>
void read_lane(Wave& w, const Instruction& i) {
  if (run_indexed(w, i, &read_lane<N>)) return;
  write_scalar32(w, i.dst, lane_of(w, i.src[0], read_scalar32(w, i.src[1]) % N));
}
template <unsigned N>
void write_lane(Wave& w, const Instruction& i) {
  if (run_indexed(w, i, &write_lane<N>)) return;
  w.row(i.dst)[read_scalar32(w, i.src[1]) % N] = read_scalar32(w, i.src[0]);
}

// Lane l takes the first source's lane from(l); an inactive source lane gives 0 or keeps the destination, as bound_ctrl
// says (OP_SEL[1]), unless inactive lanes are fetched (OP_SEL[0]).
template <unsigned N, class From>
void permute(Wave& w, const Instruction& i, From from) {
  Row<N> source, scratch;
  std::copy_n(row_source<N>(w, i.src[0], 0, scratch), N, source.begin());
  const std::uint64_t exec = w.exec();
  std::uint64_t written = exec;
  const bool fetch_inactive = (i.op_sel & 1) != 0, bound_ctrl = (i.op_sel & 2) != 0;
  Row<N> result;
  for (unsigned l = 0; l < N; ++l) {
    const unsigned k = from(l);
    const bool valid = fetch_inactive || (exec >> k & 1) != 0;
    result[l] = valid ? source[k] : 0;
    if (!valid && !bound_ctrl) written &= ~(std::uint64_t{1} << l);
  }
  write_row<N>(w.row(i.dst), result.data(), written);
}

// Rows of 16 lanes; the crossing forms read the other row of a pair. The selectors are 64 scalar bits or a VGPR.
template <unsigned N, bool cross>
void permute16(Wave& w, const Instruction& i) {
  const std::uint64_t select = read_scalar32(w, i.src[1]) | std::uint64_t{read_scalar32(w, i.src[2])} << 32;
  permute<N>(w, i, [=](unsigned l) {
    return ((l & ~15U) ^ (cross ? 16 : 0)) + static_cast<unsigned>(select >> 4 * (l & 15) & 15);
  });
}
template <unsigned N, bool cross>
void permute16_by_register(Wave& w, const Instruction& i) {
  Row<N> select, scratch;
  std::copy_n(row_source<N>(w, i.src[1], 0, scratch), N, select.begin());
  permute<N>(w, i, [&](unsigned l) { return ((l & ~15U) ^ (cross ? 16 : 0)) + (select[l] & 15); });
}

// Exchanges the halves of a wave of 64 lanes, including inactive lanes; does nothing in a wave of 32 (RDNA3 ISA).
void permute64(Wave& w, const Instruction& i) {
  Row<64> result;
  const U* source = w.row(i.src[0]);
  for (unsigned l = 0; l < 64; ++l) result[l] = source[l ^ 32];
  write_row<64>(w.row(i.dst), result.data(), w.exec());
}

// gfx950: in each pair of groups, the destination's upper group is exchanged with the source's lower one. Lanes whose
// bit in EXEC is 0 keep their value unless inactive lanes are fetched.
template <unsigned group>
void permute_swap(Wave& w, const Instruction& i) {
  U *d = w.row(i.dst), *s = w.row(i.src[0]);
  Row<64> old_d, old_s;
  std::copy_n(d, 64, old_d.begin());
  std::copy_n(s, 64, old_s.begin());
  const std::uint64_t exec = w.exec();
  const auto move = [&](U* to, unsigned lane, const Row<64>& from, unsigned source) {
    const bool valid = i.fetch_inactive || (exec >> source & 1) != 0;
    if ((exec >> lane & 1) != 0 && (valid || i.bound_ctrl)) to[lane] = valid ? from[source] : 0;
  };
  for (unsigned l = 0; l < 64; ++l) {
    if ((l & group) != 0) continue;
    move(s, l, old_d, l + group);
    move(d, l + group, old_s, l);
  }
}

// Adds the number of bits of the first source below the lane's own, in the mask's lower or upper half, to the second.
template <unsigned N, bool high>
void count_below(Wave& w, const Instruction& i) {
  const bool plain = is_plain<u32>(w, i);
  if (!plain && run_indexed(w, i, &count_below<N, high>)) return;
  std::array<Scratch<N>, 2> scratch;
  const Source<u32, N> bits = fetch<u32, N>(w, i, 0, plain, scratch[0]),
                       base = fetch<u32, N>(w, i, 1, plain, scratch[1]);
  alignas(64) U result[N];
  for (unsigned l = 0; l < N; ++l) {
    const std::uint64_t below = (std::uint64_t{1} << l) - 1;
    result[l] = static_cast<U>(std::popcount(bits[l] & static_cast<U>(high ? below >> 32 : below))) + base[l];
  }
  write<u32, N>(w, i, plain ? w.exec() : enabled_lanes<N>(w, i), result);
}

}  // namespace

void register_lanes(HandlerTable& t) {
  t.add("v_readfirstlane_b32", &read_first_lane<32>, &read_first_lane<64>);
  t.add("v_readlane_b32", &read_lane<32>, &read_lane<64>);
  t.add("v_writelane_b32", &write_lane<32>, &write_lane<64>);
  t.add("v_permlane16_b32", &permute16<32, false>, &permute16<64, false>);
  t.add("v_permlanex16_b32", &permute16<32, true>, &permute16<64, true>);
  t.add("v_permlane16_var_b32", &permute16_by_register<32, false>, &permute16_by_register<64, false>);
  t.add("v_permlanex16_var_b32", &permute16_by_register<32, true>, &permute16_by_register<64, true>);
  t.add("v_permlane64_b32", [](Wave&, const Instruction&) {}, &permute64);
  t.add("v_permlane16_swap_b32", nullptr, &permute_swap<16>);
  t.add("v_permlane32_swap_b32", nullptr, &permute_swap<32>);
  t.add("v_mbcnt_lo_u32_b32", &count_below<32, false>, &count_below<64, false>);
  t.add("v_mbcnt_hi_u32_b32", &count_below<32, true>, &count_below<64, true>);
}

}  // namespace rapt::sim::valu
