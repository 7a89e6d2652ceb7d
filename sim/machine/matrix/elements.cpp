#include "sim/machine/matrix/elements.hpp"

#include "sim/machine/convert/small_float.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace rapt::sim::matrix {

namespace {

template <class Convert>
inline void convert_row(const std::uint32_t* __restrict row, unsigned lanes, float* __restrict to, Convert convert) {
#pragma GCC ivdep
  for (unsigned l = 0; l < lanes; ++l) to[l] = convert(row[l]);
}

// Elements whose size divides 32.
template <unsigned size, class Convert>
inline void unpack_packed(const std::uint32_t* rows, unsigned elements, unsigned lanes, float* to, Convert convert) {
  constexpr unsigned each = 32 / size;
  for (unsigned e = 0; e < elements; ++e) {
    const unsigned shift = e % each * size;
    convert_row(rows + e / each * lanes, lanes, to + e * lanes,
                [=](std::uint32_t v) { return convert(v >> shift & (size == 32 ? ~0U : (1U << size % 32) - 1)); });
  }
}

// The low and the high halves of a row; `lanes` is a multiple of 16.
void unpack_f16(const std::uint32_t* rows, unsigned elements, unsigned lanes, float* to) {
#ifdef __AVX512F__
  for (unsigned e = 0; e < elements; e += 2)
    for (unsigned l = 0; l < lanes; l += 16) {
      const __m512i pairs = _mm512_loadu_si512(rows + e / 2 * lanes + l);
      const auto widened = [](__m512i words) {
        return _mm512_maskz_cvtph_ps(0xffff, _mm512_maskz_cvtepi32_epi16(0xffff, words));
      };
      _mm512_storeu_ps(to + e * lanes + l, widened(pairs));
      _mm512_storeu_ps(to + (e + 1) * lanes + l, widened(_mm512_maskz_srli_epi32(0xffff, pairs, 16)));
    }
#else
  unpack_packed<16>(rows, elements, lanes, to, [](std::uint32_t v) { return widen<f16_format>(v); });
#endif
}

template <SmallFloat format>
void unpack_small(const std::uint32_t* rows, unsigned elements, unsigned lanes, float* to) {
  if constexpr (32 % format.bits == 0) {
    unpack_packed<format.bits>(rows, elements, lanes, to, [](std::uint32_t v) { return widen<format>(v); });
  } else {  // 6 bits: an element may span two registers
    for (unsigned e = 0; e < elements; ++e) {
      const unsigned at = e * format.bits, shift = at % 32;
      const std::uint32_t* __restrict low = rows + at / 32 * lanes;
      const std::uint32_t* __restrict high = shift > 32 - format.bits ? low + lanes : low;
      float* __restrict out = to + e * lanes;
#pragma GCC ivdep
      for (unsigned l = 0; l < lanes; ++l) {
        const std::uint32_t bits = low[l] >> shift | (high[l] << 1) << (31 - shift);
        out[l] = widen<format>(bits & ((1U << format.bits) - 1));
      }
    }
  }
}

template <unsigned size, bool is_signed>
void unpack_integer(const std::uint32_t* rows, unsigned elements, unsigned lanes, float* to) {
  unpack_packed<size>(rows, elements, lanes, to, [](std::uint32_t v) {
    const auto i = static_cast<std::int32_t>(v << (32 - size));
    return is_signed ? static_cast<float>(i >> (32 - size)) : static_cast<float>(static_cast<std::int32_t>(v));
  });
}

}  // namespace

void unpack(Element type, Arch arch, const std::uint32_t* rows, unsigned elements, unsigned lanes, float* to) {
  const bool fnuz = arch == Arch::gfx942;
  switch (type) {
    case Element::f32:
      return unpack_packed<32>(rows, elements, lanes, to, [](std::uint32_t v) { return std::bit_cast<float>(v); });
    case Element::xf32:  // 8 exponent and 10 mantissa bits; the rest is cut off (measured: see tile.hpp)
      return unpack_packed<32>(rows, elements, lanes, to,
                               [](std::uint32_t v) { return std::bit_cast<float>(v & 0xffffe000); });
    case Element::f16: return unpack_f16(rows, elements, lanes, to);
    case Element::bf16: return unpack_small<bf16_format>(rows, elements, lanes, to);
    case Element::fp8:
      return fnuz ? unpack_small<fp8_fnuz_format>(rows, elements, lanes, to)
                  : unpack_small<fp8_format>(rows, elements, lanes, to);
    case Element::bf8:
      return fnuz ? unpack_small<bf8_fnuz_format>(rows, elements, lanes, to)
                  : unpack_small<bf8_format>(rows, elements, lanes, to);
    case Element::fp6: return unpack_small<fp6_format>(rows, elements, lanes, to);
    case Element::bf6: return unpack_small<bf6_format>(rows, elements, lanes, to);
    case Element::fp4: return unpack_small<fp4_format>(rows, elements, lanes, to);
    case Element::i8: return unpack_integer<8, true>(rows, elements, lanes, to);
    case Element::u8: return unpack_integer<8, false>(rows, elements, lanes, to);
    case Element::i4: return unpack_integer<4, true>(rows, elements, lanes, to);
    case Element::u4: return unpack_integer<4, false>(rows, elements, lanes, to);
    case Element::f64:
    case Element::i32: break;  // never operands A and B of this path
  }
}

}  // namespace rapt::sim::matrix
