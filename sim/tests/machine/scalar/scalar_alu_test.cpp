// Scalar arithmetic, each operation over pairs of edge values, results and SCC (CDNA3 ISA 12.1 to 12.5, RDNA3.5
// ISA 16.1 to 16.5, RDNA4 ISA 16.1 to 16.5).
#include "sim/tests/support/one_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr ArchSet from_gfx11 = rdna;
constexpr ArchSet scalar_floats = only(Arch::gfx1151) | only(Arch::gfx1201);

const std::vector<u64> edges = {0,
                                1,
                                2,
                                31,
                                0x7fffffff,
                                0x80000000,
                                0xffffffff,
                                0x00120007,
                                0xdeadbeef,
                                0x0000ff80,
                                0x123456789abcdef0,
                                0x8000000000000000,
                                0xffffffffffffffff,
                                0x00000001ffffffff,
                                0x7fffffff00000000};

struct Result {
  u64 value;
  int scc = -1;  // -1: as it was
};
using Reference = std::function<Result(u64 a, u64 b, bool scc)>;

struct Case {
  ArchSet archs;
  const char* name;
  unsigned d, a, b;  // bits of the result and of the operands; b 0: none
  Reference reference;
  bool equal_scc = true;  // SCC of equal operands is the same in all documents
};

Result nonzero(u64 value) { return {value, value != 0}; }
u64 wide(u32 low) { return low; }
u64 mask(unsigned width) { return width >= 64 ? ~u64{0} : (u64{1} << width) - 1; }

u64 field(u64 value, u64 select, unsigned bits, bool is_signed) {
  const unsigned offset = static_cast<unsigned>(select & (bits - 1)), width = static_cast<unsigned>(select >> 16 & 127);
  const unsigned kept = std::min(width, bits - offset);
  u64 result = value >> offset & mask(kept);
  if (is_signed && kept != 0 && width <= bits - offset && (result >> (kept - 1) & 1)) result |= ~mask(kept);
  if (is_signed && width > bits - offset && (value >> (bits - 1) & 1)) result |= ~mask(kept);
  return result & mask(bits);
}

template <typename F>
Reference logic(F f, unsigned bits) {
  return [f, bits](u64 a, u64 b, bool) { return nonzero(f(a, b) & mask(bits)); };
}
template <typename F>
Reference compare(F f) {
  return [f](u64 a, u64 b, bool) { return Result{0, f(a, b)}; };
}

int leading(u64 value, unsigned bits) {
  for (unsigned n = 0; n < bits; ++n)
    if (value >> (bits - 1 - n) & 1) return static_cast<int>(n);
  return -1;
}
int trailing(u64 value, unsigned bits) {
  for (unsigned n = 0; n < bits; ++n)
    if (value >> n & 1) return static_cast<int>(n);
  return -1;
}
Result count(int n) { return {wide(static_cast<u32>(n))}; }
u64 reversed(u64 value, unsigned bits) {
  u64 result = 0;
  for (unsigned n = 0; n < bits; ++n) result |= (value >> n & 1) << (bits - 1 - n);
  return result;
}
unsigned ones(u64 value) {
  unsigned n = 0;
  for (; value; value &= value - 1) ++n;
  return n;
}
u64 quads(u64 value, unsigned bits, bool whole) {
  u64 result = 0;
  for (unsigned n = 0; n < bits / 4; ++n)
    if (value >> 4 * n & 15) result |= whole ? u64{15} << 4 * n : u64{1} << n;
  return result;
}

std::vector<Case> arithmetic() {
  const auto sum = [](u64 a, u64 b, bool) { return Result{wide(static_cast<u32>(a + b)), (a + b) >> 32 != 0}; };
  const auto fits = [](i64 x) { return x == static_cast<i32>(x); };
  const auto shifted = [](unsigned n) {
    return [n](u64 a, u64 b, bool) { return Result{wide(static_cast<u32>((a << n) + b)), ((a << n) + b) >> 32 != 0}; };
  };
  return {
      {every_arch, "s_add_u32", 32, 32, 32, sum},
      {every_arch, "s_sub_u32", 32, 32, 32,
       [](u64 a, u64 b, bool) { return Result{wide(static_cast<u32>(a - b)), b > a}; }},
      {every_arch, "s_addc_u32", 32, 32, 32,
       [](u64 a, u64 b, bool c) { return Result{wide(static_cast<u32>(a + b + c)), (a + b + c) >> 32 != 0}; }},
      {every_arch, "s_subb_u32", 32, 32, 32,
       [](u64 a, u64 b, bool c) { return Result{wide(static_cast<u32>(a - b - c)), b + c > a}; }},
      {every_arch, "s_add_i32", 32, 32, 32,
       [fits](u64 a, u64 b, bool) {
         return Result{wide(static_cast<u32>(a + b)), !fits(i64{static_cast<i32>(a)} + static_cast<i32>(b))};
       }},
      {every_arch, "s_sub_i32", 32, 32, 32,
       [fits](u64 a, u64 b, bool) {
         return Result{wide(static_cast<u32>(a - b)), !fits(i64{static_cast<i32>(a)} - static_cast<i32>(b))};
       }},
      {every_arch, "s_min_i32", 32, 32, 32,
       [](u64 a, u64 b, bool) {
         const bool first = static_cast<i32>(a) < static_cast<i32>(b);
         return Result{first ? a : b, first};
       }},
      {every_arch, "s_min_u32", 32, 32, 32, [](u64 a, u64 b, bool) { return Result{a < b ? a : b, a < b}; }},
      {every_arch, "s_max_i32", 32, 32, 32,
       [](u64 a, u64 b, bool) {
         const bool first = static_cast<i32>(a) > static_cast<i32>(b);
         return Result{first ? a : b, first};
       },
       false},
      {every_arch, "s_max_u32", 32, 32, 32, [](u64 a, u64 b, bool) { return Result{a > b ? a : b, a > b}; }, false},
      {every_arch, "s_mul_i32", 32, 32, 32, [](u64 a, u64 b, bool) { return Result{wide(static_cast<u32>(a * b))}; }},
      {every_arch, "s_mul_hi_u32", 32, 32, 32, [](u64 a, u64 b, bool) { return Result{a * b >> 32}; }},
      {every_arch, "s_mul_hi_i32", 32, 32, 32,
       [](u64 a, u64 b, bool) {
         return Result{wide(static_cast<u32>(static_cast<u64>(i64{static_cast<i32>(a)} * static_cast<i32>(b)) >> 32))};
       }},
      {every_arch, "s_absdiff_i32", 32, 32, 32,
       [](u64 a, u64 b, bool) {
         const u32 difference = static_cast<u32>(a - b);
         return nonzero(difference >> 31 ? 0U - difference : difference);
       }},
      {every_arch, "s_lshl1_add_u32", 32, 32, 32, shifted(1)},
      {every_arch, "s_lshl2_add_u32", 32, 32, 32, shifted(2)},
      {every_arch, "s_lshl3_add_u32", 32, 32, 32, shifted(3)},
      {every_arch, "s_lshl4_add_u32", 32, 32, 32, shifted(4)},
      {gfx12, "s_add_nc_u64", 64, 64, 64, [](u64 a, u64 b, bool) { return Result{a + b}; }},
      {gfx12, "s_sub_nc_u64", 64, 64, 64, [](u64 a, u64 b, bool) { return Result{a - b}; }},
      {gfx12, "s_mul_u64", 64, 64, 64, [](u64 a, u64 b, bool) { return Result{a * b}; }},
  };
}

std::vector<Case> of_one_operand() {
  return {
      {every_arch, "s_abs_i32", 32, 32, 0,
       [](u64 a, u64, bool) { return nonzero(static_cast<u32>(a >> 31 ? 0 - a : a)); }},
      {every_arch, "s_sext_i32_i8", 32, 32, 0,
       [](u64 a, u64, bool) { return Result{wide(static_cast<u32>(static_cast<std::int8_t>(a)))}; }},
      {every_arch, "s_sext_i32_i16", 32, 32, 0,
       [](u64 a, u64, bool) { return Result{wide(static_cast<u32>(static_cast<std::int16_t>(a)))}; }},
  };
}

std::vector<Case> logic_operations() {
  std::vector<Case> cases;
  const auto both = [&cases](ArchSet archs, const std::string& stem, const auto& f) {
    static std::deque<std::string> names;
    for (const unsigned n : {32U, 64U})
      cases.push_back({archs, names.emplace_back(stem + "_b" + std::to_string(n)).c_str(), n, n, n, logic(f, n)});
  };
  both(every_arch, "s_and", [](u64 a, u64 b) { return a & b; });
  both(every_arch, "s_or", [](u64 a, u64 b) { return a | b; });
  both(every_arch, "s_xor", [](u64 a, u64 b) { return a ^ b; });
  both(every_arch, "s_nand", [](u64 a, u64 b) { return ~(a & b); });
  both(every_arch, "s_nor", [](u64 a, u64 b) { return ~(a | b); });
  both(every_arch, "s_xnor", [](u64 a, u64 b) { return ~(a ^ b); });
  both(cdna, "s_andn2", [](u64 a, u64 b) { return a & ~b; });
  both(cdna, "s_orn2", [](u64 a, u64 b) { return a | ~b; });
  both(from_gfx11, "s_and_not1", [](u64 a, u64 b) { return a & ~b; });
  both(from_gfx11, "s_or_not1", [](u64 a, u64 b) { return a | ~b; });
  return cases;
}

// A case whose name differs with its number of bits.
void add(std::vector<Case>& cases, unsigned bits, ArchSet archs, const char* of32, const char* of64, unsigned d,
         unsigned a, unsigned b, Reference f) {
  cases.push_back({archs, bits == 32 ? of32 : of64, d, a, b, std::move(f)});
}

void add_shifts_and_fields(std::vector<Case>& cases, unsigned n) {
  const bool narrow = n == 32;
  add(cases, n, every_arch, "s_lshl_b32", "s_lshl_b64", n, n, 32,
      logic([n](u64 a, u64 b) { return a << (b & (n - 1)); }, n));
  add(cases, n, every_arch, "s_lshr_b32", "s_lshr_b64", n, n, 32,
      logic([n](u64 a, u64 b) { return a >> (b & (n - 1)); }, n));
  add(cases, n, every_arch, "s_ashr_i32", "s_ashr_i64", n, n, 32,
      logic(
          [n, narrow](u64 a, u64 b) {
            return static_cast<u64>((narrow ? i64{static_cast<i32>(a)} : static_cast<i64>(a)) >> (b & (n - 1)));
          },
          n));
  add(cases, n, every_arch, "s_bfm_b32", "s_bfm_b64", n, 32, 32,
      [n](u64 a, u64 b, bool) { return Result{mask(a & (n - 1)) << (b & (n - 1)) & mask(n)}; });
  add(cases, n, every_arch, "s_bfe_u32", "s_bfe_u64", n, n, 32,
      [n](u64 a, u64 b, bool) { return nonzero(field(a, b, n, false)); });
  add(cases, n, every_arch, "s_bfe_i32", "s_bfe_i64", n, n, 32,
      [n](u64 a, u64 b, bool) { return nonzero(field(a, b, n, true)); });
}

void add_moves(std::vector<Case>& cases, unsigned n) {
  add(cases, n, every_arch, "s_not_b32", "s_not_b64", n, n, 0, logic([](u64 a, u64) { return ~a; }, n));
  add(cases, n, every_arch, "s_mov_b32", "s_mov_b64", n, n, 0, [](u64 a, u64, bool) { return Result{a}; });
  add(cases, n, every_arch, "s_brev_b32", "s_brev_b64", n, n, 0,
      [n](u64 a, u64, bool) { return Result{reversed(a, n)}; });
  add(cases, n, every_arch, "s_quadmask_b32", "s_quadmask_b64", n, n, 0,
      [n](u64 a, u64, bool) { return nonzero(quads(a, n, false)); });
  add(cases, n, every_arch, "s_wqm_b32", "s_wqm_b64", n, n, 0,
      [n](u64 a, u64, bool) { return nonzero(quads(a, n, true)); });
  add(cases, n, every_arch, "s_cselect_b32", "s_cselect_b64", n, n, n,
      [](u64 a, u64 b, bool scc) { return Result{scc ? a : b}; });
}

void add_counts(std::vector<Case>& cases, unsigned n) {
  add(cases, n, every_arch, "s_bcnt0_i32_b32", "s_bcnt0_i32_b64", 32, n, 0,
      [n](u64 a, u64, bool) { return nonzero(n - ones(a)); });
  add(cases, n, every_arch, "s_bcnt1_i32_b32", "s_bcnt1_i32_b64", 32, n, 0,
      [](u64 a, u64, bool) { return nonzero(ones(a)); });
  add(cases, n, cdna, "s_ff0_i32_b32", "s_ff0_i32_b64", 32, n, 0,
      [n](u64 a, u64, bool) { return count(trailing(~a, n)); });
  for (const auto& [archs, of32, of64] :
       {std::tuple{cdna, "s_ff1_i32_b32", "s_ff1_i32_b64"}, std::tuple{rdna, "s_ctz_i32_b32", "s_ctz_i32_b64"}})
    add(cases, n, archs, of32, of64, 32, n, 0, [n](u64 a, u64, bool) { return count(trailing(a, n)); });
  for (const auto& [archs, of32, of64] :
       {std::tuple{cdna, "s_flbit_i32_b32", "s_flbit_i32_b64"}, std::tuple{rdna, "s_clz_i32_u32", "s_clz_i32_u64"}})
    add(cases, n, archs, of32, of64, 32, n, 0, [n](u64 a, u64, bool) { return count(leading(a, n)); });
  for (const auto& [archs, of32, of64] :
       {std::tuple{cdna, "s_flbit_i32", "s_flbit_i32_i64"}, std::tuple{rdna, "s_cls_i32", "s_cls_i32_i64"}})
    add(cases, n, archs, of32, of64, 32, n, 0,
        [n](u64 a, u64, bool) { return count(leading((a >> (n - 1) & 1 ? ~a : a) & mask(n), n)); });
}

std::vector<Case> bits() {
  std::vector<Case> cases = {
      {every_arch, "s_bitreplicate_b64_b32", 64, 32, 0,
       [](u64 a, u64, bool) {
         u64 result = 0;
         for (unsigned n = 0; n < 32; ++n) result |= (a >> n & 1) * (u64{3} << 2 * n);
         return Result{result};
       }},
      {every_arch, "s_pack_ll_b32_b16", 32, 32, 32,
       [](u64 a, u64 b, bool) { return Result{(a & 0xffff) | (b & 0xffff) << 16}; }},
      {every_arch, "s_pack_lh_b32_b16", 32, 32, 32,
       [](u64 a, u64 b, bool) { return Result{(a & 0xffff) | (b >> 16) << 16}; }},
      {every_arch, "s_pack_hh_b32_b16", 32, 32, 32,
       [](u64 a, u64 b, bool) { return Result{a >> 16 | (b >> 16) << 16}; }},
      {from_gfx11, "s_pack_hl_b32_b16", 32, 32, 32,
       [](u64 a, u64 b, bool) { return Result{a >> 16 | (b & 0xffff) << 16}; }},
  };
  for (const unsigned n : {32U, 64U}) {
    add_shifts_and_fields(cases, n);
    add_moves(cases, n);
    add_counts(cases, n);
  }
  return cases;
}

std::vector<Case> comparisons() {
  const auto as_signed = [](auto f) {
    return compare([f](u64 a, u64 b) { return f(static_cast<i32>(a), static_cast<i32>(b)); });
  };
  const auto as_unsigned = [](auto f) { return compare(f); };
  return {
      {every_arch, "s_cmp_eq_i32", 0, 32, 32, as_signed(std::equal_to<>())},
      {every_arch, "s_cmp_lg_i32", 0, 32, 32, as_signed(std::not_equal_to<>())},
      {every_arch, "s_cmp_gt_i32", 0, 32, 32, as_signed(std::greater<>())},
      {every_arch, "s_cmp_ge_i32", 0, 32, 32, as_signed(std::greater_equal<>())},
      {every_arch, "s_cmp_lt_i32", 0, 32, 32, as_signed(std::less<>())},
      {every_arch, "s_cmp_le_i32", 0, 32, 32, as_signed(std::less_equal<>())},
      {every_arch, "s_cmp_eq_u32", 0, 32, 32, as_unsigned(std::equal_to<>())},
      {every_arch, "s_cmp_lg_u32", 0, 32, 32, as_unsigned(std::not_equal_to<>())},
      {every_arch, "s_cmp_gt_u32", 0, 32, 32, as_unsigned(std::greater<>())},
      {every_arch, "s_cmp_ge_u32", 0, 32, 32, as_unsigned(std::greater_equal<>())},
      {every_arch, "s_cmp_lt_u32", 0, 32, 32, as_unsigned(std::less<>())},
      {every_arch, "s_cmp_le_u32", 0, 32, 32, as_unsigned(std::less_equal<>())},
      {every_arch, "s_cmp_eq_u64", 0, 64, 64, as_unsigned(std::equal_to<>())},
      {every_arch, "s_cmp_lg_u64", 0, 64, 64, as_unsigned(std::not_equal_to<>())},
      {every_arch, "s_bitcmp0_b32", 0, 32, 32, compare([](u64 a, u64 b) { return (a >> (b & 31) & 1) == 0; })},
      {every_arch, "s_bitcmp1_b32", 0, 32, 32, compare([](u64 a, u64 b) { return (a >> (b & 31) & 1) != 0; })},
      {every_arch, "s_bitcmp0_b64", 0, 64, 32, compare([](u64 a, u64 b) { return (a >> (b & 63) & 1) == 0; })},
      {every_arch, "s_bitcmp1_b64", 0, 64, 32, compare([](u64 a, u64 b) { return (a >> (b & 63) & 1) != 0; })},
  };
}

// Sums and products of floats, which the host rounds as the GPU does; NaNs only as NaNs.
std::vector<Case> floats() {
  const auto f = [](u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); };
  const auto two = [f](auto op) {
    return [f, op](u64 a, u64 b, bool) { return Result{wide(std::bit_cast<u32>(static_cast<float>(op(f(a), f(b)))))}; };
  };
  const auto one = [f](auto op) {
    return [f, op](u64 a, u64, bool) { return Result{wide(std::bit_cast<u32>(static_cast<float>(op(f(a)))))}; };
  };
  const auto test = [f](auto op) { return compare([f, op](u64 a, u64 b) { return op(f(a), f(b)); }); };
  const auto unordered = [](float a, float b) { return std::isnan(a) || std::isnan(b); };
  return {
      {scalar_floats, "s_add_f32", 32, 32, 32, two([](float a, float b) { return a + b; })},
      {scalar_floats, "s_sub_f32", 32, 32, 32, two([](float a, float b) { return a - b; })},
      {scalar_floats, "s_mul_f32", 32, 32, 32, two([](float a, float b) { return a * b; })},
      {scalar_floats, "s_ceil_f32", 32, 32, 0, one([](float a) { return std::ceil(a); })},
      {scalar_floats, "s_floor_f32", 32, 32, 0, one([](float a) { return std::floor(a); })},
      {scalar_floats, "s_trunc_f32", 32, 32, 0, one([](float a) { return std::trunc(a); })},
      {scalar_floats, "s_rndne_f32", 32, 32, 0, one([](float a) { return std::nearbyint(a); })},
      {scalar_floats, "s_cvt_f32_i32", 32, 32, 0,
       [](u64 a, u64, bool) { return Result{wide(std::bit_cast<u32>(static_cast<float>(static_cast<i32>(a))))}; }},
      {scalar_floats, "s_cvt_f32_u32", 32, 32, 0,
       [](u64 a, u64, bool) { return Result{wide(std::bit_cast<u32>(static_cast<float>(static_cast<u32>(a))))}; }},
      {scalar_floats, "s_cmp_lt_f32", 0, 32, 32, test([](float a, float b) { return a < b; })},
      {scalar_floats, "s_cmp_eq_f32", 0, 32, 32, test([](float a, float b) { return a == b; })},
      {scalar_floats, "s_cmp_le_f32", 0, 32, 32, test([](float a, float b) { return a <= b; })},
      {scalar_floats, "s_cmp_gt_f32", 0, 32, 32, test([](float a, float b) { return a > b; })},
      {scalar_floats, "s_cmp_lg_f32", 0, 32, 32, test([](float a, float b) { return a < b || a > b; })},
      {scalar_floats, "s_cmp_ge_f32", 0, 32, 32, test([](float a, float b) { return a >= b; })},
      {scalar_floats, "s_cmp_o_f32", 0, 32, 32, test([unordered](float a, float b) { return !unordered(a, b); })},
      {scalar_floats, "s_cmp_u_f32", 0, 32, 32, test(unordered)},
      {scalar_floats, "s_cmp_nge_f32", 0, 32, 32, test([](float a, float b) { return !(a >= b); })},
      {scalar_floats, "s_cmp_nlg_f32", 0, 32, 32, test([](float a, float b) { return !(a < b || a > b); })},
      {scalar_floats, "s_cmp_ngt_f32", 0, 32, 32, test([](float a, float b) { return !(a > b); })},
      {scalar_floats, "s_cmp_nle_f32", 0, 32, 32, test([](float a, float b) { return !(a <= b); })},
      {scalar_floats, "s_cmp_neq_f32", 0, 32, 32, test([](float a, float b) { return !(a == b); })},
      {scalar_floats, "s_cmp_nlt_f32", 0, 32, 32, test([](float a, float b) { return !(a < b); })},
  };
}

std::string registers(unsigned first, unsigned bits) {
  return bits == 64 ? "s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]"
                    : "s" + std::to_string(first);
}

bool is_nan(u64 bits) { return std::isnan(std::bit_cast<float>(static_cast<u32>(bits))); }

void check(const std::vector<Case>& cases, const std::vector<u64>& values, bool floats = false) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    OneWave wave(arch);
    std::string text;
    std::vector<const Case*> chosen;
    for (const Case& c : cases) {
      if (!contains(c.archs, arch)) continue;
      chosen.push_back(&c);
      text += std::string(c.name) + " " + (c.d ? registers(20, c.d) + ", " : "") + registers(4, c.a) +
              (c.b ? ", " + registers(8, c.b) : "") + "\n";
    }
    if (chosen.empty()) continue;
    const auto instructions = decode_all(arch, wave.wave().lanes, assemble(arch, wave.wave().lanes, text));
    ASSERT_EQ(instructions.size(), chosen.size());
    for (std::size_t at = 0; at < chosen.size(); ++at) {
      const Case& c = *chosen[at];
      for (const u64 a : values)
        for (const u64 b : c.b ? values : std::vector<u64>{0})
          for (const bool scc : {false, true}) {
            SCOPED_TRACE(std::string(name(arch)) + " " + c.name + " " + std::to_string(a) + " " + std::to_string(b));
            wave.wave().set_pair(4, a), wave.wave().set_pair(8, b), wave.wave().set_pair(20, 0x5555555566666666);
            wave.wave().scc = scc;
            wave.run(instructions[at]);
            const u64 x = a & mask(c.a), y = c.b ? b & mask(c.b) : 0;
            const Result expected = c.reference(x, y, scc);
            const u64 got = wave.wave().pair(20);
            const bool same_nan = floats && is_nan(expected.value) && is_nan(got);
            if (c.d != 0 && !same_nan) {
              ASSERT_EQ(got, c.d == 64 ? expected.value : expected.value | 0x5555555500000000);
            }
            if (c.equal_scc || x != y) {
              ASSERT_EQ(wave.wave().scc, expected.scc < 0 ? scc : expected.scc != 0);
            }
          }
    }
  }
}

TEST(ScalarAlu, Arithmetic) { check(arithmetic(), edges); }
TEST(ScalarAlu, OneOperand) { check(of_one_operand(), edges); }
TEST(ScalarAlu, Logic) { check(logic_operations(), edges); }
TEST(ScalarAlu, Bits) { check(bits(), edges); }
TEST(ScalarAlu, Comparisons) { check(comparisons(), edges); }
TEST(ScalarAlu, Floats) {
  check(floats(),
        {0, 0x80000000, 0x3f800000, 0xbf800000, 0x40200000, 0xc0200000, 0x00000001, 0x807fffff, 0x7f7fffff, 0x7f800000,
         0xff800000, 0x7fc00000, 0x4b800001, 0x3effffff},
        true);
}

}  // namespace
}  // namespace rapt::sim::test
