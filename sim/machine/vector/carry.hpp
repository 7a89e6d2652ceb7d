// Operations with a carry or condition per lane: F(values..., bool in, bool& out). The condition comes from the source
// after the values and goes to the second destination, where inactive lanes get 0.
#pragma once

#include "sim/machine/operands/mask.hpp"

namespace rapt::sim::valu {

enum class Carry : std::uint8_t { out, in_and_out, in_vcc };

template <class Signature, Carry carry, class F>
struct CarryOperation;

template <class R, class... A, Carry carry, class F>
struct CarryOperation<R(A...), carry, F> {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    const bool plain = is_plain<R, A...>(w, i);
    if (!plain && run_indexed(w, i, &CarryOperation::template run<N>)) [[unlikely]]
      return;
    run(w, i, plain, std::index_sequence_for<A...>{}, std::integral_constant<unsigned, N>{});
  }

 private:
  template <std::size_t... K, unsigned N>
  [[gnu::flatten]] static void run(Wave& w, const Instruction& i, bool plain, std::index_sequence<K...>,
                                   std::integral_constant<unsigned, N>) {
    std::array<Scratch<N>, sizeof...(A)> scratch;
    const std::tuple<Source<A, N>...> sources{fetch<A, N>(w, i, K, plain, scratch[K])...};
    alignas(64) std::uint32_t lo[N], hi[R::bits == 64 ? N : 1], in[N], out[N];
    if constexpr (carry == Carry::out) std::memset(in, 0, sizeof in);
    else expand_mask<N>(carry == Carry::in_vcc ? vcc<N>(w) : read_mask(w, i.src[sizeof...(A)]), in);
    const Rounding as_mode = rounding<R>(w);
    {
      const HostRounding host(R::is_float ? as_mode.mode : Round::nearest);
#pragma GCC ivdep
      for (unsigned l = 0; l < N; ++l) {
        bool flag = false;
        const auto value = F{}(w, i, std::get<K>(sources)[l]..., in[l] != 0, flag);
        const auto bits = R::encode(value, as_mode);
        lo[l] = static_cast<std::uint32_t>(bits);
        if constexpr (R::bits == 64) hi[l] = static_cast<std::uint32_t>(bits >> 32);
        out[l] = flag ? ~0U : 0;
      }
    }
    if constexpr (R::is_float) {
      settle_nans<R>(sources, lo, hi);
      if (!plain) modify_result<N>(w, i, info<R>(), false, lo, hi);
    }
    const std::uint64_t enabled = plain ? w.exec() : enabled_lanes<N>(w, i);
    write<R, N>(w, i, enabled, lo, hi);
    if constexpr (carry != Carry::in_vcc) write_mask(w, i.dst2, mask_of<N>(out) & enabled);
  }

  template <unsigned N>
  static std::uint64_t vcc(const Wave& w) {
    return N == 32 ? w.sgpr[sreg::vcc] : w.pair(sreg::vcc);
  }
};

template <class Signature, Carry carry, class F>
void add_carry(HandlerTable& table, std::string_view name, F) {
  using Op = CarryOperation<Signature, carry, F>;
  table.add(name, &Op::template run<32>, &Op::template run<64>);
}

}  // namespace rapt::sim::valu
