// Integer operations, compared with wide arithmetic.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
__extension__ using Big = __int128;
using Expected = std::function<U(U, U, U)>;

Big s(U x) { return static_cast<I>(x); }
Big u(U x) { return x; }
Big s24(U x) { return static_cast<I>(x << 8) / 256; }
Big u24(U x) { return x % 0x1000000; }
Big s16(U x) { return static_cast<std::int16_t>(x); }
Big u16(U x) { return x % 0x10000; }
U low(Big x) { return static_cast<U>(x); }
U clamp_signed(Big x) { return low(std::clamp<Big>(x, INT32_MIN, INT32_MAX)); }
U clamp_unsigned(Big x) { return low(std::clamp<Big>(x, 0, UINT32_MAX)); }

struct Case {
  std::string text;
  unsigned sources;
  Expected expected;
};

void check(Arch arch, const std::vector<Case>& cases) {
  OneWave wave(arch);
  std::string text;
  for (const Case& c : cases)
    if (has(arch, c.text)) text += c.text + "\n";
  const auto instructions = decode_all(arch, wave.wave().lanes, assemble(arch, wave.wave().lanes, text));
  std::size_t at = 0;
  for (const Case& c : cases) {
    if (!has(arch, c.text)) continue;
    SCOPED_TRACE(name(arch));
    static const std::vector<std::vector<U>> inputs_of[] = {
        {}, tuples(edges_u32(), 1), tuples(edges_u32(), 2), tuples(edges_u32(), 3)};
    const auto& inputs = inputs_of[c.sources];
    const auto results = run_all<U>(wave, instructions[at++], inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto& in = inputs[k];
      ASSERT_EQ(results[k], c.expected(in[0], in.size() > 1 ? in[1] : 0, in.size() > 2 ? in[2] : 0))
          << c.text << std::hex << " " << in[0] << " " << in.back();
    }
  }
}

// On every architecture, the operations that it has.
void check(const std::vector<Case>& cases) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) check(static_cast<Arch>(n), cases);
}

// Trap: with clamp the sums saturate.
TEST(ValuInteger, SumsSaturateUnderClamp) {
  for (const Arch arch : archs_with("v_add3_u32")) {
    const std::string nc = is_rdna(arch) ? "_nc" : "";
    check(arch,
          {{"v_add" + nc + "_u32_e64 v0, v10, v20", 2, [](U a, U b, U) { return low(u(a) + u(b)); }},
           {"v_add" + nc + "_u32_e64 v0, v10, v20 clamp", 2, [](U a, U b, U) { return clamp_unsigned(u(a) + u(b)); }},
           {"v_sub" + nc + "_u32_e64 v0, v10, v20 clamp", 2, [](U a, U b, U) { return clamp_unsigned(u(a) - u(b)); }},
           {"v_subrev" + nc + "_u32_e64 v0, v10, v20", 2, [](U a, U b, U) { return low(u(b) - u(a)); }},
           {"v_add" + nc + "_i32 v0, v10, v20", 2, [](U a, U b, U) { return low(s(a) + s(b)); }},
           {"v_add" + nc + "_i32 v0, v10, v20 clamp", 2, [](U a, U b, U) { return clamp_signed(s(a) + s(b)); }},
           {"v_sub" + nc + "_i32 v0, v10, v20 clamp", 2, [](U a, U b, U) { return clamp_signed(s(a) - s(b)); }}});
  }
}

// Trap: the sign of v_mul_hi_i32_i24.
TEST(ValuInteger, Products) {
  check(
      {{"v_mul_lo_u32 v0, v10, v20", 2, [](U a, U b, U) { return low(u(a) * u(b)); }},
       {"v_mul_hi_u32 v0, v10, v20", 2, [](U a, U b, U) { return low(u(a) * u(b) >> 32); }},
       {"v_mul_hi_i32 v0, v10, v20", 2, [](U a, U b, U) { return low(s(a) * s(b) >> 32); }},
       {"v_mul_u32_u24 v0, v10, v20", 2, [](U a, U b, U) { return low(u24(a) * u24(b)); }},
       {"v_mul_i32_i24 v0, v10, v20", 2, [](U a, U b, U) { return low(s24(a) * s24(b)); }},
       {"v_mul_hi_u32_u24 v0, v10, v20", 2, [](U a, U b, U) { return low(u24(a) * u24(b) >> 32); }},
       {"v_mul_hi_i32_i24 v0, v10, v20", 2, [](U a, U b, U) { return low(s24(a) * s24(b) >> 32); }},
       {"v_mad_u32_u24 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(u24(a) * u24(b) + u(c)); }},
       {"v_mad_u32_u24 v0, v10, v20, v30 clamp", 3,
        [](U a, U b, U c) { return clamp_unsigned(u24(a) * u24(b) + u(c)); }},
       {"v_mad_i32_i24 v0, v10, v20, v30 clamp", 3, [](U a, U b, U c) { return clamp_signed(s24(a) * s24(b) + s(c)); }},
       {"v_mad_u32_u16 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(u16(a) * u16(b) + u(c)); }},
       {"v_mad_i32_i16 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(s16(a) * s16(b) + s(c)); }}});
}

TEST(ValuInteger, OrderAndCompound) {
  check({{"v_min_i32 v0, v10, v20", 2, [](U a, U b, U) { return low(std::min(s(a), s(b))); }},
         {"v_max_u32 v0, v10, v20", 2, [](U a, U b, U) { return low(std::max(u(a), u(b))); }},
         {"v_med3_i32 v0, v10, v20, v30", 3,
          [](U a, U b, U c) {
            std::array<I, 3> x{static_cast<I>(a), static_cast<I>(b), static_cast<I>(c)};
            std::sort(x.begin(), x.end());
            return static_cast<U>(x[1]);
          }},
         {"v_minmax_u32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return std::max(std::min(a, b), c); }},
         {"v_maxmin_i32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(std::min(std::max(s(a), s(b)), s(c))); }},
         {"v_add3_u32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(u(a) + u(b) + u(c)); }},
         {"v_lshl_add_u32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low((u(a) << b % 32) + u(c)); }},
         {"v_add_lshl_u32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low((u(a) + u(b)) << c % 32); }},
         {"v_xad_u32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(u(a ^ b) + u(c)); }}});
}

TEST(ValuInteger, Bits) {
  check(
      {{"v_lshlrev_b32 v0, v10, v20", 2, [](U a, U b, U) { return low(u(b) << a % 32); }},
       {"v_lshrrev_b32 v0, v10, v20", 2, [](U a, U b, U) { return low(u(b) >> a % 32); }},
       {"v_ashrrev_i32 v0, v10, v20", 2, [](U a, U b, U) { return low(s(b) >> a % 32); }},
       {"v_bfe_u32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low(u(a) >> b % 32 & ((Big{1} << c % 32) - 1)); }},
       {"v_bfe_i32 v0, v10, v20, v30", 3,
        [](U a, U b, U c) {
          const Big width = c % 32, field = s(a) >> b % 32 & ((Big{1} << width) - 1);
          return low(width != 0 && (field >> (width - 1) & 1) != 0 ? field - (Big{1} << width) : field);
        }},
       {"v_bfi_b32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return (a & b) | (~a & c); }},
       {"v_bfm_b32 v0, v10, v20", 2, [](U a, U b, U) { return low(((Big{1} << a % 32) - 1) << b % 32); }},
       {"v_bfrev_b32 v0, v10", 1,
        [](U a, U, U) {
          U r = 0;
          for (unsigned k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
          return r;
        }},
       {"v_bcnt_u32_b32 v0, v10, v20", 2,
        [](U a, U b, U) {
          for (; a != 0; a &= a - 1) ++b;
          return b;
        }},
       {"v_ffbh_u32 v0, v10", 1,
        [](U a, U, U) {
          for (unsigned k = 0; k < 32; ++k)
            if ((a >> (31 - k) & 1) != 0) return k;
          return ~0U;
        }},
       {"v_ffbl_b32 v0, v10", 1,
        [](U a, U, U) {
          for (unsigned k = 0; k < 32; ++k)
            if ((a >> k & 1) != 0) return k;
          return ~0U;
        }},
       {"v_ffbh_i32 v0, v10", 1,
        [](U a, U, U) {
          for (unsigned k = 1; k < 32; ++k)
            if ((a >> (31 - k) & 1) != a >> 31) return k;
          return ~0U;
        }},
       {"v_xnor_b32 v0, v10, v20", 2, [](U a, U b, U) { return ~(a ^ b); }},
       {"v_and_or_b32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return (a & b) | c; }},
       {"v_alignbit_b32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low((u(a) << 32 | u(b)) >> c % 32); }},
       {"v_alignbyte_b32 v0, v10, v20, v30", 3, [](U a, U b, U c) { return low((u(a) << 32 | u(b)) >> c % 4 * 8); }}});
}

TEST(ValuInteger, Bytes) {
  const auto byte = [](U x, unsigned k) { return x >> 8 * k & 0xff; };
  const auto distance = [](U a, U b) { return a > b ? a - b : b - a; };
  const auto sad = [=](U a, U b) {
    U sum = 0;
    for (unsigned k = 0; k < 4; ++k) sum += distance(byte(a, k), byte(b, k));
    return sum;
  };
  check({{"v_sad_u8 v0, v10, v20, v30", 3, [=](U a, U b, U c) { return sad(a, b) + c; }},
         {"v_sad_u8 v0, v10, v20, v30 clamp", 3, [=](U a, U b, U c) { return clamp_unsigned(u(sad(a, b)) + u(c)); }},
         {"v_sad_hi_u8 v0, v10, v20, v30", 3, [=](U a, U b, U c) { return (sad(a, b) << 16) + c; }},
         {"v_sad_u16 v0, v10, v20, v30", 3,
          [=](U a, U b, U c) { return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c; }},
         {"v_sad_u32 v0, v10, v20, v30", 3, [=](U a, U b, U c) { return distance(a, b) + c; }},
         {"v_msad_u8 v0, v10, v20, v30", 3,
          [=](U a, U b, U c) {
            for (unsigned k = 0; k < 4; ++k)
              if (byte(b, k) != 0) c += distance(byte(a, k), byte(b, k));
            return c;
          }},
         {"v_lerp_u8 v0, v10, v20, v30", 3, [=](U a, U b, U c) {
            U r = 0;
            for (unsigned k = 0; k < 4; ++k) r |= (byte(a, k) + byte(b, k) + (byte(c, k) & 1)) / 2 << 8 * k;
            return r;
          }}});
}

// v_perm_b32: bytes of {S0, S1}, signs, 0 and 0xff.
TEST(ValuInteger, BytesChosen) {
  for (const Arch arch : archs_with("v_perm_b32")) {
    OneWave wave(arch);
    wave.fill(10, 0x80112233);
    wave.fill(20, 0x7f99aabb);
    for (const auto& [select, result] : {std::pair{0x07060504U, 0x80112233U},
                                         {0x03020100U, 0x7f99aabbU},
                                         {0x0b0a0908U, 0xff0000ffU},
                                         {0x0c0d0effU, 0x00ffffffU},
                                         {0x04070300U, 0x33807fbbU}}) {
      wave.fill(30, select);
      wave.run("v_perm_b32 v0, v10, v20, v30");
      EXPECT_EQ(wave.v(0), result) << std::hex << select;
    }
  }
}

TEST(ValuInteger, WindowsOfBytes) {
  for (const Arch arch : archs_with("v_qsad_pk_u16_u8")) {
    OneWave wave(arch);
    const auto byte = [](U x, unsigned k) { return x >> 8 * k & 0xff; };
    const auto distance = [](U a, U b) { return a > b ? a - b : b - a; };
    wave.set_v64(10, 0, 0x0102030405060708);
    wave.fill(20, 0x00100020);
    wave.set_v64(30, 0, 0x0001000200030004);
    wave.run("v_qsad_pk_u16_u8 v[0:1], v[10:11], v20, v[30:31]");
    std::uint64_t want = 0, masked = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const U window = static_cast<U>(0x0102030405060708ULL >> 8 * k), base = 4 - k;
      U sum = base, some = base;
      for (unsigned j = 0; j < 4; ++j) {
        sum += distance(byte(window, j), byte(0x00100020, j));
        if (byte(0x00100020, j) != 0) some += distance(byte(window, j), byte(0x00100020, j));
      }
      want |= std::uint64_t{sum} << 16 * k;
      masked |= std::uint64_t{some} << 16 * k;
    }
    EXPECT_EQ(wave.v64(0), want);
    wave.run("v_mqsad_pk_u16_u8 v[0:1], v[10:11], v20, v[30:31]");
    EXPECT_EQ(wave.v64(0), masked);
    for (unsigned k = 0; k < 4; ++k) wave.fill(40 + k, 1000 * k);
    wave.run("v_mqsad_u32_u8 v[0:3], v[10:11], v20, v[40:43]");
    for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(wave.v(k), (masked >> 16 * k & 0xffff) - (4 - k) + 1000 * k);
  }
}

// gfx9 clears the upper half except for the operations that have op_sel; gfx11 and gfx12 keep it.
TEST(ValuInteger, Sixteen) {
  for (const Arch arch : archs_with("v_mul_lo_u16")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    const std::string nc = is_rdna(arch) ? "_nc" : "", old = is_rdna(arch) ? "" : "_e64";
    const auto pairs = tuples(edges_u32(), 2);
    const auto compare = [&](const std::string& text, const std::function<U(U, U)>& expected, U upper) {
      if (is_rdna(arch)) upper = 0xdead0000;
      const auto results = run_all<U>(wave, text, pairs, 0xdeaddead);
      for (std::size_t k = 0; k < pairs.size(); ++k)
        ASSERT_EQ(results[k], upper | (expected(pairs[k][0], pairs[k][1]) & 0xffff))
            << text << std::hex << pairs[k][0] << " " << pairs[k][1];
    };
    compare("v_add" + nc + "_u16 v0, v10, v20", [](U a, U b) { return a + b; }, 0);
    compare(
        "v_add" + nc + "_u16" + old + " v0, v10, v20 clamp",
        [](U a, U b) { return low(std::min<Big>(u16(a) + u16(b), 0xffff)); }, 0);
    compare(
        "v_sub" + nc + "_u16" + old + " v0, v10, v20 clamp",
        [](U a, U b) { return low(std::max<Big>(u16(a) - u16(b), 0)); }, 0);
    compare("v_mul_lo_u16 v0, v10, v20", [](U a, U b) { return low(u16(a) * u16(b)); }, 0);
    compare("v_max_i16 v0, v10, v20", [](U a, U b) { return low(std::max(s16(a), s16(b))); }, 0);
    compare("v_ashrrev_i16 v0, v10, v20", [](U a, U b) { return low(s16(b) >> a % 16); }, 0);
    compare(
        "v_add" + nc + "_i16 v0, v10, v20 clamp",
        [](U a, U b) { return low(std::clamp<Big>(s16(a) + s16(b), -32768, 32767)); }, 0xdead0000);
    compare("v_mad_u16 v0, v10, v20, v20", [](U a, U b) { return low(u16(a) * u16(b) + u16(b)); }, 0xdead0000);
    compare(
        "v_mad_i16 v0, v10, v20, v20 clamp",
        [](U a, U b) { return low(std::clamp<Big>(s16(a) * s16(b) + s16(b), -32768, 32767)); }, 0xdead0000);
  }
}

TEST(ValuInteger, SixtyFour) {
  for (const Arch arch : archs_with("v_lshlrev_b64")) {
    OneWave wave(arch);
    for (const std::uint64_t x : {0x0123456789abcdefULL, 0x8000000000000001ULL, 0ULL, ~0ULL})
      for (const U shift : {0U, 1U, 31U, 32U, 63U, 64U, 65U}) {
        wave.fill(10, shift);
        wave.set_v64(20, 0, x);
        wave.run(
            "v_lshlrev_b64 v[0:1], v10, v[20:21]\nv_lshrrev_b64 v[2:3], v10, v[20:21]\nv_ashrrev_i64 v[4:5], v10, "
            "v[20:21]");
        EXPECT_EQ(wave.v64(0), x << shift % 64);
        EXPECT_EQ(wave.v64(2), x >> shift % 64);
        EXPECT_EQ(wave.v64(4), static_cast<std::uint64_t>(static_cast<std::int64_t>(x) >> shift % 64));
        wave.set_v64(30, 0, 5);
        if (shift <= 4 && has(arch, "v_lshl_add_u64")) {
          wave.run("v_lshl_add_u64 v[0:1], v[20:21], v10, v[30:31]");
          EXPECT_EQ(wave.v64(0), (x << shift) + 5);
        }
      }
  }
  // Destination and source overlap by one register.
  OneWave unaligned(Arch::gfx908);
  unaligned.set_v64(20, 0, 0x1111222233334444);
  unaligned.run("v_lshlrev_b64 v[21:22], 0, v[20:21]");
  EXPECT_EQ(unaligned.v64(21), 0x1111222233334444U);
}

TEST(ValuInteger, Carries) {
  for (const Arch arch : archs_with("v_add_co_u32")) {
    OneWave wave(arch, 64);
    const bool rdna = is_rdna(arch);
    const std::string add_in = rdna ? "v_add_co_ci_u32" : "v_addc_co_u32",
                      sub_in = rdna ? "v_sub_co_ci_u32" : "v_subb_co_u32";
    const auto pairs = tuples(edges_u32(), 2);
    for (std::size_t first = 0; first + 64 <= pairs.size(); first += 64) {
      std::uint64_t carries = 0, borrows = 0;
      for (unsigned l = 0; l < 64; ++l) {
        wave.v(10, l) = pairs[first + l][0];
        wave.v(20, l) = pairs[first + l][1];
        carries |= static_cast<std::uint64_t>((u(wave.v(10, l)) + u(wave.v(20, l))) >> 32) << l;
        borrows |= std::uint64_t{wave.v(10, l) < wave.v(20, l)} << l;
      }
      wave.run("v_add_co_u32 v0, s[4:5], v10, v20\nv_sub_co_u32 v1, s[6:7], v10, v20");
      EXPECT_EQ(wave.wave().pair(4), carries);
      EXPECT_EQ(wave.wave().pair(6), borrows);
      wave.run(add_in + "_e64 v2, s[8:9], v10, v20, s[4:5]\n" + sub_in + "_e64 v3, s[10:11], v10, v20, s[6:7]");
      for (unsigned l = 0; l < 64; ++l) {
        const U a = wave.v(10, l), b = wave.v(20, l), c = carries >> l & 1, d = borrows >> l & 1;
        ASSERT_EQ(wave.v(0, l), a + b);
        ASSERT_EQ(wave.v(2, l), a + b + c);
        ASSERT_EQ(wave.v(3, l), a - b - d);
        ASSERT_EQ(wave.wave().pair(8) >> l & 1, static_cast<U>((u(a) + u(b) + u(c)) >> 32));
        ASSERT_EQ(wave.wave().pair(10) >> l & 1, static_cast<U>(u(a) - u(b) - u(d) < 0));
      }
    }
    // Inactive lanes get no carry and keep their value; the destination may be a source.
    wave.fill(10, ~0U);
    wave.fill(20, 1);
    wave.wave().set_pair(4, ~std::uint64_t{0});
    wave.wave().set_pair(sreg::exec, 0x5);
    wave.run("v_add_co_u32 v10, s[4:5], v10, v20");
    EXPECT_EQ(wave.wave().pair(4), 5U);
    EXPECT_EQ(wave.v(10, 0), 0U);
    EXPECT_EQ(wave.v(10, 1), ~0U);
    wave.wave().set_pair(sreg::exec, ~std::uint64_t{0});
    wave.fill(10, ~0U);
    wave.run("v_add_co_u32_e64 v0, vcc, v10, v20 clamp\nv_sub_co_u32_e64 v1, s[4:5], v20, v10 clamp");
    EXPECT_EQ(wave.v(0), ~0U);
    EXPECT_EQ(wave.v(1), 0U);
    EXPECT_EQ(wave.wave().pair(sreg::vcc), ~std::uint64_t{0});
    wave.set_v64(30, 0, 0xfffffffffffffff0);
    wave.fill(20, 0x10000);
    wave.fill(10, 0x10000);
    const std::string co = contains(gfx12, arch) ? "_co" : "";
    wave.run("v_mad" + co + "_u64_u32 v[0:1], s[4:5], v10, v20, v[30:31]");
    EXPECT_EQ(wave.v64(0), 0xfffffff0U);
    EXPECT_EQ(wave.wave().pair(4) & 1, 1U);
    wave.fill(10, static_cast<U>(-0x10000));
    wave.run("v_mad" + co + "_i64_i32 v[0:1], s[4:5], v10, v20, v[30:31]");
    EXPECT_EQ(wave.v64(0), static_cast<std::uint64_t>(-0x100000010LL));
    EXPECT_EQ(wave.wave().pair(4) & 1, 1U);  // the 65th bit is the sign
  }
}

TEST(ValuInteger, TruthTables) {
  OneWave wave(Arch::gfx950);
  wave.fill(10, 0x0f0f3355);
  wave.fill(20, 0x00ff5533);
  wave.fill(30, 0x12345678);
  for (const unsigned table : {0x00U, 0xc0U, 0xfcU, 0x3cU, 0x96U, 0xeaU, 0x1bU, 0xffU}) {
    U want = 0;
    for (unsigned k = 0; k < 32; ++k) {
      const unsigned index = (wave.v(10) >> k & 1) << 2 | (wave.v(20) >> k & 1) << 1 | (wave.v(30) >> k & 1);
      want |= (table >> index & 1) << k;
    }
    wave.fill(0, 0xaaaaaaaa);
    wave.run("v_bitop3_b32 v0, v10, v20, v30 bitop3:" + std::to_string(table));
    EXPECT_EQ(wave.v(0), want) << table;
    wave.fill(1, 0xaaaaaaaa);
    wave.run("v_bitop3_b16 v1, v10, v20, v30 bitop3:" + std::to_string(table));
    EXPECT_EQ(wave.v(1), 0xaaaa0000 | (want & 0xffff)) << table;
  }
  wave.fill(10, 0x80000001);
  wave.run("v_prng_b32 v0, v10");
  EXPECT_EQ(wave.v(0), 2U ^ 197U);
  wave.fill(10, static_cast<U>(-70000));
  wave.fill(20, 4000);
  wave.fill(30, 4);
  wave.fill(0, 0xaaaaaaaa);
  wave.run("v_ashr_pk_i8_i32 v0, v10, v20, v30");
  EXPECT_EQ(wave.v(0), 0xaaaa7f80U);
  wave.run("v_ashr_pk_u8_i32 v0, v10, v20, v30");
  EXPECT_EQ(wave.v(0), 0xaaaafa00U);
}

}  // namespace
}  // namespace rapt::sim::test
