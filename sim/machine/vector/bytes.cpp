// Bytes and words inside registers: sums of absolute differences, averages, selections.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

using U = std::uint32_t;
using Wide = std::uint64_t;

U distance(U a, U b) { return a > b ? a - b : b - a; }
U byte(Wide x, unsigned k) { return static_cast<U>(x >> 8 * k) & 0xff; }

U sad_bytes(U a, U b) {
  U sum = 0;
  for (unsigned k = 0; k < 4; ++k) sum += distance(byte(a, k), byte(b, k));
  return sum;
}
// Bytes that are 0 in the second source are skipped.
U sad_masked(U a, U b) {
  U sum = 0;
  for (unsigned k = 0; k < 4; ++k) sum += byte(b, k) == 0 ? 0 : distance(byte(a, k), byte(b, k));
  return sum;
}
U sad_words(U a, U b) { return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16); }

// Four windows of four bytes, one byte apart, each against the same four; 16-bit sums, saturated under CLAMP.
template <U sad(U, U)>
Wide quad_sad(const Instruction& i, Wide a, U b, Wide c) {
  Wide result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const U sum = sad(static_cast<U>(a >> 8 * k), b) + (static_cast<U>(c >> 16 * k) & 0xffff);
    result |= Wide{i.clamp && sum > 0xffff ? 0xffff : sum & 0xffff} << 16 * k;
  }
  return result;
}

// The quad operations have a separate path: they need the instruction for CLAMP, and one writes four registers.
template <U sad(U, U)>
struct Quad16 {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    if (run_indexed(w, i, &Quad16::run<N>)) return;
    std::array<Scratch<N>, 3> scratch;
    const Source<u64, N> a = fetch<u64, N>(w, i, 0, true, scratch[0]), c = fetch<u64, N>(w, i, 2, true, scratch[2]);
    const Source<u32, N> b = fetch<u32, N>(w, i, 1, true, scratch[1]);
    alignas(64) U lo[N], hi[N];
    for (unsigned l = 0; l < N; ++l) {
      const Wide result = quad_sad<sad>(i, a[l], b[l], c[l]);
      lo[l] = static_cast<U>(result);
      hi[l] = static_cast<U>(result >> 32);
    }
    write<u64, N>(w, i, w.exec(), lo, hi);
  }
};

struct Quad32 {
  template <unsigned N>
  static void run(Wave& w, const Instruction& i) {
    if (run_indexed(w, i, &Quad32::run<N>)) return;
    std::array<Scratch<N>, 2> scratch;
    const Source<u64, N> a = fetch<u64, N>(w, i, 0, true, scratch[0]);
    const Source<u32, N> b = fetch<u32, N>(w, i, 1, true, scratch[1]);
    alignas(64) U result[4][N];
    Row<N> row;
    for (unsigned k = 0; k < 4; ++k) {
      const U* c = row_source<N>(w, i.src[2], k, row);
      for (unsigned l = 0; l < N; ++l) {
        const Wide sum = Wide{sad_masked(static_cast<U>(a[l] >> 8 * k), b[l])} + c[l];
        result[k][l] = i.clamp && sum > 0xffffffff ? 0xffffffff : static_cast<U>(sum);
      }
    }
    for (unsigned k = 0; k < 4; ++k) write_row<N>(w.row(i.dst) + std::size_t{k} * N, result[k], w.exec());
  }
};

template <class Q>
void add_quad(HandlerTable& t, std::string_view name) {
  t.add(name, &Q::template run<32>, &Q::template run<64>);
}

// One byte of {high, low}: 0..7 a byte, 8..11 the sign of byte 1, 3, 5 or 7, 12 zeros, above it ones (RDNA3 ISA,
// V_PERM_B32). In 32 bits, which are vectorised better.
U permuted_byte(U high, U low, U selector) {
  const U picked = ((selector & 4) != 0 ? high : low) >> 8 * (selector & 3) & 0xff;
  const U signs = (selector & 2) != 0 ? high : low;
  const U sign = 0U - (signs >> ((selector & 1) != 0 ? 31 : 15) & 1);
  const U special = selector == 12 ? 0 : selector > 12 ? ~0U : sign;
  return selector < 8 ? picked : special & 0xff;
}
struct Permute {
  U operator()(U high, U low, U selectors) const {
    return permuted_byte(high, low, selectors & 0xff) | permuted_byte(high, low, selectors >> 8 & 0xff) << 8 |
           permuted_byte(high, low, selectors >> 16 & 0xff) << 16 | permuted_byte(high, low, selectors >> 24) << 24;
  }
#ifdef __AVX512BW__
  // If every selector names a byte.
  template <unsigned N>
  static bool rows(const std::tuple<Source<b32, N>, Source<b32, N>, Source<b32, N>>& sources, U* lo, U*) {
    const auto& [high, low, selectors] = sources;
    const __m512i base = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    __mmask16 others = 0;
    for (unsigned l = 0; l < N; l += 16) {
      const __m512i select = _mm512_loadu_si512(selectors.lo + l);
      others |= _mm512_test_epi32_mask(select, _mm512_set1_epi8(static_cast<char>(0xf8)));
      const __m512i index = _mm512_or_si512(_mm512_and_si512(select, _mm512_set1_epi8(3)), base);
      const __mmask64 from_high = _mm512_test_epi8_mask(select, _mm512_set1_epi8(4));
      const __m512i bytes = _mm512_shuffle_epi8(_mm512_loadu_si512(low.lo + l), index);
      _mm512_storeu_si512(lo + l, _mm512_mask_shuffle_epi8(bytes, from_high, _mm512_loadu_si512(high.lo + l), index));
    }
    return others == 0;
  }
#endif
};

U average(U a, U b, U round) {
  U result = 0;
  for (unsigned k = 0; k < 4; ++k) result |= (byte(a, k) + byte(b, k) + (byte(round, k) & 1)) >> 1 << 8 * k;
  return result;
}

}  // namespace

void register_bytes(HandlerTable& t) {
  add<u32(u32, u32, u32)>(t, "v_sad_u8", [](U a, U b, U c) { return Wide{sad_bytes(a, b)} + c; });
  add<u32(u32, u32, u32)>(t, "v_msad_u8", [](U a, U b, U c) { return Wide{sad_masked(a, b)} + c; });
  add<u32(u32, u32, u32)>(t, "v_sad_hi_u8", [](U a, U b, U c) { return (Wide{sad_bytes(a, b)} << 16) + c; });
  add<u32(u32, u32, u32)>(t, "v_sad_u16", [](U a, U b, U c) { return Wide{sad_words(a, b)} + c; });
  add<u32(u32, u32, u32)>(t, "v_sad_u32", [](U a, U b, U c) { return Wide{distance(a, b)} + c; });
  add_quad<Quad16<sad_bytes>>(t, "v_qsad_pk_u16_u8");
  add_quad<Quad16<sad_masked>>(t, "v_mqsad_pk_u16_u8");
  add_quad<Quad32>(t, "v_mqsad_u32_u8");

  add<b32(b32, b32, b32)>(t, "v_perm_b32", Permute{});
  add<b32(b32, b32, u16)>(t, "v_alignbit_b32",
                          [](U a, U b, U shift) { return static_cast<U>((Wide{a} << 32 | b) >> (shift & 31)); });
  add<b32(b32, b32, u16)>(t, "v_alignbyte_b32",
                          [](U a, U b, U shift) { return static_cast<U>((Wide{a} << 32 | b) >> 8 * (shift & 3)); });
  add<b32(b32, b32, b32)>(t, "v_lerp_u8", [](U a, U b, U c) { return average(a, b, c); });
}

}  // namespace rapt::sim::valu
