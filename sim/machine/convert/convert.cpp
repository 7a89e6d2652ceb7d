// Conversions between floating-point formats, and from and to integers.
#include "sim/machine/convert/convert.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

constexpr auto same = [](auto x) { return x; };
constexpr auto to_float = [](auto x) { return static_cast<float>(x); };
constexpr auto to_double = [](auto x) { return static_cast<double>(x); };
template <unsigned k>
constexpr auto byte_to_float = [](std::uint32_t x) { return static_cast<float>(x >> 8 * k & 0xff); };
template <class To>
constexpr auto truncated = [](auto x) { return to_integer<To>(x); };
constexpr auto floored = [](float x) { return to_integer<std::int32_t>(std::floor(x)); };
// floor(x + 1/2) of the exact sum.
constexpr auto nearest = [](float x) { return to_integer<std::int32_t>(std::floor(static_cast<double>(x) + 0.5)); };

}  // namespace

void register_convert(HandlerTable& t) {
  add<f16(f32)>(t, "v_cvt_f16_f32", same);
  add<f32(f16)>(t, "v_cvt_f32_f16", same);
  add<f32(bf16)>(t, "v_cvt_f32_bf16", same);
  add<f32(f64)>(t, "v_cvt_f32_f64", to_float);
  add<f64(f32)>(t, "v_cvt_f64_f32", to_double);

  add<f32(i32)>(t, "v_cvt_f32_i32", to_float);
  add<f32(u32)>(t, "v_cvt_f32_u32", to_float);
  add<f64(i32)>(t, "v_cvt_f64_i32", to_double);
  add<f64(u32)>(t, "v_cvt_f64_u32", to_double);
  add<f16(i16)>(t, "v_cvt_f16_i16", to_float);
  add<f16(u16)>(t, "v_cvt_f16_u16", to_float);
  add<f32(u32)>(t, "v_cvt_f32_ubyte0", byte_to_float<0>);
  add<f32(u32)>(t, "v_cvt_f32_ubyte1", byte_to_float<1>);
  add<f32(u32)>(t, "v_cvt_f32_ubyte2", byte_to_float<2>);
  add<f32(u32)>(t, "v_cvt_f32_ubyte3", byte_to_float<3>);
  // Four bits as a signed multiple of 1/16.
  add<f32(u32)>(t, "v_cvt_off_f32_i4",
                [](std::uint32_t x) { return static_cast<float>(static_cast<std::int32_t>(x << 28) >> 28) * 0x1p-4F; });

  add<i32(f32)>(t, "v_cvt_i32_f32", truncated<std::int32_t>);
  add<u32(f32)>(t, "v_cvt_u32_f32", truncated<std::uint32_t>);
  add<i32(f64)>(t, "v_cvt_i32_f64", truncated<std::int32_t>);
  add<u32(f64)>(t, "v_cvt_u32_f64", truncated<std::uint32_t>);
  add<i16(f16)>(t, "v_cvt_i16_f16", truncated<std::int16_t>);
  add<u16(f16)>(t, "v_cvt_u16_f16", truncated<std::uint16_t>);
  add<i32(f32)>(t, "v_cvt_rpi_i32_f32", nearest);
  add<i32(f32)>(t, "v_cvt_nearest_i32_f32", nearest);
  add<i32(f32)>(t, "v_cvt_flr_i32_f32", floored);
  add<i32(f32)>(t, "v_cvt_floor_i32_f32", floored);
  add<i16(f16)>(t, "v_cvt_norm_i16_f16", [](float x) { return to_normalised<std::int16_t>(x); });
  add<u16(f16)>(t, "v_cvt_norm_u16_f16", [](float x) { return to_normalised<std::uint16_t>(x); });
  add<i32(i16)>(t, "v_cvt_i32_i16", [](std::int16_t x) { return std::int32_t{x}; });
  add<u32(u16)>(t, "v_cvt_u32_u16", [](std::uint16_t x) { return std::uint32_t{x}; });
}

}  // namespace rapt::sim::valu
