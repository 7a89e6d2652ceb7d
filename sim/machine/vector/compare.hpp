// Comparisons: F returns a bool for each lane, and the bits go to the destination mask, 0 for inactive lanes.
#pragma once

#include "sim/machine/operands/mask.hpp"

namespace rapt::sim::valu {

// v_cmp writes the mask that it names. v_cmpx writes EXEC, on gfx9 the mask as well (CDNA3 ISA 6.2.2, RDNA3 ISA 7.2.3).
enum class Writes : std::uint8_t { mask, exec };

template <unsigned N>
inline void set_exec(Wave& w, std::uint64_t mask) {
  w.sgpr[sreg::exec] = static_cast<std::uint32_t>(mask);
  if constexpr (N == 64) w.sgpr[sreg::exec + 1] = static_cast<std::uint32_t>(mask >> 32);
}

template <class Signature, Writes writes, class F>
struct Comparison;

template <class A, class B, Writes writes, class F>
struct Comparison<bool(A, B), writes, F> {
  template <unsigned N>
  [[gnu::flatten]] static void run(Wave& w, const Instruction& i) {
    const bool plain = is_plain<A, B>(w, i);
    if (!plain && run_indexed(w, i, &Comparison::template run<N>)) [[unlikely]]
      return;
    std::array<Scratch<N>, 2> scratch;
    const Source<A, N> a = fetch<A, N>(w, i, 0, plain, scratch[0]);
    const Source<B, N> b = fetch<B, N>(w, i, 1, plain, scratch[1]);
    alignas(64) std::uint32_t bits[N];
#pragma GCC ivdep
    for (unsigned l = 0; l < N; ++l) bits[l] = F{}(a[l], b[l]) ? ~0U : 0;
    const std::uint64_t result = mask_of<N>(bits) & (plain ? w.exec() : enabled_lanes<N>(w, i));
    if (writes == Writes::mask || is_cdna(w.arch)) write_mask(w, i.dst, result);
    if constexpr (writes == Writes::exec) set_exec<N>(w, result);
  }
};

template <class Signature, Writes writes, class F>
void add_comparison(HandlerTable& table, std::string_view name, F) {
  using Op = Comparison<Signature, writes, F>;
  table.add(name, &Op::template run<32>, &Op::template run<64>);
}

// Both forms of a comparison.
template <class Signature, class F>
void add_comparisons(HandlerTable& table, std::string_view cmp, std::string_view cmpx, F f) {
  add_comparison<Signature, Writes::mask>(table, cmp, f);
  add_comparison<Signature, Writes::exec>(table, cmpx, f);
}

// "v_cmp_" or "v_cmpx_", the relation and the type, kept forever, because the table's names are views.
std::string_view comparison_name(std::string_view prefix, std::string_view relation, std::string_view type);

template <class T, class F>
void add_relation(HandlerTable& table, std::string_view relation, std::string_view type, F f) {
  add_comparisons<bool(T, T)>(table, comparison_name("v_cmp_", relation, type),
                              comparison_name("v_cmpx_", relation, type), f);
}

}  // namespace rapt::sim::valu
