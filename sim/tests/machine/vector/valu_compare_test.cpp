// Comparisons and classes, and which masks they write.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

struct Relation {
  std::string name;
  bool less, equal, greater, unordered;
};

// gfx9 has all sixteen; gfx12 has no f and no tru.
const std::vector<Relation> relations{
    {"lt", true, false, false, false}, {"eq", false, true, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"lg", true, false, true, false},  {"ge", false, true, true, false},
    {"o", true, true, true, false},    {"u", false, false, false, true},  {"nge", true, false, false, true},
    {"nlg", false, true, false, true}, {"ngt", true, true, false, true},  {"nle", false, false, true, true},
    {"neq", true, false, true, true},  {"nlt", false, true, true, true}};

bool holds(const Relation& r, double a, double b) {
  return a < b ? r.less : a == b ? r.equal : a > b ? r.greater : r.unordered;
}

// Runs all comparisons of a type on 64 pairs at a time; each writes a separate mask.
template <class T>
void check(Arch arch, const std::string& type, const std::string& operands, const std::vector<T>& values,
           const std::function<double(T)>& value) {
  OneWave wave(arch, 64);
  std::string text;
  for (std::size_t k = 0; k < relations.size(); ++k)
    text += "v_cmp_" + relations[k].name + "_" + type + "_e64 s[" + std::to_string(10 + 2 * k) + ":" +
            std::to_string(11 + 2 * k) + "], " + operands + "\n";
  const auto pairs = tuples(values, 2);
  for (std::size_t first = 0; first < pairs.size(); first += 64) {
    const unsigned count = static_cast<unsigned>(std::min<std::size_t>(64, pairs.size() - first));
    for (unsigned l = 0; l < count; ++l) {
      wave.set_v64(10, l, pairs[first + l][0]);
      wave.set_v64(20, l, pairs[first + l][1]);
    }
    wave.run(text);
    for (std::size_t k = 0; k < relations.size(); ++k)
      for (unsigned l = 0; l < count; ++l) {
        const double a = value(pairs[first + l][0]), b = value(pairs[first + l][1]);
        ASSERT_EQ(wave.wave().pair(static_cast<unsigned>(10 + 2 * k)) >> l & 1,
                  static_cast<std::uint64_t>(holds(relations[k], a, b)))
            << relations[k].name << "_" << type << " " << a << " " << b;
      }
  }
}

TEST(ValuCompare, Floats) {
  check<std::uint32_t>(Arch::gfx942, "f32", "v10, v20", edges_f32(),
                       [](std::uint32_t x) { return double{as_float(x)}; });
  check<std::uint32_t>(Arch::gfx1100, "f32", "v10, v20", edges_f32(),
                       [](std::uint32_t x) { return double{as_float(x)}; });
  check<std::uint64_t>(Arch::gfx942, "f64", "v[10:11], v[20:21]", edges_f64(),
                       [](std::uint64_t x) { return as_double(x); });
  check<std::uint16_t>(Arch::gfx1201, "f16", "v10.l, v20.l", edges_f16(),
                       [](std::uint16_t x) { return half_value(x); });
}

TEST(ValuCompare, Integers) {
  OneWave wave(Arch::gfx942);
  const auto pairs = tuples(edges_u32(), 2);
  for (const auto& [type, bits, is_signed] : {std::tuple{"u32", 32, false},
                                              {"i32", 32, true},
                                              {"u16", 16, false},
                                              {"i16", 16, true},
                                              {"u64", 64, false},
                                              {"i64", 64, true}}) {
    const std::string operands = bits == 64 ? "v[10:11], v[20:21]" : "v10, v20", t = type;
    const auto number = [&](std::uint64_t x) -> long double {
      x = bits == 64 ? x << 32 | 5 : bits == 16 ? x & 0xffff : x;
      const auto top = std::uint64_t{1} << (bits - 1);
      return is_signed && (x & top) != 0 ? static_cast<long double>(x) - 2 * static_cast<long double>(top)
                                         : static_cast<long double>(x);
    };
    for (std::size_t first = 0; first < pairs.size(); first += 64) {
      const unsigned count = static_cast<unsigned>(std::min<std::size_t>(64, pairs.size() - first));
      for (unsigned l = 0; l < count; ++l) {
        wave.set_v64(10, l, bits == 64 ? std::uint64_t{pairs[first + l][0]} << 32 | 5 : pairs[first + l][0]);
        wave.set_v64(20, l, bits == 64 ? std::uint64_t{pairs[first + l][1]} << 32 | 5 : pairs[first + l][1]);
      }
      wave.run("v_cmp_lt_" + t + "_e64 s[10:11], " + operands + "\nv_cmp_eq_" + t + "_e64 s[12:13], " + operands +
               "\nv_cmp_ge_" + t + "_e64 s[14:15], " + operands + "\nv_cmp_ne_" + t + "_e64 s[16:17], " + operands +
               "\nv_cmp_f_" + t + "_e64 s[18:19], " + operands + "\nv_cmp_t_" + t + "_e64 s[20:21], " + operands);
      EXPECT_EQ(wave.wave().pair(18), 0U);
      EXPECT_EQ(wave.wave().pair(20), ~std::uint64_t{0});
      for (unsigned l = 0; l < count; ++l) {
        const long double a = number(pairs[first + l][0]), b = number(pairs[first + l][1]);
        ASSERT_EQ(wave.wave().pair(10) >> l & 1, static_cast<std::uint64_t>(a < b)) << t << " " << a << " " << b;
        ASSERT_EQ(wave.wave().pair(12) >> l & 1, static_cast<std::uint64_t>(a == b)) << t;
        ASSERT_EQ(wave.wave().pair(14) >> l & 1, static_cast<std::uint64_t>(a >= b)) << t;
        ASSERT_EQ(wave.wave().pair(16) >> l & 1, static_cast<std::uint64_t>(a != b)) << t;
      }
    }
  }
}

// Never and always, whatever is compared: NaNs too. gfx12 has neither.
TEST(ValuCompare, NeverAndAlways) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    if (contains(gfx12, arch)) continue;
    const bool gfx9 = is_cdna(arch);
    OneWave wave(arch, 64);
    for (unsigned l = 0; l < 64; ++l)
      wave.set_v64(10, l, edges_f64()[l % edges_f64().size()]), wave.set_v64(20, l, edges_f64()[l * 7 % 24]);
    const std::uint64_t some = 0xff00ff00ff00fff0;
    for (const std::string type : {"f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"})
      for (const bool always : {false, true}) {
        if (!gfx9 && type.ends_with("16") && type != "f16") continue;  // which gfx11 does not have
        const std::string name = (!always ? "f_" : gfx9 && type[0] == 'f' ? "tru_" : "t_") + type;
        const std::string operands = type.ends_with("64") ? "v[10:11], v[20:21]" : "v10, v20";
        SCOPED_TRACE(std::string(rapt::sim::name(arch)) + " " + name);
        wave.wave().set_pair(sreg::exec, some), wave.wave().set_pair(4, 5), wave.wave().set_pair(6, 5);
        wave.run("v_cmp_" + name + "_e64 s[4:5], " + operands);
        EXPECT_EQ(wave.wave().pair(4), always ? some : 0);
        EXPECT_EQ(wave.wave().pair(sreg::exec), some);
        wave.run("v_cmpx_" + name + "_e64 " + (gfx9 ? "s[6:7], " : "") + operands);
        EXPECT_EQ(wave.wave().pair(sreg::exec), always ? some : 0);
        EXPECT_EQ(wave.wave().pair(6), !gfx9 ? 5 : always ? some : 0);
      }
  }
}

TEST(ValuCompare, LanesThatAreOffGetZero) {
  OneWave wave(Arch::gfx942);
  wave.fill(10, 1);
  wave.wave().set_pair(sreg::exec, 0xf0);
  wave.wave().set_pair(sreg::vcc, ~std::uint64_t{0});
  wave.run("v_cmp_eq_u32 vcc, 1, v10");
  EXPECT_EQ(wave.wave().pair(sreg::vcc), 0xf0U);
  OneWave narrow(Arch::gfx1100);
  narrow.fill(10, 1);
  narrow.s(sreg::vcc + 1) = 77;
  narrow.run("v_cmp_eq_u32 vcc_lo, 1, v10");
  EXPECT_EQ(narrow.s(sreg::vcc), 0xffffffffU);
  EXPECT_EQ(narrow.s(sreg::vcc + 1), 77U);
}

// gfx9's v_cmpx writes its mask and EXEC, later ones only EXEC.
TEST(ValuCompare, CmpxWritesExec) {
  OneWave gfx9(Arch::gfx90a);
  for (unsigned l = 0; l < 64; ++l) gfx9.v(10, l) = l;
  gfx9.wave().set_pair(sreg::exec, 0xff00ff00ff00ff00);
  gfx9.run("v_cmpx_gt_u32_e64 s[4:5], 24, v10");
  EXPECT_EQ(gfx9.wave().pair(4), 0xff00U);
  EXPECT_EQ(gfx9.wave().pair(sreg::exec), 0xff00U);
  gfx9.run("v_cmpx_gt_u32 vcc, 10, v10");
  EXPECT_EQ(gfx9.wave().pair(sreg::vcc), 0x300U);
  EXPECT_EQ(gfx9.wave().pair(sreg::exec), 0x300U);
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1201})
    for (const unsigned lanes : {32U, 64U}) {
      OneWave wave(arch, lanes);
      for (unsigned l = 0; l < lanes; ++l) wave.v(10, l) = l;
      wave.wave().set_pair(sreg::vcc, 0x5555);
      wave.run("v_cmpx_gt_u32 10, v10");
      EXPECT_EQ(wave.wave().exec(), 0x3ffU);
      EXPECT_EQ(wave.wave().pair(sreg::vcc), 0x5555U);
    }
}

// Each v_cmpx puts into EXEC what its v_cmp gives, on every architecture.
TEST(ValuCompare, EveryCmpxAgreesWithItsCmp) {
  const std::vector<std::string> of_integers{"lt", "eq", "le", "gt", "ne", "ge"};
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    OneWave wave(arch, 64);
    std::vector<std::string> names;
    for (const char* type : {"f16", "f32", "f64"})
      for (const Relation& r : relations) names.push_back(r.name + "_" + type);
    for (const char* type : {"i16", "u16", "i32", "u32", "i64", "u64"})
      for (const std::string& relation : of_integers) names.push_back(relation + "_" + type);
    for (const char* type : {"f16", "f32", "f64"}) names.push_back(std::string("class_") + type);
    std::string text;
    for (const std::string& name : names) {
      const bool wide = name.ends_with("64"), is_class = name.starts_with("class");
      const std::string operands = wide ? is_class ? "v[10:11], v20" : "v[10:11], v[20:21]" : "v10, v20";
      text += "v_cmp_" + name + "_e64 s[4:5], " + operands + "\n";
      text += "v_cmpx_" + name + "_e64 " + (is_cdna(arch) ? "s[6:7], " : "") + operands + "\n";
    }
    const auto instructions = decode_all(arch, 64, assemble(arch, 64, text));
    ASSERT_EQ(instructions.size(), 2 * names.size());
    const auto values = tuples(edges_f64(), 2);
    for (std::size_t at = 0; at < names.size(); ++at) {
      SCOPED_TRACE(std::string(name(arch)) + " " + names[at]);
      for (unsigned l = 0; l < 64; ++l) {
        wave.set_v64(10, l, values[(l * 37) % values.size()][0] ^ (l % 3 == 0 ? 0 : 0x3c003f80));
        wave.set_v64(20, l, l % 4 == 0 ? wave.v64(10, l) : values[(l * 53) % values.size()][1] ^ 0x3c003f80);
      }
      wave.wave().set_pair(sreg::exec, ~std::uint64_t{0xf00});
      wave.run(instructions[2 * at]);
      const std::uint64_t mask = wave.wave().pair(4);
      wave.run(instructions[2 * at + 1]);
      ASSERT_EQ(wave.wave().pair(sreg::exec), mask);
      if (is_cdna(arch)) {
        ASSERT_EQ(wave.wave().pair(6), mask);
      }
    }
  }
}

TEST(ValuCompare, Classes) {
  const auto class_bit = [](double x, bool quiet, double least_normal) {
    const bool negative = std::signbit(x);
    if (x != x) return quiet ? 1U : 0U;
    if (std::isinf(x)) return negative ? 2U : 9U;
    if (x == 0) return negative ? 5U : 6U;
    return std::fabs(x) < least_normal ? (negative ? 4U : 7U) : (negative ? 3U : 8U);
  };
  OneWave wave(Arch::gfx942);
  wave.wave().mode &= ~(mode::denorm_f32 | mode::denorm_f16_f64);  // does not hide denormals here
  for (unsigned bit = 0; bit < 10; ++bit) {
    wave.s(4) = 1U << bit;
    const auto run = [&](std::uint64_t value, const std::string& text) {
      wave.set_v64(10, 0, value);
      wave.run(text);
      return (wave.wave().pair(6) & 1) != 0;
    };
    for (const std::uint32_t x : edges_f32())
      EXPECT_EQ(run(x, "v_cmp_class_f32_e64 s[6:7], v10, s4"),
                bit == class_bit(as_float(x), (x & 0x400000) != 0, 0x1p-126))
          << x;
    for (const std::uint16_t x : edges_f16())
      EXPECT_EQ(run(x, "v_cmp_class_f16_e64 s[6:7], v10, s4"),
                bit == class_bit(half_value(x), (x & 0x200) != 0, 0x1p-14) || (bit == 5 && x == 0x8000))
          << x;
    for (const std::uint64_t x : edges_f64())
      EXPECT_EQ(run(x, "v_cmp_class_f64_e64 s[6:7], v[10:11], s4"),
                bit == class_bit(as_double(x), (x >> 51 & 1) != 0, 0x1p-1022))
          << x;
  }
  wave.s(4) = 1U << 8;
  wave.fill(10, bits_of(-2.0F));
  wave.run("v_cmp_class_f32_e64 s[6:7], -v10, s4\nv_cmp_class_f32_e64 s[8:9], |v10|, s4");
  EXPECT_EQ(wave.wave().pair(6) & wave.wave().pair(8), ~std::uint64_t{0});
}

// Flushed denormals equal 0.
TEST(ValuCompare, DenormalMode) {
  OneWave wave(Arch::gfx942);
  wave.fill(10, 1);
  wave.fill(20, 0);
  wave.run("v_cmp_eq_f32_e64 s[4:5], v10, v20");
  EXPECT_EQ(wave.wave().pair(4), 0U);
  wave.wave().mode &= ~mode::denorm_f32;
  wave.run("v_cmp_eq_f32_e64 s[4:5], v10, v20");
  EXPECT_EQ(wave.wave().pair(4), ~std::uint64_t{0});
}

}  // namespace
}  // namespace rapt::sim::test
