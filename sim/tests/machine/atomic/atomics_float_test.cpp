// Floating-point atomics: rounding, denormals by space and mode, NaNs, signed zeros.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32 bits(float f) { return std::bit_cast<u32>(f); }
u64 bits(double d) { return std::bit_cast<u64>(d); }
constexpr u32 quiet = 0x7fc12345, signalling = 0x7f812345, tiny = 0x00000123;

struct FloatCase {
  u32 old, data, left;
};

// One lane's operation on a cell of global memory ("v[0:1]" in the line) or of LDS ("v0").
class FloatWave {
 public:
  FloatWave(Target target, const std::vector<std::string>& lines) : wave(target), target_(target) {
    wave.prepare(lines);
  }

  void check(const std::string& text, std::initializer_list<FloatCase> cases, u32 denorm = 3) {
    wave.wave().mode = denorm << 4 | 3U << 6;
    wave.set_exec(1);
    const bool in_lds = text.starts_with("ds_");
    for (const FloatCase& c : cases) {
      wave.v(8, 0) = c.data;
      u32& cell = in_lds ? *reinterpret_cast<u32*>(wave.group.lds.data()) : memory.at<u32>(0);
      cell = c.old;
      if (in_lds) wave.v(0, 0) = 0;
      else wave.set_v64(0, 0, memory.address());
      wave.go(text);
      EXPECT_EQ(cell, c.left) << describe(target_) << " " << text << std::hex << " " << c.old << " " << c.data;
    }
  }

  MemoryWave wave;
  Block memory{64};

 private:
  Target target_;
};

void check_f32(Target target, const std::string& text, std::initializer_list<FloatCase> cases) {
  FloatWave(target, {text}).check(text, cases);
}

TEST(Atomics, AddF32) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::initializer_list<FloatCase> common = {
      {bits(1.5F), bits(2.25F), bits(3.75F)},
      {bits(1.0F), bits(0x1p-24F), bits(1.0F)},  // a tie goes to even
      {bits(0x1.000002p0F), bits(0x1p-24F), bits(0x1.000004p0F)},
      {bits(-0.0F), bits(0.0F), bits(0.0F)},
      {bits(-0.0F), bits(-0.0F), bits(-0.0F)},
      {bits(inf), bits(-inf), 0xffc00000},
      {bits(inf), bits(-3.0F), bits(inf)},
      {quiet, bits(1.0F), quiet},
      {bits(1.0F), signalling, signalling | 0x400000},
      {bits(3e38F), bits(3e38F), bits(inf)},
  };
  const std::string memory = "global_atomic_add_f32 v[0:1], v8, off", lds = "ds_add_f32 v0, v8";
  for (const Target& target : every_target()) {
    const bool in_memory = target.arch != Arch::gfx906;  // it has only the LDS's
    FloatWave wave(target, in_memory ? std::vector{memory, lds} : std::vector{lds});
    if (in_memory) wave.check(memory, common);
    wave.check(lds, common);
    // LLVM's tables say on which architectures L2's adder keeps denormals; the LDS follows the mode.
    const bool keeps = target.arch == Arch::gfx942 || target.arch == Arch::gfx950 || contains(gfx12, target.arch);
    for (const u32 denorm : {0U, 3U})
      if (in_memory) wave.check(memory, {{tiny, tiny, keeps ? 2 * tiny : 0}}, denorm);
    wave.check(lds, {{tiny, tiny, 2 * tiny}}, 3);
    wave.check(
        lds, {{tiny, bits(1.0F), bits(1.0F)}, {tiny, tiny, 0}, {tiny | 0x80000000, tiny | 0x80000000, 0x80000000}}, 0);
  }
}

TEST(Atomics, MinAndMaxF32) {
  const std::initializer_list<FloatCase> least = {
      {bits(1.0F), bits(-2.0F), bits(-2.0F)}, {bits(0.0F), bits(-0.0F), bits(-0.0F)},
      {bits(-0.0F), bits(0.0F), bits(-0.0F)}, {quiet, bits(3.0F), bits(3.0F)},
      {bits(3.0F), quiet, bits(3.0F)},        {tiny, bits(1.0F), tiny}};
  const std::initializer_list<FloatCase> greatest = {{bits(1.0F), bits(-2.0F), bits(1.0F)},
                                                     {bits(-0.0F), bits(0.0F), bits(0.0F)},
                                                     {quiet, bits(3.0F), bits(3.0F)},
                                                     {bits(-1.0F), tiny, tiny}};
  for (const Target& target : every_target()) {
    const bool gfx12_names = contains(gfx12, target.arch);
    const std::string end = gfx12_names ? "_num_f32 " : "_f32 ";
    const std::string lines[] = {"ds_min" + end + "v0, v8", "ds_max" + end + "v0, v8",
                                 "global_atomic_min" + end + "v[0:1], v8, off",
                                 "global_atomic_max" + end + "v[0:1], v8, off"};
    const bool in_memory = is_rdna(target.arch);
    FloatWave wave(target, {std::begin(lines), in_memory ? std::end(lines) : std::begin(lines) + 2});
    for (int space = 0; space < (in_memory ? 2 : 1); ++space) {
      wave.check(lines[2 * space], least);
      wave.check(lines[2 * space + 1], greatest);
      // A signalling NaN is the result itself before gfx12.
      wave.check(lines[2 * space + 1], {{signalling, bits(3.0F), gfx12_names ? bits(3.0F) : signalling | 0x400000}});
    }
  }
}

TEST(Atomics, PackedAndDouble) {
  // f16: 1 + 2, 65504 + 65504 (infinity); bf16: 1 + 2, and a tie.
  check_f32({Arch::gfx90a, 64}, "global_atomic_pk_add_f16 v[0:1], v8, off", {{0x7bff3c00, 0x7bff4000, 0x7c004200}});
  check_f32({Arch::gfx942, 64}, "global_atomic_pk_add_f16 v[0:1], v8, off", {{0x00010001, 0x00010002, 0x00020003}});
  check_f32({Arch::gfx942, 64}, "global_atomic_pk_add_bf16 v[0:1], v8, off", {{0x3f803f80, 0x3b804000, 0x3f804040}});
  check_f32({Arch::gfx942, 64}, "ds_pk_add_bf16 v0, v8", {{0x3f813f80, 0x3b804000, 0x3f824040}});
  check_f32({Arch::gfx942, 64}, "ds_pk_add_f16 v0, v8", {{0x3c003c00, 0xbc004000, 0x00004200}});
  check_f32({Arch::gfx1201, 32}, "global_atomic_pk_add_f16 v[0:1], v8, off", {{0x7bff3c00, 0x7bff4000, 0x7c004200}});
  check_f32({Arch::gfx1201, 32}, "ds_pk_add_bf16 v0, v8", {{0x3f803f80, 0x40004000, 0x40404040}});

  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    MemoryWave wave({arch, 64});
    Block memory(64);
    const std::string flag = arch == Arch::gfx90a ? " glc" : " sc0";
    const std::string lines[] = {
        "global_atomic_add_f64 v[4:5], v[0:1], v[8:9], off" + flag, "global_atomic_min_f64 v[0:1], v[8:9], off",
        "global_atomic_max_f64 v[0:1], v[8:9], off", "ds_add_f64 v2, v[8:9]", "ds_max_rtn_f64 v[4:5], v2, v[8:9]"};
    wave.prepare({std::begin(lines), std::end(lines)});
    wave.set_exec(1);
    wave.set_v64(0, 0, memory.address());
    wave.v(2, 0) = 8;
    double& cell = memory.at<double>(0);
    auto& lds = *reinterpret_cast<double*>(wave.group.lds.data() + 8);
    cell = 1.5, wave.set_v64(8, 0, bits(2.25));
    wave.go(lines[0]);
    EXPECT_EQ(cell, 3.75);
    EXPECT_EQ(wave.v64(4, 0), bits(1.5));
    wave.go(lines[1]);
    EXPECT_EQ(cell, 2.25);
    wave.set_v64(8, 0, bits(7.0));
    wave.go(lines[2]);
    EXPECT_EQ(cell, 7.0);
    lds = 5e-324;
    wave.set_v64(8, 0, bits(5e-324));
    wave.wave().mode = 0;  // the f64 adder still keeps denormals
    wave.go(lines[3]);
    EXPECT_EQ(lds, 1e-323);
    wave.set_v64(8, 0, bits(std::nan("")));
    lds = -1;
    wave.go(lines[4]);
    EXPECT_EQ(lds, -1);
    EXPECT_EQ(wave.v64(4, 0), bits(-1.0));
  }
}

TEST(Atomics, CompareAndSwapFloats) {
  check_f32({Arch::gfx1100, 32}, "global_atomic_cmpswap_f32 v[0:1], v[8:9], off",
            {{bits(-0.0F), bits(5.0F), bits(5.0F)}});
  MemoryWave wave({Arch::gfx1100, 32});
  wave.prepare({"ds_cmpstore_rtn_f32 v4, v0, v8, v9"});
  wave.set_exec(1);
  u32& cell = *reinterpret_cast<u32*>(wave.group.lds.data());
  wave.v(0, 0) = 0;
  for (const auto& [old, compare, swapped] :
       {std::tuple{bits(-0.0F), bits(0.0F), true}, {quiet, quiet, false}, {bits(1.0F), bits(1.0F), true}}) {
    cell = old, wave.v(8, 0) = bits(9.0F), wave.v(9, 0) = compare;
    wave.go("ds_cmpstore_rtn_f32 v4, v0, v8, v9");
    EXPECT_EQ(cell, swapped ? bits(9.0F) : old);
  }
}

}  // namespace
}  // namespace rapt::sim::test
