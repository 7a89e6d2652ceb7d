// gfx9's scalar atomics: every operation of 32 and 64 bits, with addresses and with buffers, with and without the old
// value returned (MI100's document; later ones of the family keep the opcodes).
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr Arch with_them[] = {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950};

struct Form {
  const char* name;
  u64 (*f)(u64 memory, u64 data);  // of 64 bits, or of 32 in the upper half of 64: signs are the same there
};
constexpr u64 one = u64{1} << 32;
const Form forms[] = {
    {"swap", [](u64, u64 d) { return d; }},
    {"add", [](u64 m, u64 d) { return m + d; }},
    {"sub", [](u64 m, u64 d) { return m - d; }},
    {"smin", [](u64 m, u64 d) { return static_cast<i64>(m) < static_cast<i64>(d) ? m : d; }},
    {"umin", [](u64 m, u64 d) { return m < d ? m : d; }},
    {"smax", [](u64 m, u64 d) { return static_cast<i64>(m) > static_cast<i64>(d) ? m : d; }},
    {"umax", [](u64 m, u64 d) { return m > d ? m : d; }},
    {"and", [](u64 m, u64 d) { return m & d; }},
    {"or", [](u64 m, u64 d) { return m | d; }},
    {"xor", [](u64 m, u64 d) { return m ^ d; }},
};
// Counters that wrap: their step depends on the width.
const Form counters[] = {
    {"inc", [](u64 m, u64 d) { return m >= d ? 0 : m + 1; }},
    {"dec", [](u64 m, u64 d) { return m == 0 || m > d ? d : m - 1; }},
};
constexpr u64 values[] = {0, 1, 5, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, ~u64{0}};

struct Scene : MemoryWave {
  explicit Scene(Arch arch) : MemoryWave({arch, 64}) {
    wave().set_pair(4, memory.address() + 1024);
    buffer(0, 200);
  }
  void buffer(u32 stride, u32 records) {
    s(8) = static_cast<u32>(memory.address()), s(9) = static_cast<u32>(memory.address() >> 32) | stride << 16;
    s(10) = records, s(11) = 0;
  }
  Block memory{4096};
};

std::string line(const char* name, bool buffer, bool wide, bool returns) {
  return std::string(buffer ? "s_buffer_atomic_" : "s_atomic_") + name + (wide ? "_x2 s[32:33], " : " s32, ") +
         (buffer ? "s[8:11]" : "s[4:5]") + ", 0x10" + (returns ? " glc" : "");
}

void check(Scene& scene, const Form& form, bool counts) {
  for (const bool buffer : {false, true})
    for (const bool wide : {false, true})
      for (const bool returns : {false, true}) {
        const std::string text = line(form.name, buffer, wide, returns);
        SCOPED_TRACE(text);
        u32* const at = &scene.memory.at<u32>((buffer ? 16 : 1040) / 4);
        for (const u64 m : values)
          for (const u64 d : values) {
            const u64 kept = wide ? ~u64{0} : 0xffffffff, memory = m & kept, data = d & kept;
            at[0] = static_cast<u32>(m), at[1] = static_cast<u32>(m >> 32);
            scene.wave().set_pair(32, d);
            scene.go(text);
            const u64 after = wide || counts ? form.f(memory, data) : form.f(memory * one, data * one) >> 32;
            ASSERT_EQ((at[0] | u64{at[1]} << 32) & kept, after) << m << " " << d;
            ASSERT_EQ(scene.wave().pair(32) & kept, returns ? memory : data) << m << " " << d;
            if (!wide) {
              ASSERT_EQ(at[1], m >> 32);
              ASSERT_EQ(scene.s(33), d >> 32);
            }
          }
      }
}

TEST(ScalarAtomics, EveryOperation) {
  for (const Arch arch : with_them) {
    SCOPED_TRACE(name(arch));
    Scene scene(arch);
    std::vector<std::string> lines;
    for (const bool buffer : {false, true})
      for (const bool wide : {false, true})
        for (const bool returns : {false, true}) {
          for (const Form& form : forms) lines.push_back(line(form.name, buffer, wide, returns));
          for (const Form& form : counters) lines.push_back(line(form.name, buffer, wide, returns));
        }
    scene.prepare(lines);
    for (const Form& form : forms) check(scene, form, false);
    for (const Form& form : counters) check(scene, form, true);
  }
}

// The first of the data is stored, the second compared with.
TEST(ScalarAtomics, CompareAndSwap) {
  for (const Arch arch : with_them) {
    Scene scene(arch);
    for (const bool buffer : {false, true}) {
      SCOPED_TRACE(std::string(name(arch)) + (buffer ? " buffer" : ""));
      const std::string stem = buffer ? "s_buffer_atomic_cmpswap" : "s_atomic_cmpswap",
                        end = buffer ? ", s[8:11], 0x10 glc" : ", s[4:5], 0x10 glc";
      u64& at = scene.memory.at<u64>((buffer ? 16 : 1040) / 8);
      for (const u64 compare : {u64{9}, u64{8}}) {
        at = 0x500000009;
        scene.s(32) = 77, scene.s(33) = static_cast<u32>(compare);
        scene.run(stem + " s[32:33]" + end);
        EXPECT_EQ(at, compare == 9 ? 0x50000004dU : 0x500000009U);
        EXPECT_EQ(scene.s(32), 9U);
        EXPECT_EQ(scene.s(33), compare);
        at = 0x500000009;
        scene.wave().set_pair(32, 0x1122334455667788), scene.wave().set_pair(34, compare | 0x500000000);
        scene.run(stem + "_x2 s[32:35]" + end);
        EXPECT_EQ(at, compare == 9 ? 0x1122334455667788U : 0x500000009U);
        EXPECT_EQ(scene.wave().pair(32), 0x500000009U);
      }
    }
  }
}

// The range is num_records bytes, times the stride if there is one.
TEST(ScalarAtomics, BuffersEnd) {
  Scene scene(Arch::gfx942);
  const auto added = [&](u32 stride, u32 records, const std::string& offset, u32 byte) {
    scene.buffer(stride, records);
    scene.memory.at<u32>(byte / 4) = 5;
    scene.s(32) = 2;
    scene.run("s_buffer_atomic_add s32, s[8:11], " + offset);
    return scene.memory.at<u32>(byte / 4) == 7;
  };
  EXPECT_TRUE(added(0, 200, "0xc4", 196));
  EXPECT_FALSE(added(0, 200, "0xc8", 200));
  EXPECT_FALSE(added(0, 199, "0xc4", 196));
  EXPECT_TRUE(added(8, 25, "0xc4", 196));
  EXPECT_FALSE(added(8, 25, "0xc8", 200));
}

}  // namespace
}  // namespace rapt::sim::test
