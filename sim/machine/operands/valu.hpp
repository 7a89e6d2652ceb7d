// How a VALU operation is executed: an operation is a lambda on one lane's values, and `add` makes handlers from it:
//
//   add<f32(f32, f32, f32)>(table, "v_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); });
//
// The signature's tags (types.hpp) say what the operands hold. A lambda may take the Wave before its operands
// where it depends on the mode or the architecture. Sources are read as rows of the register file; modifiers, DPP, SDWA
// and a mode other than the usual one (round to nearest, denormals kept) take the slow path. Results go to a buffer and
// are written under EXEC, so a destination may be a source.
#pragma once

#include "sim/machine/operands/half_rows.hpp"
#include "sim/machine/operands/operands.hpp"

namespace rapt::sim::valu {

template <class F, class... V>
constexpr auto call(const Wave& w, V... values) {
  if constexpr (std::is_invocable_v<F, const Wave&, V...>) return F{}(w, values...);
  else return F{}(values...);
}

// A lane's operand: the source itself, or its f16 values, converted all at once if signalling NaNs do not matter.
template <Options options, class T, unsigned N>
inline auto prepare(const Source<T, N>& source) {
  if constexpr (std::is_same_v<T, f16> && !options.own_nan) {
    FloatRow<N> row;
    halves_to_floats<N>(source.lo, row.values);
    return row;
  } else {
    return source;
  }
}

inline float narrow(float x) { return x; }
inline float narrow(double x) { return narrow_to_odd(x); }

// Runs the lanes: results into lo and hi. An operation that is a struct may have a faster form for all lanes at once,
// `bool rows(sources, lo, hi)`, which returns whether it applies.
template <class R, Options options, class F, unsigned N, class... A>
[[gnu::always_inline]] inline void run_lanes(const Wave& w, const Instruction& i,
                                             const std::tuple<Source<A, N>...>& sources, Rounding rounding,
                                             std::uint32_t* __restrict lo, std::uint32_t* __restrict hi) {
  using Result = decltype(call<F>(w, typename A::Value{}...));
  constexpr bool wider = !R::is_float && std::is_integral_v<Result> && sizeof(Result) > sizeof(typename R::Value);
  if constexpr (requires { F::rows(sources, lo, hi); }) {
    if (F::rows(sources, lo, hi)) [[likely]]
      return;
  }
  const auto operands = std::apply([](const auto&... s) { return std::make_tuple(prepare<options>(s)...); }, sources);
  const auto result = [&](unsigned l) [[gnu::always_inline]] {
    return std::apply([&](const auto&... s) [[gnu::always_inline]] { return call<F>(w, s[l]...); }, operands);
  };
  const auto put = [&](unsigned l, auto bits) [[gnu::always_inline]] {
    lo[l] = static_cast<std::uint32_t>(bits);
    if constexpr (R::bits == 64) hi[l] = static_cast<std::uint32_t>(bits >> 32);
  };
  if constexpr (wider) {
    if (i.clamp) [[unlikely]] {
      for (unsigned l = 0; l < N; ++l) put(l, R::saturate(result(l)));
      return;
    }
  }
  std::uint32_t nans = 0;
  if constexpr (std::is_same_v<R, f16> && !options.own_nan) {
    FloatRow<N> values;
#pragma GCC ivdep
    for (unsigned l = 0; l < N; ++l) {
      values.values[l] = narrow(result(l));
      nans |= values[l] != values[l] ? 1U : 0U;
    }
    if (rounding.mode == Round::nearest && !rounding.saturate) [[likely]]
      floats_to_halves<Round::nearest, N>(values.values, lo);
    else
      for (unsigned l = 0; l < N; ++l) lo[l] = R::encode(values[l], rounding);
  } else {
#pragma GCC ivdep
    for (unsigned l = 0; l < N; ++l) {
      const auto value = result(l);
      put(l, R::encode(value, rounding));
      if constexpr (R::is_float && !options.own_nan) nans |= value != value ? 1U : 0U;
    }
  }
  if constexpr (R::is_float && !options.own_nan)
    if (nans != 0) [[unlikely]]
      settle_nans<R>(sources, lo, hi);
}

template <class Signature, class F, Options options>
struct Operation;

template <class R, class... A, class F, Options options>
struct Operation<R(A...), F, options> {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    run(w, i, std::index_sequence_for<A...>{}, lanes<N>{});
  }

 private:
  template <unsigned N>
  using lanes = std::integral_constant<unsigned, N>;

  // Flattened, because the loop is vectorised only if the lambda and what it calls are inlined.
  template <std::size_t... K, unsigned N>
  [[gnu::flatten]] static void run(Wave& w, const Instruction& i, std::index_sequence<K...>, lanes<N>) {
    const bool plain = is_plain<R, A...>(w, i);
    if (!plain && run_indexed(w, i, &Operation::template run<N>)) [[unlikely]]
      return;
    std::array<Scratch<N>, sizeof...(A)> scratch;
    const std::tuple<Source<A, N>...> sources{fetch<A, N>(w, i, K, plain, scratch[K])...};
    alignas(64) std::uint32_t lo[N];
    alignas(64) std::uint32_t hi[R::bits == 64 ? N : 1];
    std::uint64_t enabled = w.exec();
    if (plain) [[likely]] {
      run_lanes<R, options, F, N>(w, i, sources, Round::nearest, lo, hi);
    } else {
      run_modified(w, i, sources, lo, hi);
      enabled = enabled_lanes<N>(w, i);
    }
    write<R, N>(w, i, enabled, lo, hi, options.keep_half);
  }

  template <unsigned N>
  [[gnu::noinline, gnu::flatten]] static void run_modified(const Wave& w, const Instruction& i,
                                                           const std::tuple<Source<A, N>...>& sources,
                                                           std::uint32_t* lo, std::uint32_t* hi) {
    if constexpr (R::is_float) {
      const Rounding as_mode = rounding<R>(w);
      {
        const HostRounding host(as_mode.mode);
        run_lanes<R, options, F, N>(w, i, sources, as_mode, lo, hi);
      }
      modify_result<N>(w, i, info<R>(), options.keeps_denormal, lo, hi);
    } else {
      run_lanes<R, options, F, N>(w, i, sources, Round::nearest, lo, hi);
      if constexpr (options.pair == Options::Pair::f16) clamp_pair<N>(w, i, info<f16>(), lo);
      if constexpr (options.pair == Options::Pair::bf16) clamp_pair<N>(w, i, info<bf16>(), lo);
    }
  }
};

// Adds an operation whose operands have the types of the signature's tags.
template <class Signature, Options options = Options{}, class F>
void add(HandlerTable& table, std::string_view name, F, ArchSet archs = every_arch) {
  using Op = Operation<Signature, F, options>;
  table.add(name, &Op::template run<32>, &Op::template run<64>, archs);
}

}  // namespace rapt::sim::valu
