// LDS operations that compare, exchange and mask, of two addresses too, with and without their result (CDNA3 ISA 12.13,
// RDNA3 ISA 16.11, RDNA4 ISA 16.11). One lane.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Lane : MemoryWave {
  explicit Lane(Target target) : MemoryWave(target) {
    wave().set_pair(sreg::exec, 1);
    s(sreg::m0) = 0xffffffff;
    v(1) = 64;
  }
  template <typename T>
  T& lds(u32 byte) {
    return *reinterpret_cast<T*>(group.lds.data() + byte);
  }
  bool gfx9() const { return is_cdna(group.waves[0].arch); }
  // A name of gfx9, or its new name from gfx11 on.
  std::string either(const std::string& old_name, const std::string& new_name) const {
    return gfx9() ? old_name : new_name;
  }
};

template <typename T>
T bits(double value) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<float>(value));
  else return std::bit_cast<T>(value);
}

// `memory` before, and after `line` with data a in v[2:3] and b in v[4:5]; with_result: v[10:11] gets the old value.
template <typename T>
void check(Lane& lane, const std::string& line, bool with_result, T memory, T a, T b, T after) {
  SCOPED_TRACE(line);
  lane.lds<T>(64) = memory;
  const auto set = [&lane](unsigned reg, T value) {
    if constexpr (sizeof(T) == 4) lane.v(reg) = value;
    else lane.set_v64(reg, 0, value);
  };
  set(2, a), set(4, b), set(10, 0x55);
  lane.run(line);
  EXPECT_EQ(lane.lds<T>(64), after);
  const T result = sizeof(T) == 4 ? lane.v(10) : static_cast<T>(lane.v64(10));
  EXPECT_EQ(result, with_result ? memory : T{0x55});
}

std::string data(unsigned reg, unsigned bits) {
  return bits == 32 ? "v" + std::to_string(reg) : "v[" + std::to_string(reg) + ":" + std::to_string(reg + 1) + "]";
}

// gfx9 compares with the first of the data and stores the second; from gfx11 on it is the other way round.
template <typename T>
void compare_and_store(Lane& lane, const std::string& type, T equal, T other, T stored) {
  const unsigned n = 8 * sizeof(T);
  for (const bool rtn : {false, true}) {
    const std::string line = lane.either("ds_cmpst", "ds_cmpstore") + (rtn ? "_rtn" : "") + type + " " +
                             (rtn ? data(10, n) + ", " : "") + "v1, " + data(2, n) + ", " + data(4, n);
    const T a = lane.gfx9() ? equal : stored, b = lane.gfx9() ? stored : equal;
    check<T>(lane, line, rtn, equal, a, b, stored);
    check<T>(lane, line, rtn, other, a, b, other);
  }
}

TEST(LdsExchange, ComparesAndStores) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Lane lane(target);
    compare_and_store<u32>(lane, "_b32", 7, 8, 0xdeadbeef);
    compare_and_store<u64>(lane, "_b64", 0x700000001, 0x800000001, 0xdeadbeef12345678);
    if (contains(gfx12, target.arch)) continue;
    compare_and_store<u32>(lane, "_f32", bits<u32>(1.5), bits<u32>(-1.5), bits<u32>(9));
    compare_and_store<u64>(lane, "_f64", bits<u64>(1.5), bits<u64>(-1.5), bits<u64>(9));
  }
}

TEST(LdsExchange, MasksAndMerges) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Lane lane(target);
    for (const bool rtn : {false, true}) {
      const std::string r = rtn ? "_rtn" : "";
      check<u32>(lane, "ds_mskor" + r + "_b32 " + (rtn ? "v10, " : "") + "v1, v2, v4", rtn, 0xff00ff00, 0x0f000f0f,
                 0x10, 0xf000f010);
      check<u64>(lane, "ds_mskor" + r + "_b64 " + (rtn ? "v[10:11], " : "") + "v1, v[2:3], v[4:5]", rtn,
                 0xff00ff00ff00ff00, 0x0f000f0f00000000, 0x10, 0xf000f000ff00ff10);
    }
    check<u32>(lane, lane.either("ds_wrxchg_rtn_b32", "ds_storexchg_rtn_b32") + " v10, v1, v2", true, 0x11223344,
               0x99aabbcc, 0, 0x99aabbcc);
    // Each dword whose data has its top bit set becomes the data without that bit.
    check<u64>(lane, "ds_condxchg32_rtn_b64 v[10:11], v1, v[2:3]", true, 0x0000000c0000000b, 0x0000000680000005, 0,
               0x0000000c00000005);
    if (!contains(gfx12, target.arch)) {
      check<u32>(lane, "ds_wrap_rtn_b32 v10, v1, v2, v4", true, 10, 4, 100, 6);
      check<u32>(lane, "ds_wrap_rtn_b32 v10, v1, v2, v4", true, 3, 4, 100, 103);
    }
    check<u64>(lane, lane.either("ds_wrxchg_rtn_b64", "ds_storexchg_rtn_b64") + " v[10:11], v1, v[2:3]", true,
               0x1122334455667788, 0x99aabbccddeeff00, 0, 0x99aabbccddeeff00);
  }
}

TEST(LdsExchange, ExtremesOfFloats) {
  const double nan = std::nan("");
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Lane lane(target);
    const std::string number = contains(gfx12, target.arch) ? "_num" : "";
    for (const bool largest : {false, true})
      for (const auto& [memory, value] : {std::pair{1.5, 2.5}, {2.5, 1.5}, {-1.0, 1.0}, {nan, 3.0}, {3.0, nan}}) {
        const double after = std::isnan(memory)  ? value
                             : std::isnan(value) ? memory
                             : largest           ? std::max(memory, value)
                                                 : std::min(memory, value);
        const std::string stem = std::string(largest ? "ds_max" : "ds_min") + number;
        check<u32>(lane, stem + "_rtn_f32 v10, v1, v2", true, bits<u32>(memory), bits<u32>(value), 0, bits<u32>(after));
        check<u64>(lane, stem + "_f64 v1, v[2:3]", false, bits<u64>(memory), bits<u64>(value), 0, bits<u64>(after));
        check<u64>(lane, stem + "_rtn_f64 v[10:11], v1, v[2:3]", true, bits<u64>(memory), bits<u64>(value), 0,
                   bits<u64>(after));
      }
    check<u32>(lane, "ds_add_rtn_f32 v10, v1, v2", true, bits<u32>(1.5), bits<u32>(-4), 0, bits<u32>(-2.5));
  }
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    Lane lane({arch, 64});
    check<u64>(lane, "ds_add_rtn_f64 v[10:11], v1, v[2:3]", true, bits<u64>(1.5), bits<u64>(-4), 0, bits<u64>(-2.5));
  }
  for (const Target target : {Target{Arch::gfx942, 64}, {Arch::gfx950, 64}, {Arch::gfx1201, 32}}) {
    Lane lane(target);
    for (const bool rtn : {false, true}) {
      const std::string r = rtn ? "rtn_" : "", end = rtn ? "v10, v1, v2" : "v1, v2";
      check<u32>(lane, "ds_pk_add_" + r + "f16 " + end, rtn, 0x3c004000, 0x40003c00, 0, 0x42004200);
      check<u32>(lane, "ds_pk_add_" + r + "bf16 " + end, rtn, 0x3f804000, 0x40003f80, 0, 0x40404040);
    }
  }
  Lane lane({Arch::gfx1201, 32});
  check<u32>(lane, "ds_sub_clamp_u32 v1, v2", false, 5, 7, 0, 0);
  check<u32>(lane, "ds_sub_clamp_u32 v1, v2", false, 7, 5, 0, 2);
  check<u32>(lane, "ds_cond_sub_u32 v1, v2", false, 5, 7, 0, 5);
  check<u32>(lane, "ds_cond_sub_u32 v1, v2", false, 7, 5, 0, 2);
}

// Two addresses: offsets in elements, or in units of 64 elements.
TEST(LdsExchange, TwoAddresses) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Lane lane(target);
    lane.v(1) = 32;
    lane.set_v64(2, 0, 0x1111111122222222), lane.set_v64(4, 0, 0x3333333344444444);
    lane.run(lane.either("ds_write2_b64", "ds_store_2addr_b64") + " v1, v[2:3], v[4:5] offset0:1 offset1:3");
    EXPECT_EQ(lane.lds<u64>(32 + 8), 0x1111111122222222U);
    EXPECT_EQ(lane.lds<u64>(32 + 24), 0x3333333344444444U);
    lane.run(lane.either("ds_write2st64_b32", "ds_store_2addr_stride64_b32") + " v1, v2, v4 offset0:1 offset1:2");
    EXPECT_EQ(lane.lds<u32>(32 + 256), 0x22222222U);
    EXPECT_EQ(lane.lds<u32>(32 + 512), 0x44444444U);
    lane.run(lane.either("ds_wrxchg2_rtn_b64", "ds_storexchg_2addr_rtn_b64") +
             " v[10:13], v1, v[4:5], v[2:3] offset0:1 offset1:3");
    EXPECT_EQ(lane.v64(10), 0x1111111122222222U);
    EXPECT_EQ(lane.v64(12), 0x3333333344444444U);
    EXPECT_EQ(lane.lds<u64>(32 + 8), 0x3333333344444444U);
    EXPECT_EQ(lane.lds<u64>(32 + 24), 0x1111111122222222U);
    lane.run(lane.either("ds_wrxchg2st64_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32") +
             " v[10:11], v1, v4, v2 offset0:1 offset1:2");
    EXPECT_EQ(lane.v(10), 0x22222222U);
    EXPECT_EQ(lane.v(11), 0x44444444U);
    EXPECT_EQ(lane.lds<u32>(32 + 256), 0x44444444U);
    EXPECT_EQ(lane.lds<u32>(32 + 512), 0x22222222U);
  }
}

}  // namespace
}  // namespace rapt::sim::test
