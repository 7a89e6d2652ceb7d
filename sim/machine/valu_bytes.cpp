// Bytes and words inside registers: sums of absolute differences, averages, selections.
#include "sim/machine/valu.hpp"
#include "sim/machine/valu_tables.hpp"

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
// Bytes that are 0 in the second source do not count.
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

// The quad operations need the instruction for CLAMP, and one writes four registers: a path of their own.
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

// One byte of {high, low}: 0..7 a byte, 8..11 a sign, 12 zeros, beyond ones (RDNA3 ISA, V_PERM_B32).
U permuted_byte(Wide data, U selector) {
  const U sign = byte(data, 2 * (selector & 3) + 1) >> 7 != 0 ? 0xff : 0;
  const U constant = selector == 12 ? 0 : 0xff;
  return selector < 8 ? byte(data, selector & 7) : selector < 12 ? sign : constant;
}
U permute(U high, U low, U selectors) {
  const Wide data = Wide{high} << 32 | low;
  U result = 0;
  for (unsigned k = 0; k < 4; ++k) result |= permuted_byte(data, byte(selectors, k)) << 8 * k;
  return result;
}

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

  add<b32(b32, b32, b32)>(t, "v_perm_b32", [](U a, U b, U c) { return permute(a, b, c); });
  add<b32(b32, b32, u16)>(t, "v_alignbit_b32",
                          [](U a, U b, U shift) { return static_cast<U>((Wide{a} << 32 | b) >> (shift & 31)); });
  add<b32(b32, b32, u16)>(t, "v_alignbyte_b32",
                          [](U a, U b, U shift) { return static_cast<U>((Wide{a} << 32 | b) >> 8 * (shift & 3)); });
  add<b32(b32, b32, b32)>(t, "v_lerp_u8", [](U a, U b, U c) { return average(a, b, c); });
}

}  // namespace rapt::sim::valu
