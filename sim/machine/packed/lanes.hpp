// How a packed operation is executed: it is a lambda on one lane's values of one
// half.
//
// op_sel selects for each source the half that the low result uses, op_sel_hi the half that the high result uses; neg
// and neg_hi likewise (CDNA3 and RDNA3 documents, "Packed Math").
#pragma once

#include "sim/machine/packed/packed.hpp"
#include "sim/machine/operands/valu.hpp"

namespace rapt::sim::packed {

using valu::Row;

// A dword of source k in every lane, after DPP but otherwise unmodified.
template <unsigned N>
inline const std::uint32_t* word_source(Wave& w, const Instruction& i, unsigned k, unsigned dword, Row<N>& scratch) {
  const std::uint32_t* row = valu::row_source<N>(w, i.src[k], dword, scratch);
  if (k != 0 || i.lane_map == LaneMap::none) [[likely]]
    return row;
  Instruction bare = i;
  bare.neg = bare.abs = bare.op_sel = 0;
  valu::modify_source<N>(w, bare, 0, valu::info<valu::b32>(), row, row, scratch, scratch);
  return scratch.data();
}

// Modifiers of one half: one bit per source.
struct HalfFields {
  std::uint8_t select, negate;
};
inline HalfFields fields(const Instruction& i, bool high) {
  return high ? HalfFields{i.op_sel_hi, i.neg_hi} : HalfFields{i.op_sel, i.neg};
}

template <unsigned N>
inline void flush(valu::FloatFormat format, Row<N>& row) {
  const auto sign = static_cast<std::uint32_t>(format.sign()), exponent = static_cast<std::uint32_t>(format.infinity());
  for (std::uint32_t& v : row) v = (v & exponent) == 0 ? v & sign : v;
}

// One half of one source as T's bits, in `to`.
template <class T, unsigned N>
inline void half_source(const Wave& w, const std::uint32_t* row, bool high, bool negate, Row<N>& to) {
  const unsigned shift = high ? 16 : 0;
  const std::uint32_t flip = T::is_float && negate ? 0x8000 : 0;
  for (unsigned l = 0; l < N; ++l) to[l] = (row[l] >> shift & 0xffff) ^ flip;
  if constexpr (T::is_float)
    if (!valu::keeps_denormals(w, valu::info<T>(), valu::Direction::input)) flush<N>(T::format, to);
}

// Runs the lambda on one half: results in `to`.
template <class T, valu::Options options, class F, unsigned N, class... Rows>
inline void run_half(Wave& w, const Instruction& i, Row<N>& to, const Rows&... rows) {
  const auto sources = std::make_tuple(valu::Source<T, N>{rows.data(), nullptr}...);
  if constexpr (T::is_float) {
    const bool usual = ((w.mode ^ valu::usual_mode) & (valu::mode_bits<T>() | mode::fp16_ovfl)) == 0;
    if (usual && !i.clamp) [[likely]]
      return valu::run_lanes<T, options, F, N>(w, i, sources, valu::Round::nearest, to.data(), nullptr);
    {
      const valu::Rounding rounding = valu::rounding<T>(w);
      const valu::HostRounding host(rounding.mode);
      valu::run_lanes<T, options, F, N>(w, i, sources, rounding, to.data(), nullptr);
    }
    Instruction only_clamp = i;
    only_clamp.omod = 0;
    valu::modify_result<N>(w, only_clamp, valu::info<T>(), options.keeps_denormal, to.data(), nullptr);
  } else {
    valu::run_lanes<T, options, F, N>(w, i, sources, valu::Round::nearest, to.data(), nullptr);
  }
}

// Two 16-bit results of T in a register, from `count` sources.
template <class T, unsigned count, valu::Options options, class F>
struct Halves {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    if (valu::run_indexed(w, i, &run<N>)) [[unlikely]]
      return;
    run(w, i, std::make_index_sequence<count>{}, std::integral_constant<unsigned, N>{});
  }

 private:
  template <unsigned N, std::size_t... K>
  static void run(Wave& w, const Instruction& i, std::index_sequence<K...>, std::integral_constant<unsigned, N>) {
    alignas(64) Row<N> scratch[count], part[count], results[2];
    const std::uint32_t* const rows[count] = {word_source<N>(w, i, K, 0, scratch[K])...};
    for (unsigned half = 0; half < 2; ++half) {
      const HalfFields f = fields(i, half != 0);
      (half_source<T, N>(w, rows[K], (f.select >> K & 1) != 0, (f.negate >> K & 1) != 0, part[K]), ...);
      run_half<T, options, F, N>(w, i, results[half], part[K]...);
    }
    for (unsigned l = 0; l < N; ++l) results[0][l] = (results[0][l] & 0xffff) | results[1][l] << 16;
    const std::uint64_t lanes = i.lane_map == LaneMap::none ? w.exec() : valu::enabled_lanes<N>(w, i);
    valu::write_row<N>(w.row(i.dst), results[0].data(), lanes);
  }
};

template <class T, unsigned count, valu::Options options = valu::Options{}, class F>
void add(HandlerTable& table, std::string_view name, F, ArchSet archs = every_arch) {
  using Op = Halves<T, count, options, F>;
  table.add(name, &Op::template run<32>, &Op::template run<64>, archs);
}

}  // namespace rapt::sim::packed
