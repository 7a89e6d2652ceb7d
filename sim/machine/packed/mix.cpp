// The handlers of v_fma_mix*, a fused multiply-add of f32 whose sources are each f32 or f16. An f16 has its op_sel_hi
// set, and op_sel selects its half; neg_hi takes the magnitude, and neg negates. Source: RDNA3 document, "OPSEL for MIX
// instructions".
#include "sim/machine/packed/lanes.hpp"

namespace rapt::sim::packed {

namespace {

enum class Result : std::uint8_t { f32, low_f16, high_f16 };

template <unsigned N>
void mix_source(Wave& w, const Instruction& i, unsigned k, Row<N>& to) {
  Row<N> scratch;
  const std::uint32_t* row = word_source<N>(w, i, k, 0, scratch);
  const bool half = (i.op_sel_hi >> k & 1) != 0, high = (i.op_sel >> k & 1) != 0;
  for (unsigned l = 0; l < N; ++l) to[l] = half ? row[l] >> (high ? 16 : 0) & 0xffff : row[l];
  const bool keeps = half ? valu::keeps_denormals(w, valu::info<valu::f16>(), valu::Direction::input)
                          : valu::keeps_denormals(w, valu::info<valu::f32>(), valu::Direction::input);
  if (!keeps) flush<N>(half ? valu::format_f16 : valu::format_f32, to);
  if (half)
    for (std::uint32_t& v : to) v = std::bit_cast<std::uint32_t>(valu::half_to_float(v));
  if (((i.neg_hi | i.abs) >> k & 1) != 0)
    for (std::uint32_t& v : to) v &= 0x7fffffff;
  if ((i.neg >> k & 1) != 0)
    for (std::uint32_t& v : to) v ^= 0x80000000;
}

template <unsigned N, Result result>
void fma_mix(Wave& w, const Instruction& i) {
  using valu::f16;
  using valu::f32;
  if (valu::run_indexed(w, i, fma_mix<N, result>)) [[unlikely]]
    return;
  alignas(64) Row<N> rows[3], out;
  for (unsigned k = 0; k < 3; ++k) mix_source<N>(w, i, k, rows[k]);
  const auto sources =
      std::make_tuple(valu::Source<f32, N>{rows[0].data(), nullptr}, valu::Source<f32, N>{rows[1].data(), nullptr},
                      valu::Source<f32, N>{rows[2].data(), nullptr});
  constexpr auto fused = [](float a, float b, float c) { return std::fma(a, b, c); };
  {
    const valu::Rounding rounding = valu::rounding<f32>(w);
    const valu::HostRounding host(rounding.mode);
    valu::run_lanes<f32, valu::Options{}, decltype(fused), N>(w, i, sources, rounding, out.data(), nullptr);
  }
  const std::uint64_t lanes = i.lane_map == LaneMap::none ? w.exec() : valu::enabled_lanes<N>(w, i);
  std::uint32_t* const to = w.row(i.dst);
  if constexpr (result == Result::f32) {
    valu::modify_result<N>(w, i, valu::info<f32>(), false, out.data(), nullptr);
  } else {
    const valu::Rounding rounding = valu::rounding<f16>(w);
    for (std::uint32_t& v : out) v = valu::float_to_half(std::bit_cast<float>(v), rounding);
    valu::modify_result<N>(w, i, valu::info<f16>(), false, out.data(), nullptr);
    for (unsigned l = 0; l < N; ++l)
      out[l] = result == Result::low_f16 ? (to[l] & 0xffff0000) | (out[l] & 0xffff) : (to[l] & 0xffff) | out[l] << 16;
  }
  valu::write_row<N>(to, out.data(), lanes);
}

template <Result result>
void add_mix(HandlerTable& t, std::string_view name) {
  t.add(name, fma_mix<32, result>, fma_mix<64, result>);
}

}  // namespace

void register_mix(HandlerTable& t) {
  add_mix<Result::f32>(t, "v_fma_mix_f32");
  add_mix<Result::low_f16>(t, "v_fma_mixlo_f16");
  add_mix<Result::high_f16>(t, "v_fma_mixhi_f16");
}

}  // namespace rapt::sim::packed
