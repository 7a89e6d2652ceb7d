// Scalar floating-point operations of gfx1151 and gfx12 (RDNA3.5 and RDNA4 ISA documents, SALU float instructions).
// Types, rounding and denormal rules are as in the VALU.
#include "sim/machine/scalar/scalar.hpp"
#include "sim/machine/operands/valu.hpp"

#include <cmath>

namespace rapt::sim {
namespace {

using namespace valu;

constexpr ArchSet scalar_float = only(Arch::gfx1151) | gfx12;

template <class T>
std::uint32_t flushed(const Wave& w, std::uint32_t bits, Direction direction) {
  if constexpr (T::is_float)
    if (T::format.is_denormal(bits) && !keeps_denormals(w, info<T>(), direction)) return bits & T::format.sign();
  return bits;
}

template <class T>
std::uint32_t operand_bits(const Wave& w, const Operand& o) {
  const std::uint32_t all = read_scalar32(w, o);
  return flushed<T>(w, T::bits == 16 ? all & 0xffff : all, Direction::input);
}

// The first source that is a NaN, quieted; else the positive default.
template <class R, class... A>
std::uint32_t nan_result(std::array<std::uint32_t, sizeof...(A)> sources) {
  std::uint32_t result = static_cast<std::uint32_t>(R::format.default_nan());
  if constexpr ((std::is_same_v<R, A> && ...)) {
    for (std::size_t k = sources.size(); k-- > 0;)
      if (R::format.is_nan(sources[k])) result = sources[k] | static_cast<std::uint32_t>(R::format.quiet());
  }
  return result;
}

template <class Signature, class F>
struct ScalarOperation;

template <class R, class... A, class F>
struct ScalarOperation<R(A...), F> {
  static std::uint32_t apply(const Wave& w, std::array<std::uint32_t, sizeof...(A)> sources) {
    return apply(w, sources, std::index_sequence_for<A...>{});
  }

 private:
  template <std::size_t... K>
  static std::uint32_t apply(const Wave& w, std::array<std::uint32_t, sizeof...(A)> sources,
                             std::index_sequence<K...>) {
    if constexpr (R::is_float) {
      const Rounding as_mode = rounding<R>(w);
      const HostRounding host(as_mode.mode);
      const auto value = F{}(A::decode(flushed<A>(w, sources[K], Direction::input))...);
      if (value != value) return nan_result<R, A...>(sources);
      return flushed<R>(w, R::encode(value, as_mode), Direction::output);
    } else {
      return R::encode(F{}(A::decode(flushed<A>(w, sources[K], Direction::input))...), Round::nearest);
    }
  }
};

template <class R, class A>
void add_unary(HandlerTable& t, std::string_view name, auto f) {
  t.add(
      name,
      [](Wave& w, const Instruction& i) {
        write_scalar32(w, i.dst, ScalarOperation<R(A), decltype(f)>::apply(w, {operand_bits<A>(w, i.src[0])}));
      },
      scalar_float);
}

template <class T>
void add_binary(HandlerTable& t, std::string_view name, auto f) {
  t.add(
      name,
      [](Wave& w, const Instruction& i) {
        write_scalar32(w, i.dst,
                       ScalarOperation<T(T, T), decltype(f)>::apply(
                           w, {operand_bits<T>(w, i.src[0]), operand_bits<T>(w, i.src[1])}));
      },
      scalar_float);
}

void add_both(HandlerTable& t, std::string_view f32_name, std::string_view f16_name, auto f) {
  add_binary<f32>(t, f32_name, f);
  add_binary<f16>(t, f16_name, f);
}

void add_both_unary(HandlerTable& t, std::string_view f32_name, std::string_view f16_name, auto f) {
  add_unary<f32, f32>(t, f32_name, f);
  add_unary<f16, f16>(t, f16_name, f);
}

// A product of two f16 is exact in double; encode rounds the sum once.
template <class T>
std::uint32_t fma_bits(const Wave& w, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  constexpr auto fused = [](float x, float y, float z) {
    if constexpr (T::bits == 32) return std::fma(x, y, z);
    else return std::fma(double{x}, double{y}, double{z});
  };
  return ScalarOperation<T(T, T, T), decltype(fused)>::apply(w, {a, b, c});
}

template <class T>
void add_fmac(HandlerTable& t, std::string_view name) {
  t.add(
      name,
      [](Wave& w, const Instruction& i) {
        write_scalar32(
            w, i.dst,
            fma_bits<T>(w, operand_bits<T>(w, i.src[0]), operand_bits<T>(w, i.src[1]), operand_bits<T>(w, i.dst)));
      },
      scalar_float);
}

// Both minNum forms of IEEE 754-2008 and the NaN-propagating minimum of 2019; -0 is below +0.
float min_number(float a, float b) { return a != a ? b : b != b ? a : a < b || (a == b && std::signbit(a)) ? a : b; }
float max_number(float a, float b) { return a != a ? b : b != b ? a : a > b || (a == b && !std::signbit(a)) ? a : b; }
float minimum(float a, float b) { return a != a ? a : b != b ? b : min_number(a, b); }
float maximum(float a, float b) { return a != a ? a : b != b ? b : max_number(a, b); }

// Whatever rounding mode the host is in.
float round_to_even(float a) {
  const float away = std::trunc(a), rest = a - away;
  if (std::fabs(rest) < 0.5F || (std::fabs(rest) == 0.5F && std::fmod(away, 2.0F) == 0)) return std::copysign(away, a);
  return away + std::copysign(1.0F, a);
}

template <class T, class Compare>
void add_comparison(HandlerTable& t, std::string_view name, Compare) {
  t.add(
      name,
      [](Wave& w, const Instruction& i) {
        w.scc = Compare{}(T::decode(operand_bits<T>(w, i.src[0])), T::decode(operand_bits<T>(w, i.src[1])));
      },
      scalar_float);
}

void add_comparisons(HandlerTable& t, std::string_view f32_name, std::string_view f16_name, auto compare) {
  add_comparison<f32>(t, f32_name, compare);
  add_comparison<f16>(t, f16_name, compare);
}

void register_comparisons(HandlerTable& t) {
#define COMPARE(op, expression) \
  add_comparisons(t, "s_cmp_" op "_f32", "s_cmp_" op "_f16", [](float a, float b) { return expression; })
  COMPARE("lt", a < b);
  COMPARE("eq", a == b);
  COMPARE("le", a <= b);
  COMPARE("gt", a > b);
  COMPARE("lg", a < b || a > b);
  COMPARE("ge", a >= b);
  COMPARE("o", a == a && b == b);
  COMPARE("u", a != a || b != b);
  COMPARE("nge", !(a >= b));
  COMPARE("nlg", !(a < b || a > b));
  COMPARE("ngt", !(a > b));
  COMPARE("nle", !(a <= b));
  COMPARE("neq", a != b);
  COMPARE("nlt", !(a < b));
#undef COMPARE
}

template <class T>
T saturated(float value) {
  if (value != value) return 0;
  constexpr float low = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float high = static_cast<float>(std::numeric_limits<T>::max());  // 2^31 or 2^32 after rounding
  return value <= low    ? std::numeric_limits<T>::min()
         : value >= high ? std::numeric_limits<T>::max()
                         : static_cast<T>(value);
}

void register_conversions(HandlerTable& t) {
  add_unary<f32, i32>(t, "s_cvt_f32_i32", [](std::int32_t a) { return static_cast<float>(a); });
  add_unary<f32, u32>(t, "s_cvt_f32_u32", [](std::uint32_t a) { return static_cast<float>(a); });
  add_unary<i32, f32>(t, "s_cvt_i32_f32", [](float a) { return saturated<std::int32_t>(a); });
  add_unary<u32, f32>(t, "s_cvt_u32_f32", [](float a) { return saturated<std::uint32_t>(a); });
  add_unary<f16, f32>(t, "s_cvt_f16_f32", [](float a) { return a; });
  add_unary<f32, f16>(t, "s_cvt_f32_f16", [](float a) { return a; });
  t.add(
      "s_cvt_hi_f32_f16",
      [](Wave& w, const Instruction& i) {
        write_scalar32(w, i.dst,
                       ScalarOperation<f32(f16), decltype([](float a) { return a; })>::apply(
                           w, {read_scalar32(w, i.src[0]) >> 16}));
      },
      scalar_float);
  t.add(
      "s_cvt_pk_rtz_f16_f32",
      [](Wave& w, const Instruction& i) {
        const auto half = [&w](const Operand& o) {
          return float_to_half(f32::decode(read_scalar32(w, o)), Round::zero);
        };
        write_scalar32(w, i.dst, half(i.src[0]) | half(i.src[1]) << 16);
      },
      scalar_float);
}

}  // namespace

void register_scalar_float(HandlerTable& t) {
  add_both(t, "s_add_f32", "s_add_f16", [](float a, float b) { return a + b; });
  add_both(t, "s_sub_f32", "s_sub_f16", [](float a, float b) { return a - b; });
  add_both(t, "s_mul_f32", "s_mul_f16", [](float a, float b) { return a * b; });
  add_both(t, "s_min_f32", "s_min_f16", [](float a, float b) { return min_number(a, b); });
  add_both(t, "s_max_f32", "s_max_f16", [](float a, float b) { return max_number(a, b); });
  add_both(t, "s_min_num_f32", "s_min_num_f16", [](float a, float b) { return min_number(a, b); });
  add_both(t, "s_max_num_f32", "s_max_num_f16", [](float a, float b) { return max_number(a, b); });
  add_both(t, "s_minimum_f32", "s_minimum_f16", [](float a, float b) { return minimum(a, b); });
  add_both(t, "s_maximum_f32", "s_maximum_f16", [](float a, float b) { return maximum(a, b); });
  add_both_unary(t, "s_ceil_f32", "s_ceil_f16", [](float a) { return std::ceil(a); });
  add_both_unary(t, "s_floor_f32", "s_floor_f16", [](float a) { return std::floor(a); });
  add_both_unary(t, "s_trunc_f32", "s_trunc_f16", [](float a) { return std::trunc(a); });
  add_both_unary(t, "s_rndne_f32", "s_rndne_f16", [](float a) { return round_to_even(a); });
  add_fmac<f32>(t, "s_fmac_f32");
  add_fmac<f16>(t, "s_fmac_f16");
  for (const char* name : {"s_fmaak_f32", "s_fmamk_f32"})  // a * b + constant, a * constant + b: sources in text order
    t.add(
        name,
        [](Wave& w, const Instruction& i) {
          write_scalar32(w, i.dst,
                         fma_bits<f32>(w, operand_bits<f32>(w, i.src[0]), operand_bits<f32>(w, i.src[1]),
                                       operand_bits<f32>(w, i.src[2])));
        },
        scalar_float);
  register_comparisons(t);
  register_conversions(t);
}

}  // namespace rapt::sim
