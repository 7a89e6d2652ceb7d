// Moves, selections and exchanges of registers.
#include "sim/machine/operands/mask.hpp"
#include "sim/machine/operands/tables.hpp"

#include <algorithm>

namespace rapt::sim::valu {
namespace {

constexpr auto same = [](auto x) { return x; };

// The third source holds a condition per lane; floating-point modifiers apply to the two values.
template <class T>
struct Select {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    const bool plain = is_plain<T>(w, i);
    if (!plain && run_indexed(w, i, &Select::run<N>)) return;
    std::array<Scratch<N>, 2> scratch;
    const Source<T, N> no = fetch<T, N>(w, i, 0, plain, scratch[0]), yes = fetch<T, N>(w, i, 1, plain, scratch[1]);
    const std::uint64_t condition = read_mask(w, i.src[2]);
    alignas(64) std::uint32_t result[N];
    std::copy_n(no.lo, N, result);
    write_row<N>(result, yes.lo, condition);
    write<T, N>(w, i, plain ? w.exec() : enabled_lanes<N>(w, i), result);
  }
};

// The registers that M0 moves an operand to; it can reach all of a wave's.
std::uint32_t* relative_row(Wave& w, const Operand& o, std::uint32_t distance) {
  const std::uint64_t index = std::uint64_t{o.index} + distance;
  if (index >= w.vgpr_count)
    throw Fault(FaultKind::illegal_instruction, "v" + std::to_string(o.index) + " moved by " +
                                                    std::to_string(distance) + " is outside the wave's registers");
  return w.row(static_cast<unsigned>(index));
}

enum class Moves : std::uint8_t { source, destination, both, both_apart };

// V_MOVREL*: M0 moves the source, the destination, or M0[9:0] the source and M0[25:16] the destination.
template <Moves moves>
struct RelativeMove {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    const std::uint32_t m0 = w.sgpr[sreg::m0];
    const bool apart = moves == Moves::both_apart;
    Instruction moved = i;
    const auto move = [&](Operand& o, std::uint32_t distance) {
      if (o.kind != OperandKind::vgpr) return;
      o.index = static_cast<std::uint16_t>((relative_row(w, o, distance) - w.vgpr) / N);
    };
    if (moves != Moves::destination) move(moved.src[0], apart ? m0 & 0x3ff : m0);
    if (moves != Moves::source) move(moved.dst, apart ? m0 >> 16 & 0x3ff : m0);
    Operation<b32(b32), decltype(same), Options{}>::template run<N>(w, moved);
  }
};
template <Moves moves>
void add_relative(HandlerTable& t, std::string_view name) {
  t.add(name, &RelativeMove<moves>::template run<32>, &RelativeMove<moves>::template run<64>);
}

template <unsigned N>
void exchange(Wave& w, std::uint32_t* a, std::uint32_t* b) {
  Row<N> old_a;
  std::copy_n(a, N, old_a.begin());
  write_row<N>(a, b, w.exec());
  write_row<N>(b, old_a.data(), w.exec());
}
template <unsigned N>
void swap(Wave& w, const Instruction& i) {
  if (run_indexed(w, i, &swap<N>)) return;
  exchange<N>(w, w.row(i.dst), w.row(i.src[0]));
}
template <unsigned N>
void swap_relative(Wave& w, const Instruction& i) {
  const std::uint32_t m0 = w.sgpr[sreg::m0];
  exchange<N>(w, relative_row(w, i.dst, m0 >> 16 & 0x3ff), relative_row(w, i.src[0], m0 & 0x3ff));
}
template <unsigned N>
void swap_halves(Wave& w, const Instruction& i) {
  std::uint32_t *a = w.row(i.dst), *b = w.row(i.src[0]);
  const unsigned at = i.dst.high ? 16 : 0, bt = i.src[0].high ? 16 : 0;
  const std::uint64_t exec = w.exec();
  for (unsigned l = 0; l < N; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const std::uint32_t from_a = a[l] >> at & 0xffff, from_b = b[l] >> bt & 0xffff;
    a[l] = (a[l] & ~(0xffffU << at)) | from_b << at;
    b[l] = (b[l] & ~(0xffffU << bt)) | from_a << bt;
  }
}

}  // namespace

void register_move(HandlerTable& t) {
  add<b32(b32)>(t, "v_mov_b32", same);
  add<b16(b16)>(t, "v_mov_b16", same);
  add<b64(b64)>(t, "v_mov_b64", same);
  add<b32(b32)>(t, "v_accvgpr_read_b32", same);
  add<b32(b32)>(t, "v_accvgpr_write_b32", same);
  add<b32(b32)>(t, "v_accvgpr_mov_b32", same);
  t.add("v_cndmask_b32", &Select<b32>::run<32>, &Select<b32>::run<64>);
  t.add("v_cndmask_b16", &Select<b16>::run<32>, &Select<b16>::run<64>);
  add_relative<Moves::source>(t, "v_movrels_b32");
  add_relative<Moves::destination>(t, "v_movreld_b32");
  add_relative<Moves::both>(t, "v_movrelsd_b32");
  add_relative<Moves::both_apart>(t, "v_movrelsd_2_b32");
  t.add("v_swap_b32", &swap<32>, &swap<64>);
  t.add("v_swap_b16", &swap_halves<32>, &swap_halves<64>);
  t.add("v_swaprel_b32", &swap_relative<32>, &swap_relative<64>);
  t.add("v_nop", [](Wave&, const Instruction&) {});
  t.add("v_pipeflush", [](Wave&, const Instruction&) {});
  // Clears the raised exceptions (TRAPSTS.EXCP).
  t.add("v_clrexcp", [](Wave& w, const Instruction&) { w.trapsts &= ~0x1ffU; });
}

}  // namespace rapt::sim::valu
