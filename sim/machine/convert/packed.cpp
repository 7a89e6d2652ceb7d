// Conversions whose results share a register.
#include "sim/machine/convert/convert.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

std::uint32_t insert_byte(std::uint32_t into, std::uint32_t byte, std::uint32_t position) {
  const std::uint32_t shift = 8 * (position & 3);
  return (into & ~(0xffU << shift)) | byte << shift;
}
constexpr auto insert_u8 = [](float x, std::uint32_t position, std::uint32_t into) {
  return insert_byte(into, to_integer<std::uint8_t>(x), position);
};

template <class To>
std::uint32_t pack_integers(float a, float b) {
  return pack(static_cast<std::uint16_t>(to_integer<To>(a)), static_cast<std::uint16_t>(to_integer<To>(b)));
}
template <class To>
std::uint32_t pack_normalised(float a, float b) {
  return pack(static_cast<std::uint16_t>(to_normalised<To>(a)), static_cast<std::uint16_t>(to_normalised<To>(b)));
}
constexpr auto normalised_i16 = [](float a, float b) { return pack_normalised<std::int16_t>(a, b); };
constexpr auto normalised_u16 = [](float a, float b) { return pack_normalised<std::uint16_t>(a, b); };

// Towards zero, whatever the mode is: a value that is too large becomes the largest finite one.
struct TowardZero {
  std::uint32_t operator()(float a, float b) const { return pack(to_half(a, Round::zero), to_half(b, Round::zero)); }
  template <unsigned N>
  static bool rows(const std::tuple<Source<f32, N>, Source<f32, N>>& sources, std::uint32_t* lo, std::uint32_t*) {
    FloatRow<N> a, b;
    std::memcpy(a.values, std::get<0>(sources).lo, sizeof a.values);
    std::memcpy(b.values, std::get<1>(sources).lo, sizeof b.values);
    Row<N> high;
    floats_to_halves<Round::zero, N>(a.values, lo);
    floats_to_halves<Round::zero, N>(b.values, high.data());
    for (unsigned l = 0; l < N; ++l) lo[l] |= high[l] << 16;
    return true;
  }
};

template <class To>
std::uint32_t shift_and_saturate(std::int32_t a, std::int32_t b, std::uint32_t shift) {
  const auto byte = [&](std::int32_t v) {
    return std::uint32_t{static_cast<std::uint8_t>(saturate<To>(v >> (shift & 31)))};
  };
  return byte(a) | byte(b) << 8;
}

}  // namespace

void register_convert_packed(HandlerTable& t) {
  constexpr Options f16_pair{.pair = Options::Pair::f16}, bf16_pair{.pair = Options::Pair::bf16};
  add<b32(f32, f32), f16_pair>(t, "v_cvt_pkrtz_f16_f32", TowardZero{});
  add<b32(f32, f32), f16_pair>(t, "v_cvt_pk_rtz_f16_f32", TowardZero{});
  // gfx950: to nearest even, whatever the mode is.
  add<b32(f32, f32), f16_pair>(t, "v_cvt_pk_f16_f32", [](const Wave& w, float a, float b) {
    const Rounding nearest(Round::nearest, (w.mode & mode::fp16_ovfl) != 0);
    return pack(to_half(a, nearest), to_half(b, nearest));
  });
  add<b32(f32, f32), bf16_pair>(t, "v_cvt_pk_bf16_f32", [](float a, float b) {
    return pack(to_bf16(a, Round::nearest), to_bf16(b, Round::nearest));
  });
  // NaNs become quiet and denormals are flushed by the mode (LLVM considers these operations canonicalizing).
  add<b32(f16, f16), f16_pair>(t, "v_pack_b32_f16", [](float a, float b) {
    return pack(to_half(a, Round::nearest), to_half(b, Round::nearest));
  });

  add<b32(f32, f32)>(t, "v_cvt_pknorm_i16_f32", normalised_i16);
  add<b32(f32, f32)>(t, "v_cvt_pknorm_u16_f32", normalised_u16);
  add<b32(f16, f16)>(t, "v_cvt_pknorm_i16_f16", normalised_i16);
  add<b32(f16, f16)>(t, "v_cvt_pknorm_u16_f16", normalised_u16);
  add<b32(f32, f32)>(t, "v_cvt_pk_norm_i16_f32", normalised_i16);
  add<b32(f32, f32)>(t, "v_cvt_pk_norm_u16_f32", normalised_u16);
  add<b32(f16, f16)>(t, "v_cvt_pk_norm_i16_f16", normalised_i16);
  add<b32(f16, f16)>(t, "v_cvt_pk_norm_u16_f16", normalised_u16);

  add<b32(f32, f32)>(t, "v_cvt_pk_i16_f32", [](float a, float b) { return pack_integers<std::int16_t>(a, b); });
  add<b32(f32, f32)>(t, "v_cvt_pk_u16_f32", [](float a, float b) { return pack_integers<std::uint16_t>(a, b); });
  add<b32(u32, u32)>(t, "v_cvt_pk_u16_u32", [](std::uint32_t a, std::uint32_t b) {
    return pack(saturate<std::uint16_t>(a), saturate<std::uint16_t>(b));
  });
  add<b32(i32, i32)>(t, "v_cvt_pk_i16_i32", [](std::int32_t a, std::int32_t b) {
    return pack(static_cast<std::uint16_t>(saturate<std::int16_t>(a)),
                static_cast<std::uint16_t>(saturate<std::int16_t>(b)));
  });

  add<b32(f32, u32, b32)>(t, "v_cvt_pk_u8_f32", insert_u8);
  add<b16(b32)>(t, "v_sat_pk_u8_i16", [](std::uint32_t x) {
    const auto byte = [](std::uint32_t v) {
      return saturate<std::uint8_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(v)));
    };
    return static_cast<std::uint16_t>(byte(x) | byte(x >> 16) << 8);
  });
  constexpr Options keep{.keep_half = true};
  add<b16(i32, i32, u32), keep>(t, "v_ashr_pk_i8_i32", [](std::int32_t a, std::int32_t b, std::uint32_t shift) {
    return static_cast<std::uint16_t>(shift_and_saturate<std::int8_t>(a, b, shift));
  });
  add<b16(i32, i32, u32), keep>(t, "v_ashr_pk_u8_i32", [](std::int32_t a, std::int32_t b, std::uint32_t shift) {
    return static_cast<std::uint16_t>(shift_and_saturate<std::uint8_t>(a, b, shift));
  });

  // The destination is the third source, which the instruction does not name.
  t.add("v_cvt_pkaccum_u8_f32", [](Wave& w, const Instruction& i) {
    Instruction with_destination = i;
    with_destination.src[2] = i.dst;
    using Op = Operation<b32(f32, u32, b32), decltype(insert_u8), Options{}>;
    if (w.lanes == 32) Op::run<32>(w, with_destination);
    else Op::run<64>(w, with_destination);
  });
}

}  // namespace rapt::sim::valu
