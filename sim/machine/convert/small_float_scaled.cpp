// gfx950's v_cvt_scalef32_*: the exponent of an f32 source is the scale. Conversions from small floats multiply by it,
// conversions to small floats divide by it (CDNA4 document, sections 12.11 and 7.3).
#include "sim/machine/convert/small_float_lanes.hpp"

#include <cmath>
#include <span>

namespace rapt::sim::packed {

namespace {

constexpr unsigned N = 64;
enum class Wide : std::uint8_t { f32, f16, bf16 };
enum class Count : std::uint8_t { one = 1, two = 2, all = 32 };

constexpr unsigned width(Wide w) { return w == Wide::f32 ? 32 : 16; }

int scale_of(std::uint32_t v) { return static_cast<int>(v >> 23 & 255) - 127; }

// Element e of an operand with elements of `size` bits.
std::uint32_t element(const std::uint32_t* const* rows, unsigned size, unsigned e, unsigned lane) {
  const unsigned at = e * size, shift = at % 32;
  std::uint64_t both = rows[at / 32][lane];
  if (shift + size > 32) both |= std::uint64_t{rows[at / 32 + 1][lane]} << 32;
  return static_cast<std::uint32_t>(both >> shift & ((std::uint64_t{1} << size) - 1));
}
void put_element(Row<N>* rows, unsigned size, unsigned e, unsigned lane, std::uint32_t value) {
  const unsigned at = e * size, shift = at % 32;
  rows[at / 32][lane] |= value << shift;
  if (shift + size > 32) rows[at / 32 + 1][lane] |= value >> (32 - shift);
}

template <Wide wide>
std::uint32_t as_f32(std::uint32_t v) {
  if constexpr (wide == Wide::f32) return v;
  else return wide == Wide::f16 ? widen_bits<f16_format>(v) : v << 16;
}
template <Wide wide>
std::uint32_t from_double(const Wave& w, double v) {
  if constexpr (wide == Wide::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(v));
  else if constexpr (wide == Wide::f16)
    return valu::f16::encode(v, {valu::Round::nearest, (w.mode & mode::fp16_ovfl) != 0});
  else return valu::bf16::encode(v, valu::Round::nearest);
}

// Rows of a source of `dwords` registers.
template <unsigned dwords>
struct Source {
  Row<N> scratch[dwords];
  const std::uint32_t* rows[dwords];
  Source(Wave& w, const Instruction& i, unsigned k, bool modified) {
    for (unsigned d = 0; d < dwords; ++d)
      rows[d] = modified ? f32_source<N>(w, i, k, d, scratch[d]) : valu::row_source<N>(w, i.src[k], d, scratch[d]);
  }
};

// Small floats from wide ones. One or two go to the byte or half that op_sel selects, 32 to separate registers.
// Operands: values; random bits where stochastic; scale. Two f32 to nearest are two sources, and 32 as well ("2xpk16").
template <SmallFloat format, Wide wide, Count count, bool stochastic>
void narrow_scaled(Wave& w, const Instruction& i) {
  constexpr unsigned n = static_cast<unsigned>(count);
  constexpr bool two_sources = wide == Wide::f32 && n > 1 && !stochastic;
  constexpr unsigned value_bits = n * width(wide) / (two_sources ? 2 : 1);
  constexpr unsigned dwords = value_bits < 32 ? 1 : value_bits / 32;
  constexpr unsigned scale_source = two_sources || stochastic ? 2 : 1;
  const Source<dwords> values(w, i, 0, wide == Wide::f32);
  const Source<dwords> others(w, i, two_sources ? 1 : 0, wide == Wide::f32);
  const Source<1> random(w, i, stochastic ? 1 : 0, false), scale(w, i, scale_source, false);
  const bool in_rows = wide == Wide::f32;  // where the modifiers are applied already
  const std::uint32_t keep = !in_rows && (i.abs & 1) != 0 ? 0x7fffffff : 0xffffffff,
                      flip = !in_rows && (i.neg & 1) != 0 ? 0x80000000 : 0;
  const auto modified = [&](std::uint32_t v) { return (v & keep) ^ flip; };
  const unsigned half = count == Count::one && wide != Wide::f32 && (i.op_sel & 1) != 0 ? 1 : 0;
  alignas(64) Row<N> out[n == 32 ? 6 : 1] = {};
  Narrowing how{.stochastic = stochastic, .saturate = (w.mode & mode::fp16_ovfl) != 0};
  for (unsigned l = 0; l < N; ++l) {
    how.scale = scale_of(scale.rows[0][l]);
    how.random = random.rows[0][l];
    for (unsigned e = 0; e < n; ++e) {
      std::uint32_t v;
      if constexpr (two_sources) v = element(e % 2 == 0 ? values.rows : others.rows, 32, e / 2, l);
      else v = modified(as_f32<wide>(element(values.rows, width(wide), e + half, l)));
      put_element(out, format.bits, e, l, narrow(format, v, how));
      how.random = next_random(how.random);
    }
  }
  if constexpr (n == 32) {
    for (unsigned d = 0; d < 6; ++d) valu::write_row<N>(w.row(i.dst) + d * N, out[d].data(), w.exec());
  } else {
    constexpr unsigned bits = n * format.bits;
    write_bits<N>(w, i, bits == 16 ? (i.op_sel & 8U) * 2 : (i.op_sel >> 2 & 3U) * 8, bits, out[0]);
  }
}

// Wide floats from small ones, which op_sel selects (one: a byte; two: a half, or a byte of fp4).
template <SmallFloat format, Wide wide, Count count>
void widen_scaled(Wave& w, const Instruction& i) {
  constexpr unsigned n = static_cast<unsigned>(count);
  constexpr unsigned result_dwords = n * width(wide) < 32 ? 1 : n * width(wide) / 32;
  const Source<n == 32 ? 6 : 1> values(w, i, 0, false);
  const Source<1> scale(w, i, 1, false);
  constexpr unsigned taken = n * format.bits;
  const unsigned first = n == 32       ? 0
                         : taken == 16 ? (i.op_sel & 1U) * 16 / format.bits
                                       : (i.op_sel & 3U) * 8 / format.bits;
  alignas(64) Row<N> out[result_dwords] = {};
  for (unsigned l = 0; l < N; ++l) {
    const double factor = std::ldexp(1.0, scale_of(scale.rows[0][l]));
    for (unsigned e = 0; e < n; ++e) {
      const float v = widen<format>(element(values.rows, format.bits, first + e, l));
      put_element(out, width(wide), e, l, from_double<wide>(w, static_cast<double>(v) * factor));
    }
  }
  if constexpr (n * width(wide) == 16) return write_bits<N>(w, i, (i.op_sel & 8U) * 2, 16, out[0]);
  for (unsigned d = 0; d < result_dwords; ++d) valu::write_row<N>(w.row(i.dst) + d * N, out[d].data(), w.exec());
}

void add_all(HandlerTable& t, std::initializer_list<std::string_view> names, std::span<const Handler> handlers) {
  std::size_t k = 0;
  for (const std::string_view name : names) t.add(name, nullptr, handlers[k++], only(Arch::gfx950));
}

template <SmallFloat f>
void add_8(HandlerTable& t, std::initializer_list<std::string_view> names) {
  using enum Wide;
  using enum Count;
  const Handler handlers[] = {
      narrow_scaled<f, f32, two, false>, narrow_scaled<f, f16, two, false>, narrow_scaled<f, bf16, two, false>,
      narrow_scaled<f, f32, one, true>,  narrow_scaled<f, f16, one, true>,  narrow_scaled<f, bf16, one, true>,
      widen_scaled<f, f32, two>,         widen_scaled<f, f16, two>,         widen_scaled<f, bf16, two>,
      widen_scaled<f, f32, one>,         widen_scaled<f, f16, one>,
  };
  add_all(t, names, handlers);
}

template <SmallFloat f>
void add_6(HandlerTable& t, std::initializer_list<std::string_view> names) {
  using enum Wide;
  using enum Count;
  const Handler handlers[] = {
      narrow_scaled<f, f32, all, false>, narrow_scaled<f, f16, all, false>, narrow_scaled<f, bf16, all, false>,
      narrow_scaled<f, f32, all, true>,  narrow_scaled<f, f16, all, true>,  narrow_scaled<f, bf16, all, true>,
      widen_scaled<f, f32, all>,         widen_scaled<f, f16, all>,         widen_scaled<f, bf16, all>,
  };
  add_all(t, names, handlers);
}

template <SmallFloat f>
void add_4(HandlerTable& t, std::initializer_list<std::string_view> names) {
  using enum Wide;
  using enum Count;
  const Handler handlers[] = {
      narrow_scaled<f, f32, two, false>, narrow_scaled<f, f16, two, false>, narrow_scaled<f, bf16, two, false>,
      narrow_scaled<f, f32, two, true>,  narrow_scaled<f, f16, two, true>,  narrow_scaled<f, bf16, two, true>,
      widen_scaled<f, f32, two>,         widen_scaled<f, f16, two>,         widen_scaled<f, bf16, two>,
  };
  add_all(t, names, handlers);
}

}  // namespace

void register_scaled(HandlerTable& t) {
  add_8<fp8_format>(t, {"v_cvt_scalef32_pk_fp8_f32", "v_cvt_scalef32_pk_fp8_f16", "v_cvt_scalef32_pk_fp8_bf16",
                        "v_cvt_scalef32_sr_fp8_f32", "v_cvt_scalef32_sr_fp8_f16", "v_cvt_scalef32_sr_fp8_bf16",
                        "v_cvt_scalef32_pk_f32_fp8", "v_cvt_scalef32_pk_f16_fp8", "v_cvt_scalef32_pk_bf16_fp8",
                        "v_cvt_scalef32_f32_fp8", "v_cvt_scalef32_f16_fp8"});
  add_8<bf8_format>(t, {"v_cvt_scalef32_pk_bf8_f32", "v_cvt_scalef32_pk_bf8_f16", "v_cvt_scalef32_pk_bf8_bf16",
                        "v_cvt_scalef32_sr_bf8_f32", "v_cvt_scalef32_sr_bf8_f16", "v_cvt_scalef32_sr_bf8_bf16",
                        "v_cvt_scalef32_pk_f32_bf8", "v_cvt_scalef32_pk_f16_bf8", "v_cvt_scalef32_pk_bf16_bf8",
                        "v_cvt_scalef32_f32_bf8", "v_cvt_scalef32_f16_bf8"});
  add_6<fp6_format>(
      t, {"v_cvt_scalef32_2xpk16_fp6_f32", "v_cvt_scalef32_pk32_fp6_f16", "v_cvt_scalef32_pk32_fp6_bf16",
          "v_cvt_scalef32_sr_pk32_fp6_f32", "v_cvt_scalef32_sr_pk32_fp6_f16", "v_cvt_scalef32_sr_pk32_fp6_bf16",
          "v_cvt_scalef32_pk32_f32_fp6", "v_cvt_scalef32_pk32_f16_fp6", "v_cvt_scalef32_pk32_bf16_fp6"});
  add_6<bf6_format>(
      t, {"v_cvt_scalef32_2xpk16_bf6_f32", "v_cvt_scalef32_pk32_bf6_f16", "v_cvt_scalef32_pk32_bf6_bf16",
          "v_cvt_scalef32_sr_pk32_bf6_f32", "v_cvt_scalef32_sr_pk32_bf6_f16", "v_cvt_scalef32_sr_pk32_bf6_bf16",
          "v_cvt_scalef32_pk32_f32_bf6", "v_cvt_scalef32_pk32_f16_bf6", "v_cvt_scalef32_pk32_bf16_bf6"});
  add_4<fp4_format>(t, {"v_cvt_scalef32_pk_fp4_f32", "v_cvt_scalef32_pk_fp4_f16", "v_cvt_scalef32_pk_fp4_bf16",
                        "v_cvt_scalef32_sr_pk_fp4_f32", "v_cvt_scalef32_sr_pk_fp4_f16", "v_cvt_scalef32_sr_pk_fp4_bf16",
                        "v_cvt_scalef32_pk_f32_fp4", "v_cvt_scalef32_pk_f16_fp4", "v_cvt_scalef32_pk_bf16_fp4"});
}

}  // namespace rapt::sim::packed
