// DPP: which lane each lane reads, and which lanes are written.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>
#include <optional>

namespace rapt::sim::test {
namespace {

using Lane = std::optional<unsigned>;
using Map = std::function<Lane(unsigned)>;

constexpr std::uint32_t before = 0xabad0000;

struct Pattern {
  std::string control;
  Map map;
};

// Lane l of v10 has 100 + l; the move must read map(l), or 0 or nothing if there is no such active lane.
void check(Arch arch, const std::vector<Pattern>& patterns) {
  OneWave wave(arch, 64);
  const std::string on = is_rdna(arch) ? " bound_ctrl:1" : " bound_ctrl:0";
  std::string text;
  for (const Pattern& p : patterns)
    for (const std::string& bound : {std::string(), on})
      text += "v_mov_b32_dpp v0, v10 " + p.control + " row_mask:0xf bank_mask:0xf" + bound + "\n";
  const auto instructions = decode_all(arch, 64, assemble(arch, 64, text));
  for (std::size_t k = 0; k < instructions.size(); ++k)
    for (const std::uint64_t exec : {~std::uint64_t{0}, std::uint64_t{0x123456789abcdef0}}) {
      for (unsigned l = 0; l < 64; ++l) wave.v(10, l) = 100 + l;
      wave.fill(0, before);
      wave.wave().set_pair(sreg::exec, exec);
      wave.run(instructions[k]);
      for (unsigned l = 0; l < 64; ++l) {
        Lane from = patterns[k / 2].map(l);
        if (from && (exec >> *from & 1) == 0) from.reset();
        const bool runs = (exec >> l & 1) != 0;
        const std::uint32_t want = !runs ? before : from ? 100 + *from : k % 2 == 1 ? 0 : before;
        ASSERT_EQ(wave.v(0, l), want) << name(arch) << " " << patterns[k / 2].control << " lane " << l;
      }
    }
}

Lane in_row(unsigned l, int distance) {
  const int to = static_cast<int>(l % 16) + distance;
  return to >= 0 && to < 16 ? Lane(l - l % 16 + static_cast<unsigned>(to)) : std::nullopt;
}

TEST(ValuDpp, RowPatterns) {
  std::vector<Pattern> patterns{
      {"quad_perm:[3,0,2,1]", [](unsigned l) { return l - l % 4 + std::array{3U, 0U, 2U, 1U}[l % 4]; }},
      {"row_mirror", [](unsigned l) { return l - l % 16 + 15 - l % 16; }},
      {"row_half_mirror", [](unsigned l) { return l - l % 8 + 7 - l % 8; }}};
  for (const int n : {1, 7, 15}) {
    patterns.push_back({"row_shl:" + std::to_string(n), [=](unsigned l) { return in_row(l, n); }});
    patterns.push_back({"row_shr:" + std::to_string(n), [=](unsigned l) { return in_row(l, -n); }});
    patterns.push_back({"row_ror:" + std::to_string(n),
                        [=](unsigned l) { return l - l % 16 + (l % 16 + 16 - static_cast<unsigned>(n)) % 16; }});
  }
  for (const Arch arch : {Arch::gfx908, Arch::gfx942, Arch::gfx1100, Arch::gfx1201}) check(arch, patterns);
}

// Trap: row_bcast reads the row before, and lanes without one are not written.
TEST(ValuDpp, WavePatterns) {
  for (const Arch arch : {Arch::gfx908, Arch::gfx942})
    check(arch, {{"wave_shl:1", [](unsigned l) { return l < 63 ? Lane(l + 1) : std::nullopt; }},
                 {"wave_rol:1", [](unsigned l) { return (l + 1) % 64; }},
                 {"wave_shr:1", [](unsigned l) { return l > 0 ? Lane(l - 1) : std::nullopt; }},
                 {"wave_ror:1", [](unsigned l) { return (l + 63) % 64; }},
                 {"row_bcast:15", [](unsigned l) { return l > 15 ? Lane(l / 16 * 16 - 1) : std::nullopt; }},
                 {"row_bcast:31", [](unsigned l) { return l > 31 ? Lane(31) : std::nullopt; }}});
  check(Arch::gfx942, {{"row_newbcast:3", [](unsigned l) { return l - l % 16 + 3; }}});
  check(Arch::gfx1100, {{"row_share:3", [](unsigned l) { return l - l % 16 + 3; }},
                        {"row_xmask:5", [](unsigned l) { return l ^ 5; }}});
}

// Trap: the destination is a source, and is read before it is written; lanes that are masked keep it.
TEST(ValuDpp, DestinationIsSource) {
  OneWave wave(Arch::gfx942);
  for (unsigned l = 0; l < 64; ++l) wave.set_f(1, l, static_cast<float>(l));
  wave.run("v_add_f32_dpp v1, v1, v1 row_shr:1 row_mask:0xf bank_mask:0xf");
  for (unsigned l = 0; l < 64; ++l)
    EXPECT_EQ(wave.f(1, l), l % 16 == 0 ? static_cast<float>(l) : static_cast<float>(2 * l - 1)) << l;
}

TEST(ValuDpp, Masks) {
  OneWave wave(Arch::gfx942);
  for (unsigned l = 0; l < 64; ++l) wave.v(10, l) = l;
  wave.fill(0, before);
  wave.run("v_mov_b32_dpp v0, v10 quad_perm:[0,0,0,0] row_mask:0xa bank_mask:0x6");
  for (unsigned l = 0; l < 64; ++l) {
    const bool written = (0xa >> l / 16 & 1) != 0 && (0x6 >> l / 4 % 4 & 1) != 0;
    EXPECT_EQ(wave.v(0, l), written ? l - l % 4 : before) << l;
  }
}

TEST(ValuDpp, Eight) {
  for (const unsigned lanes : {32U, 64U}) {
    OneWave wave(Arch::gfx1100, lanes);
    for (unsigned l = 0; l < lanes; ++l) wave.v(10, l) = 100 + l;
    wave.wave().set_pair(sreg::exec, 0xfffffffffffffff7 & wave.wave().all_lanes());
    for (const bool fi : {false, true}) {
      wave.fill(0, before);
      wave.run("v_mov_b32_dpp v0, v10 dpp8:[3,1,4,1,5,2,6,0]" + std::string(fi ? " fi:1" : ""));
      for (unsigned l = 0; l < lanes; ++l) {
        const unsigned from = l - l % 8 + std::array{3U, 1U, 4U, 1U, 5U, 2U, 6U, 0U}[l % 8];
        EXPECT_EQ(wave.v(0, l), l == 3 ? before : from == 3 && !fi ? 0 : 100 + from) << l;
      }
    }
  }
}

TEST(ValuDpp, FetchInactive) {
  OneWave wave(Arch::gfx1100);
  for (unsigned l = 0; l < 32; ++l) wave.v(10, l) = 100 + l;
  wave.s(sreg::exec) = 0xfffffffd;
  wave.fill(0, before);
  wave.run("v_mov_b32_dpp v0, v10 row_shr:1 row_mask:0xf bank_mask:0xf fi:1");
  EXPECT_EQ(wave.v(0, 2), 101U);
  EXPECT_EQ(wave.v(0, 0), before);  // out of the row: bound_ctrl decides
  EXPECT_EQ(wave.v(0, 1), before);
}

TEST(ValuDpp, ModifiersHalvesAndWideValues) {
  OneWave wave(Arch::gfx1100);
  for (unsigned l = 0; l < 32; ++l) wave.set_f(10, l, static_cast<float>(l) - 8);
  wave.fill(20, bits_of(1.0F));
  wave.run(
      "v_add_f32_dpp v0, -|v10|, v20 row_share:2 row_mask:0xf bank_mask:0xf\n"
      "v_fma_f32_e64_dpp v1, v10, v20, -v20 row_mirror row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(wave.f(0, 5), -5.0F);
  EXPECT_EQ(wave.f(1, 0), 6.0F);
  for (unsigned l = 0; l < 32; ++l) wave.v(10, l) = nearest_half(l) << 16;
  wave.fill(0, before);
  wave.run("v_add_f16_dpp v0.l, v10.h, v10.h row_ror:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(wave.v(0, 3), before | nearest_half(5.0));
  OneWave gfx9(Arch::gfx942);
  for (unsigned l = 0; l < 64; ++l) gfx9.set_v64(10, l, bits_of(static_cast<double>(l)));
  gfx9.run("v_mov_b64_dpp v[0:1], v[10:11] row_newbcast:7 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(as_double(gfx9.v64(0, 20)), 23.0);
}

// Lanes that DPP disables get 0 in a mask.
TEST(ValuDpp, ComparisonsAndCarries) {
  OneWave wave(Arch::gfx1100);
  for (unsigned l = 0; l < 32; ++l) wave.v(10, l) = l;
  wave.fill(20, 1000);
  wave.run("v_cmp_lt_u32_dpp vcc_lo, v10, v20 row_shl:1 row_mask:0xf bank_mask:0xf");
  EXPECT_EQ(wave.s(sreg::vcc), 0x7fff7fffU);
  OneWave gfx9(Arch::gfx942);
  gfx9.fill(10, ~0U);
  gfx9.fill(20, 1);
  gfx9.run("v_add_co_u32_dpp v0, vcc, v10, v20 row_shl:1 row_mask:0x3 bank_mask:0xf");
  EXPECT_EQ(gfx9.wave().pair(sreg::vcc), 0x7fff7fffU);
}

}  // namespace
}  // namespace rapt::sim::test
