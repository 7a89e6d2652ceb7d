// The sanitizer sees what scalar instructions do with memory: plain and buffer loads, gfx12's narrow ones, gfx9's
// stores and atomics.
#include "sim/tests/support/checked_group.hpp"

#include "sim/memory/memory.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr CheckOptions only_races{.races = true}, only_values{.values = true};
const bool tracking = (Memory::set_tracking(true), true);

constexpr unsigned bytes = 4096;

// Memory that no host or kernel has written, with its address in s[2:3] and a descriptor of `records` bytes in s[4:7].
class Memory4K {
 public:
  Memory4K() : data_(static_cast<unsigned char*>(Memory::process().allocate(bytes, 4096, MemoryKind::device, 0))) {}
  ~Memory4K() { Memory::process().release(data_); }
  void write(unsigned from, unsigned to) const {
    std::fill(data_ + from, data_ + to, static_cast<unsigned char>(7));
    Memory::process().mark_written(reinterpret_cast<std::uint64_t>(data_) + from, to - from);
  }
  void give(CheckedGroup& group, std::uint32_t records) const {
    group.set_address(2, data_);
    Wave& w = group.wave(0);
    w.set_pair(4, w.pair(2));
    w.sgpr[6] = records;
    w.sgpr[7] = 0;
    for (unsigned l = 0; l < w.lanes; ++l) w.row(1)[l] = 9;
    w.sgpr[8] = 9;
    w.initial_sgprs = 16;
    w.initial_vgprs = 4;
  }

 private:
  unsigned char* data_;
};

struct Pair {
  Arch arch;
  const char *first, *second;
  bool race;
};

// Two workgroups of one wave, one after the other; v0 is the lane's number times four, s8 and v1 are 9.
std::string races(const Pair& pair) {
  const Memory4K memory;
  memory.write(0, bytes);
  RaceLaunch launch;
  const auto code = std::make_shared<CheckedCode>(pair.arch, std::vector<std::string>{pair.first, pair.second});
  std::string found;
  for (unsigned n = 0; n < 2 && found.empty(); ++n) {
    CheckedGroup group(code, n, 1, only_races, &launch, n);
    memory.give(group, 1024);
    found = group.run({0});
  }
  return found;
}

TEST(ScalarMemory, Races) {
  const char *store = "global_store_dword v0, v1, s[2:3]", *load = "global_load_dword v2, v0, s[2:3]";
  const Pair pairs[] = {
      {Arch::gfx90a, store, "s_buffer_load_dwordx2 s[10:11], s[4:7], 0x10", true},
      {Arch::gfx942, store, "s_buffer_load_dword s10, s[4:7], 0x100", false},  // after the stored bytes
      {Arch::gfx942, "global_store_dword v0, v1, s[2:3] offset:1024", "s_buffer_load_dwordx4 s[8:11], s[4:7], 0x3fc",
       false},  // the last three are outside
      {Arch::gfx942, "global_store_dword v0, v1, s[2:3] offset:1020", "s_buffer_load_dwordx4 s[8:11], s[4:7], 0x3fc",
       true},
      {Arch::gfx1201, "global_store_b16 v0, v1, s[2:3]", "s_load_u16 s10, s[2:3], 0x10", true},
      {Arch::gfx1201, "global_store_b16 v0, v1, s[2:3]", "s_load_u16 s10, s[2:3], 0x12", false},
      {Arch::gfx1201, "global_store_b16 v0, v1, s[2:3]", "s_buffer_load_i8 s10, s[4:7], 0x11", true},
      {Arch::gfx1201, "global_store_b16 v0, v1, s[2:3]", "s_buffer_load_u8 s10, s[4:7], 0x13", false},
      {Arch::gfx90a, "s_store_dword s8, s[2:3], 0x10", load, true},
      {Arch::gfx90a, "s_store_dword s8, s[2:3], 0x100", load, false},
      {Arch::gfx90a, "s_store_dword s8, s[2:3], 0x10", store, false},  // the same value
      {Arch::gfx90a, "s_store_dwordx2 s[8:9], s[2:3], 0x10", store, true},
      {Arch::gfx908, load, "s_buffer_store_dwordx2 s[8:9], s[4:7], 0xfc", true},
      {Arch::gfx908, "global_load_dword v2, v0, s[2:3] offset:1024", "s_buffer_store_dwordx2 s[8:9], s[4:7], 0x3fc",
       false},
      {Arch::gfx90a, "s_atomic_add s8, s[2:3], 0x10", "s_atomic_add s8, s[2:3], 0x10 glc", false},
      {Arch::gfx90a, "s_atomic_add s8, s[2:3], 0x10", "global_atomic_add v0, v1, s[2:3]", false},
      {Arch::gfx90a, "s_buffer_atomic_add s8, s[4:7], 0x10", load, true},
      // Data, then an atomic; an atomic that returns a result, then the data.
      {Arch::gfx90a, "global_store_dword v0, v1, s[2:3] offset:512\ns_atomic_add s8, s[2:3], 0x10",
       "s_atomic_add s8, s[2:3], 0x10 glc\nglobal_load_dword v2, v0, s[2:3] offset:512", false},
      {Arch::gfx90a, "global_store_dword v0, v1, s[2:3] offset:512\ns_atomic_add s8, s[2:3], 0x10",
       "s_atomic_add s8, s[2:3], 0x10\nglobal_load_dword v2, v0, s[2:3] offset:512", true},
  };
  for (const Pair& pair : pairs) {
    const std::string found = races(pair);
    EXPECT_EQ(found.substr(0, 9), pair.race ? "data race" : "") << pair.first << "\n" << pair.second << "\n" << found;
  }
}

// What the check of values reports if the first 64 bytes are written.
std::string values(Arch arch, const std::string& text) {
  const Memory4K memory;
  memory.write(0, 64);
  CheckedGroup unchecked(arch, {text}, {});
  memory.give(unchecked, 1024);
  Checks checks(only_values, *unchecked.wave(0).group);  // after the initial registers are set
  unchecked.wave(0).group->observers = {&checks};
  return unchecked.run({0});
}

TEST(ScalarMemory, NeverWritten) {
  const auto stored = [](const std::string& load, const std::string& mnemonic) {
    return load + "\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s10\nv_mov_b32 v3, s11\n" + mnemonic;
  };
  const std::string gfx9 = "global_store_dwordx2 v0, v[2:3], s[2:3] offset:1024";
  const auto buffer = [&](const char* at) {
    return values(Arch::gfx942, stored(std::string("s_buffer_load_dwordx2 s[10:11], s[4:7], ") + at, gfx9));
  };
  EXPECT_EQ(buffer("0x38"), "");
  EXPECT_EQ(buffer("0x3c").substr(0, 38), "v3 was never written and is stored: gl");
  EXPECT_EQ(buffer("0x40").substr(0, 38), "v2 was never written and is stored: gl");
  EXPECT_EQ(buffer("0x400"), "");  // outside of the buffer: zeros
  const auto narrow = [](const std::string& load) {
    return values(Arch::gfx1201,
                  load + "\ns_wait_kmcnt 0x0\nv_mov_b32 v2, s10\nglobal_store_b32 v0, v2, s[2:3] offset:1024");
  };
  EXPECT_EQ(narrow("s_load_u16 s10, s[2:3], 0x3e"), "");
  EXPECT_EQ(narrow("s_load_u16 s10, s[2:3], 0x40").substr(0, 35), "v2 was never written and is stored:");
  EXPECT_EQ(narrow("s_buffer_load_i8 s10, s[4:7], 0x3f"), "");
  EXPECT_EQ(narrow("s_buffer_load_i8 s10, s[4:7], 0x40").substr(0, 35), "v2 was never written and is stored:");
  // Memory that a scalar store or atomic wrote counts as written.
  EXPECT_EQ(values(Arch::gfx90a,
                   "s_store_dwordx2 s[8:9], s[2:3], 0x80\n" + stored("s_load_dwordx2 s[10:11], s[2:3], 0x80", gfx9)),
            "");
  EXPECT_EQ(values(Arch::gfx90a, "s_atomic_swap s8, s[2:3], 0x80\ns_atomic_swap s8, s[2:3], 0x84\n" +
                                     stored("s_load_dwordx2 s[10:11], s[2:3], 0x80", gfx9)),
            "");
}

TEST(ScalarMemory, OutOfBounds) {
  for (const char* text : {"s_store_dwordx2 s[8:9], s[2:3], 0xffc", "s_atomic_add s8, s[2:3], 0x1000",
                           "s_load_dwordx4 s[8:11], s[2:3], 0xff8"})
    EXPECT_NE(values(Arch::gfx90a, text).find("scalar a"), std::string::npos) << text;
  EXPECT_NE(values(Arch::gfx1201, "s_load_u16 s10, s[2:3], 0x1000").find("scalar access of 2 bytes"),
            std::string::npos);
}

TEST(ChecksOfRaces, NeedTheLaunch) {
  CheckedGroup group(Arch::gfx942, {"s_nop 0"}, {});
  EXPECT_THROW(Checks(only_races, *group.wave(0).group), std::invalid_argument);
}

}  // namespace
}  // namespace rapt::sim::test
