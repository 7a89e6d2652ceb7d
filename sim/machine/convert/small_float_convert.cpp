// Conversions between f32 and fp8 or bf8, and stochastic rounding to f16 and bf16 (CDNA3, CDNA4 and RDNA4 documents).
// fp8 and bf8 are FNUZ on gfx942, OCP on the others.
#include "sim/machine/convert/small_float_lanes.hpp"

namespace rapt::sim::packed {

namespace {

enum class Kind : std::uint8_t { fp8, bf8, f16, bf16 };

template <Kind kind>
const SmallFloat& format_of(Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  if constexpr (kind == Kind::fp8) return fnuz ? fp8_fnuz_format : fp8_format;
  else if constexpr (kind == Kind::bf8) return fnuz ? bf8_fnuz_format : bf8_format;
  else return kind == Kind::f16 ? f16_format : bf16_format;
}

template <Kind kind>
std::uint32_t widen_8(Arch arch, std::uint32_t v) {
  if (arch == Arch::gfx942) return kind == Kind::fp8 ? widen_bits<fp8_fnuz_format>(v) : widen_bits<bf8_fnuz_format>(v);
  return kind == Kind::fp8 ? widen_bits<fp8_format>(v) : widen_bits<bf8_format>(v);
}

Narrowing to_nearest(const Wave& w) { return {.saturate = (w.mode & mode::fp16_ovfl) != 0}; }

// Two results in the half of the destination that op_sel selects.
template <Kind kind, unsigned N>
void pack(Wave& w, const Instruction& i) {
  alignas(64) Row<N> scratch[2], out;
  const std::uint32_t* const low = f32_source<N>(w, i, 0, 0, scratch[0]);
  const std::uint32_t* const high = f32_source<N>(w, i, 1, 0, scratch[1]);
  const SmallFloat& format = format_of<kind>(w.arch);
  const Narrowing how = to_nearest(w);
  for (unsigned l = 0; l < N; ++l) out[l] = narrow(format, low[l], how) | narrow(format, high[l], how) << 8;
  write_bits<N>(w, i, (i.op_sel & 8) != 0 || i.dst.high ? 16 : 0, 16, out);
}

// One result, rounded with the random bits of the second source, in the byte (half) that op_sel selects.
template <Kind kind, unsigned N>
void round_stochastically(Wave& w, const Instruction& i) {
  alignas(64) Row<N> scratch[2], out;
  const std::uint32_t* const value = f32_source<N>(w, i, 0, 0, scratch[0]);
  const std::uint32_t* const random = word_source<N>(w, i, 1, 0, scratch[1]);
  const SmallFloat& format = format_of<kind>(w.arch);
  Narrowing how = to_nearest(w);
  how.stochastic = true;
  for (unsigned l = 0; l < N; ++l) {
    how.random = random[l];
    out[l] = narrow(format, value[l], how);
  }
  if (format.bits == 8) write_bits<N>(w, i, (i.op_sel >> 2 & 3U) * 8, 8, out);
  else write_bits<N>(w, i, (i.op_sel & 8) != 0 ? 16 : 0, 16, out);
}

// The bit at which the value begins: by SDWA's selection, or by op_sel, whose two bits gfx12 has in reverse order.
unsigned byte_place(const Wave& w, const Instruction& i) {
  if (i.lane_map == LaneMap::sdwa)
    return i.src_sel[0] <= SdwaSelect::byte3 ? 8 * static_cast<unsigned>(i.src_sel[0]) : 0;
  const unsigned low = i.op_sel & 1, high = i.op_sel >> 1 & 1;
  return contains(gfx12, w.arch) ? 16 * low + 8 * high : 8 * low + 16 * high;
}
unsigned word_place(const Instruction& i) {
  if (i.lane_map == LaneMap::sdwa) return i.src_sel[0] == SdwaSelect::word1 ? 16 : 0;
  return (i.op_sel & 1) != 0 || i.src[0].high ? 16 : 0;
}

// The unmodified source, after DPP.
template <unsigned N>
const std::uint32_t* plain_source(Wave& w, const Instruction& i, Row<N>& scratch) {
  if (i.lane_map == LaneMap::sdwa) return valu::row_source<N>(w, i.src[0], 0, scratch);
  return word_source<N>(w, i, 0, 0, scratch);
}

template <Kind kind, unsigned N>
void to_f32(Wave& w, const Instruction& i) {
  alignas(64) Row<N> scratch, out;
  const std::uint32_t* const from = plain_source<N>(w, i, scratch);
  const unsigned at = byte_place(w, i);
  for (unsigned l = 0; l < N; ++l) out[l] = widen_8<kind>(w.arch, from[l] >> at & 0xff);
  valu::modify_result<N>(w, i, valu::info<valu::f32>(), true, out.data(), nullptr);
  valu::write_row<N>(w.row(i.dst), out.data(), written_lanes<N>(w, i));
}

template <Kind kind, unsigned N>
void to_two_f32(Wave& w, const Instruction& i) {
  alignas(64) Row<N> scratch, out[2];
  const std::uint32_t* const from = plain_source<N>(w, i, scratch);
  const unsigned at = word_place(i);
  for (unsigned l = 0; l < N; ++l)
    for (unsigned n = 0; n < 2; ++n) out[n][l] = widen_8<kind>(w.arch, from[l] >> (at + 8 * n) & 0xff);
  Instruction only_clamp = i;  // two results have no multiplier
  only_clamp.omod = 0;
  for (Row<N>& row : out) valu::modify_result<N>(w, only_clamp, valu::info<valu::f32>(), true, row.data(), nullptr);
  for (unsigned n = 0; n < 2; ++n) valu::write_row<N>(w.row(i.dst) + n * N, out[n].data(), written_lanes<N>(w, i));
}

}  // namespace

void register_small_float(HandlerTable& t) {
  t.add("v_cvt_pk_fp8_f32", pack<Kind::fp8, 32>, pack<Kind::fp8, 64>);
  t.add("v_cvt_pk_bf8_f32", pack<Kind::bf8, 32>, pack<Kind::bf8, 64>);
  t.add("v_cvt_sr_fp8_f32", round_stochastically<Kind::fp8, 32>, round_stochastically<Kind::fp8, 64>);
  t.add("v_cvt_sr_bf8_f32", round_stochastically<Kind::bf8, 32>, round_stochastically<Kind::bf8, 64>);
  t.add("v_cvt_sr_f16_f32", round_stochastically<Kind::f16, 32>, round_stochastically<Kind::f16, 64>);
  t.add("v_cvt_sr_bf16_f32", round_stochastically<Kind::bf16, 32>, round_stochastically<Kind::bf16, 64>);
  t.add("v_cvt_f32_fp8", to_f32<Kind::fp8, 32>, to_f32<Kind::fp8, 64>);
  t.add("v_cvt_f32_bf8", to_f32<Kind::bf8, 32>, to_f32<Kind::bf8, 64>);
  t.add("v_cvt_pk_f32_fp8", to_two_f32<Kind::fp8, 32>, to_two_f32<Kind::fp8, 64>);
  t.add("v_cvt_pk_f32_bf8", to_two_f32<Kind::bf8, 32>, to_two_f32<Kind::bf8, 64>);
}

}  // namespace rapt::sim::packed
