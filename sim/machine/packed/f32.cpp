// v_pk_*_f32 and v_pk_mov_b32: two 32-bit operations on pairs of registers (CDNA3 document, "Packed Math": op_sel and
// op_sel_hi choose the first or the second dword of each source).
#include "sim/machine/packed/lanes.hpp"

namespace rapt::sim::packed {

namespace {

template <unsigned count, class F>
struct Pairs {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    if (valu::run_indexed(w, i, &run<N>)) [[unlikely]]
      return;
    run(w, i, std::make_index_sequence<count>{}, std::integral_constant<unsigned, N>{});
  }

 private:
  using f32 = valu::f32;
  static constexpr valu::Options options{};

  template <unsigned N, std::size_t... K>
  static void run(Wave& w, const Instruction& i, std::index_sequence<K...>, std::integral_constant<unsigned, N>) {
    alignas(64) Row<N> results[2];
    const bool usual = ((w.mode ^ valu::usual_mode) & valu::mode_bits<f32>()) == 0 && !i.clamp;
    for (unsigned half = 0; half < 2; ++half) {
      alignas(64) Row<N> scratch[count];
      const HalfFields f = fields(i, half != 0);
      const auto sources = std::make_tuple(source<N>(w, i, K, f, scratch[K])...);
      if (usual) [[likely]] {
        valu::run_lanes<f32, options, F, N>(w, i, sources, valu::Round::nearest, results[half].data(), nullptr);
      } else {
        {
          const valu::Rounding rounding = valu::rounding<f32>(w);
          const valu::HostRounding host(rounding.mode);
          valu::run_lanes<f32, options, F, N>(w, i, sources, rounding, results[half].data(), nullptr);
        }
        valu::modify_result<N>(w, i, valu::info<f32>(), false, results[half].data(), nullptr);
      }
    }
    for (unsigned half = 0; half < 2; ++half)
      valu::write_row<N>(w.row(i.dst) + half * N, results[half].data(), w.exec());
  }

  template <unsigned N>
  static valu::Source<f32, N> source(Wave& w, const Instruction& i, unsigned k, HalfFields f, Row<N>& scratch) {
    const std::uint32_t* row = valu::row_source<N>(w, i.src[k], f.select >> k & 1, scratch);
    const bool negate = (f.negate >> k & 1) != 0;
    const bool flushes = !valu::keeps_denormals(w, valu::info<f32>(), valu::Direction::input);
    if (negate || flushes) [[unlikely]] {
      for (unsigned l = 0; l < N; ++l) scratch[l] = row[l] ^ (negate ? 0x80000000 : 0);
      if (flushes) flush<N>(f32::format, scratch);
      row = scratch.data();
    }
    return {row, nullptr};
  }
};

template <unsigned count, class F>
void add_pairs(HandlerTable& t, std::string_view name, F) {
  using Op = Pairs<count, F>;
  t.add(name, nullptr, &Op::template run<64>, cdna);
}

// The low result is a dword of the first source, the high one of the second.
void move_pair(Wave& w, const Instruction& i) {
  constexpr unsigned N = 64;
  if (valu::run_indexed(w, i, move_pair)) return;
  alignas(64) Row<N> scratch, results[2];
  for (unsigned half = 0; half < 2; ++half)
    std::memcpy(results[half].data(), valu::row_source<N>(w, i.src[half], i.op_sel >> half & 1, scratch),
                sizeof scratch);
  for (unsigned half = 0; half < 2; ++half) valu::write_row<N>(w.row(i.dst) + half * N, results[half].data(), w.exec());
}

}  // namespace

void register_f32(HandlerTable& t) {
  add_pairs<3>(t, "v_pk_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); });
  add_pairs<2>(t, "v_pk_mul_f32", [](float a, float b) { return a * b; });
  add_pairs<2>(t, "v_pk_add_f32", [](float a, float b) { return a + b; });
  t.add("v_pk_mov_b32", nullptr, move_pair, cdna);
}

}  // namespace rapt::sim::packed
