// Faults of global and private accesses, and special memory instructions: by lane number, blocks, transposing loads,
// loads to LDS, caches.
#include "sim/machine/memory/flat_access.hpp"
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rapt::sim::test {
namespace {

// The fault that running a line reports; fails the test if there is none.
Fault report(MemoryWave& wave, const std::string& line) {
  try {
    wave.go(line);
  } catch (const Fault& fault) {
    return fault;
  }
  ADD_FAILURE() << line << " reports nothing";
  return Fault(FaultKind::trap, "");
}

bool says(const Fault& fault, const std::string& words) {
  return std::string(fault.what()).find(words) != std::string::npos;
}

TEST(MemoryFaults, NameLaneAndAddress) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    MemoryWave wave(target);
    Block a(4096), b(256);
    const bool gfx9 = is_cdna(target.arch);
    const std::string load = gfx9 ? "global_load_dwordx2 v[4:5], v[0:1], off" : "global_load_b64 v[4:5], v[0:1], off";
    const std::string store = gfx9 ? "flat_store_byte v[0:1], v4" : "flat_store_b8 v[0:1], v4";
    const std::string atomic = gfx9 ? "global_atomic_add v[0:1], v4, off" : "global_atomic_add_u32 v[0:1], v4, off";
    wave.prepare({load, store, atomic});
    const auto everywhere = [&](u64 address) {
      for (unsigned l = 0; l < target.lanes; ++l) wave.set_v64(0, l, address);
    };
    everywhere(a.address());
    wave.set_v64(0, 11, a.address() + 4092);
    const Fault past = report(wave, load);
    EXPECT_EQ(past.kind, FaultKind::illegal_address);
    EXPECT_EQ(past.lane, 11U);
    EXPECT_EQ(past.address, a.address() + 4092);
    EXPECT_TRUE(says(past, "load of 8 bytes")) << past.what();
    EXPECT_TRUE(says(past, "reaches past its end")) << past.what();
    wave.set_v64(0, 11, a.address() - 1);
    EXPECT_TRUE(says(report(wave, store), "1 bytes before the 4096 bytes of device memory"));
    wave.set_v64(0, 11, 0);
    EXPECT_TRUE(says(report(wave, atomic), "null pointer"));
    wave.set_v64(0, 11, 0xffff800000000000);
    EXPECT_EQ(report(wave, load).lane, 11U);
    // Not if the lane is inactive.
    wave.set_exec(~(u64{1} << 11));
    EXPECT_NO_THROW(wave.go(load));
    wave.set_exec(0);
    everywhere(0);
    EXPECT_NO_THROW(wave.go(load));
    wave.set_exec(~u64{0});
    // Lanes may be in different allocations.
    everywhere(a.address());
    wave.set_v64(0, 3, b.address() + 248);
    EXPECT_NO_THROW(wave.go(load));
    {
      const Block gone(512);
      wave.set_v64(0, 3, gone.address() + 16);
      EXPECT_NO_THROW(wave.go(load));
    }
    const Fault late = report(wave, load);
    EXPECT_EQ(late.lane, 3U);
    EXPECT_TRUE(says(late, "byte 16 of freed 512 bytes")) << late.what();
  }
}

TEST(MemoryFaults, PrivateMemoryEnds) {
  for (const Target& target : {Target{Arch::gfx942, 64}, Target{Arch::gfx1100, 32}}) {
    MemoryWave wave(target);
    const std::string line =
        is_cdna(target.arch) ? "scratch_load_dwordx2 v[4:5], v0, off" : "scratch_load_b64 v[4:5], v0, off";
    wave.prepare({line});
    wave.fill(0, MemoryWave::private_bytes - 8);
    EXPECT_NO_THROW(wave.go(line));
    for (const u32 bad : {MemoryWave::private_bytes - 4, ~u32{3}, u32{0x80000000}}) {
      wave.v(0, 5) = bad;
      const Fault fault = report(wave, line);
      EXPECT_EQ(fault.kind, FaultKind::illegal_address);
      EXPECT_EQ(fault.lane, 5U);
      EXPECT_TRUE(says(fault, "a lane has 512")) << fault.what();
    }
  }
}

TEST(MemorySpecial, ByLaneNumber) {
  for (const Target& target :
       {Target{Arch::gfx1100, 32}, Target{Arch::gfx1100, 64}, Target{Arch::gfx1151, 32}, Target{Arch::gfx1201, 32}}) {
    MemoryWave wave(target);
    Block memory(1024);
    const std::string load = "global_load_addtid_b32 v4, s[2:3] offset:8",
                      store = "global_store_addtid_b32 v4, s[2:3] offset:264";
    wave.prepare({load, store});
    for (u32 n = 0; n < 256; ++n) memory.at<u32>(n) = n;
    wave.wave().set_pair(2, memory.address());
    wave.set_exec(~u64{4});
    wave.go(load);
    wave.go(store);
    for (unsigned l = 0; l < target.lanes; ++l) {
      ASSERT_EQ(wave.v(4, l), l == 2 ? 0 : l + 2);
      ASSERT_EQ(memory.at<u32>(66 + l), l == 2 ? 68 : l + 2);
    }
  }
}

TEST(MemorySpecial, Blocks) {
  MemoryWave wave({Arch::gfx1201, 32});
  Block memory(8192);
  const std::string lines[] = {"global_load_block v[32:63], v[0:1], off offset:4",
                               "global_store_block v[0:1], v[32:63], off offset:4",
                               "scratch_load_block v[32:63], v2, off", "scratch_store_block v2, v[32:63], off"};
  wave.prepare({std::begin(lines), std::end(lines)});
  for (u32 n = 0; n < 2048; ++n) memory.at<u32>(n) = n;
  constexpr u32 mask = 0x80010005;
  wave.s(sreg::m0) = mask;
  for (unsigned l = 0; l < 32; ++l) wave.set_v64(0, l, memory.address() + 128 * l), wave.v(2, l) = 4 * l;
  for (unsigned r = 0; r < 32; ++r) wave.fill(32 + r, 7);
  wave.go(lines[0]);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 32; ++r) ASSERT_EQ(wave.v(32 + r, l), mask >> r & 1 ? 32 * l + r + 1 : 7);
  for (unsigned r = 0; r < 32; ++r) wave.fill(32 + r, 0x500 + r);
  wave.go(lines[1]);
  for (u32 n = 1; n < 1025; ++n) ASSERT_EQ(memory.at<u32>(n), mask >> (n - 1) % 32 & 1 ? 0x500 + (n - 1) % 32 : n);
  wave.go(lines[3]);
  for (unsigned r = 0; r < 32; ++r) wave.fill(32 + r, 7);
  wave.go(lines[2]);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 32; ++r) ASSERT_EQ(wave.v(32 + r, l), mask >> r & 1 ? 0x500 + r : 7);
}

// A matrix of 16 rows k of 16 columns n, row-major. With the lanes' addresses, working gfx1201 kernels get the B
// operand of a WMMA: lane l has column l % 16 and k from 8 * (l / 16) on.
TEST(MemorySpecial, TransposingLoads) {
  MemoryWave wave({Arch::gfx1201, 32});
  Block memory(1024);
  const std::string b128 = "global_load_tr_b128 v[4:7], v[0:1], off", b64 = "global_load_tr_b64 v[4:5], v[0:1], off";
  wave.prepare({b128, b64});
  for (u32 k = 0; k < 16; ++k)
    for (u32 n = 0; n < 16; ++n) memory.at<std::uint16_t>(k * 16 + n) = static_cast<std::uint16_t>(0x1000 + k * 16 + n);
  for (unsigned l = 0; l < 32; ++l)
    wave.set_v64(0, l, memory.address() + 2 * ((8 * (l / 16) + l % 8) * 16 + l / 8 % 2 * 8));
  wave.go(b128);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned e = 0; e < 8; ++e)
      ASSERT_EQ(wave.v(4 + e / 2, l) >> 16 * (e % 2) & 0xffff, 0x1000 + (8 * (l / 16) + e) * 16 + l % 16)
          << l << " " << e;
  for (u32 k = 0; k < 16; ++k)
    for (u32 n = 0; n < 16; ++n) memory.data()[k * 16 + n] = static_cast<unsigned char>(k * 16 + n);
  for (unsigned l = 0; l < 32; ++l) wave.set_v64(0, l, memory.address() + (l / 8 * 4 + l % 4) * 16 + (l & 4 ? 8 : 0));
  wave.go(b64);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned e = 0; e < 8; ++e)
      ASSERT_EQ(wave.v(4 + e / 4, l) >> 8 * (e % 4) & 0xff, (8 * (l / 16) + e) * 16 + l % 16) << l << " " << e;
  wave.set_exec(1);
  EXPECT_EQ(report(wave, b64).kind, FaultKind::illegal_instruction);
}

constexpr Arch archs_with_loads_to_lds[] = {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950};

// Up to gfx90a a bit of the plain load, then a separate operation.
std::string load_to_lds(Arch arch, const std::string& space, const std::string& type, const std::string& operands) {
  const bool bit = contains(before_gfx90a, arch) || arch == Arch::gfx90a;
  return space + (bit ? "_load_" : "_load_lds_") + type + operands + (bit ? " lds" : "");
}

TEST(MemorySpecial, LoadsToLds) {
  for (const Arch arch : archs_with_loads_to_lds) {
    MemoryWave wave({arch, 64});
    Block memory(4096);
    std::vector<std::string> lines = {load_to_lds(arch, "global", "dword", " v[0:1], off offset:8"),
                                      load_to_lds(arch, "global", "ushort", " v2, s[2:3] offset:8"),
                                      load_to_lds(arch, "scratch", "dword", " v3, off")};
    if (arch == Arch::gfx950)
      lines.push_back("global_load_lds_dwordx4 v[0:1], off offset:8"),
          lines.push_back("global_load_lds_dwordx3 v[0:1], off offset:8");
    const std::string wait = "s_waitcnt vmcnt(0)";
    lines.push_back(wait);
    wave.prepare(lines);
    for (u32 n = 0; n < 1024; ++n) memory.at<u32>(n) = 0x80008000 + n;
    const auto lds = [&](u32 byte) { return *reinterpret_cast<u32*>(wave.group.lds.data() + byte); };
    wave.wave().set_pair(2, memory.address());
    for (unsigned l = 0; l < 64; ++l) {
      wave.set_v64(0, l, memory.address() + (63 - l) * 24);
      wave.v(2, l) = (63 - l) * 24;
      wave.v(3, l) = 12;
      for (unsigned b = 0; b < 4; ++b) wave.private_byte(l, 12 + b) = static_cast<unsigned char>(l);
    }
    wave.s(sreg::m0) = 0x403;  // the two lowest bits are ignored
    wave.set_exec(~u64{8});
    const auto clear = [&] { std::fill(wave.group.lds.begin(), wave.group.lds.end(), 0xee); };
    // They write when the wave waits for them.
    const auto load = [&](const std::string& line) {
      clear();
      wave.go(line);
      ASSERT_TRUE(std::all_of(wave.group.lds.begin(), wave.group.lds.end(), [](auto byte) { return byte == 0xee; }));
      wave.go(wait);
    };
    load(lines[0]);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(lds(0x400 + 8 + 4 * l), l == 3 ? 0xeeeeeeee : 0x80008000 + (63 - l) * 6 + 2);
    load(lines[1]);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(lds(0x400 + 8 + 4 * l), l == 3 ? 0xeeeeeeee : 0x8000 + (63 - l) * 6 + 2);
    load(lines[2]);
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(lds(0x400 + 4 * l), l == 3 ? 0xeeeeeeee : l * 0x01010101);
    if (arch != Arch::gfx950) continue;
    load(lines[3]);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned d = 0; d < 4; ++d)
        ASSERT_EQ(lds(0x408 + 16 * l + 4 * d), l == 3 ? 0xeeeeeeee : 0x80008000 + (63 - l) * 6 + 2 + d);
    load(lines[4]);
    for (unsigned l = 4; l < 64; ++l) {
      ASSERT_EQ(lds(0x408 + 16 * l + 8), 0x80008000 + (63 - l) * 6 + 4);
      ASSERT_EQ(lds(0x408 + 16 * l + 12), 0xeeeeeeee);
    }
  }
}

// Bytes and words are each widened to a dword of LDS.
TEST(MemorySpecial, NarrowLoadsToLds) {
  struct Form {
    const char* name;
    u32 (*widened)(u32 dword);
  };
  static const Form forms[] = {
      {"ubyte", [](u32 d) { return d & 0xff; }},
      {"sbyte", [](u32 d) { return (d & 0xff) | (d & 0x80 ? 0xffffff00 : 0); }},
      {"ushort", [](u32 d) { return d & 0xffff; }},
      {"sshort", [](u32 d) { return (d & 0xffff) | (d & 0x8000 ? 0xffff0000 : 0); }},
  };
  for (const Arch arch : archs_with_loads_to_lds) {
    MemoryWave wave({arch, 64});
    const Block memory(4096);
    const std::string wait = "s_waitcnt vmcnt(0)";
    std::vector<std::string> lines{wait};
    for (const Form& form : forms)
      for (const std::string end : {" v[0:1], off offset:8", " v3, off"})
        lines.push_back(load_to_lds(arch, end == " v3, off" ? "scratch" : "global", form.name, end));
    wave.prepare(lines);
    for (u32 n = 0; n < 1024; ++n) memory.at<u32>(n) = 0x9e3779b9U * n;
    for (unsigned l = 0; l < 64; ++l) {
      wave.set_v64(0, l, memory.address() + 4 * l);
      wave.v(3, l) = 12;
      for (unsigned b = 0; b < 4; ++b) wave.private_byte(l, 12 + b) = static_cast<unsigned char>(l * 0x53 + b);
    }
    wave.s(sreg::m0) = 0x400;
    wave.set_exec(~u64{8});
    for (std::size_t at = 1; at < lines.size(); ++at) {
      const bool own = lines[at].starts_with("scratch");
      std::fill(wave.group.lds.begin(), wave.group.lds.end(), 0xee);
      wave.go(lines[at]);
      wave.go(wait);
      for (unsigned l = 0; l < 64; ++l) {
        const u32 word = own ? ((l * 0x53) & 0xff) | ((l * 0x53 + 1) & 0xff) << 8 : memory.at<u32>(l + 2);
        u32 got = 0;
        std::memcpy(&got, wave.group.lds.data() + 0x400 + (own ? 0 : 8) + 4 * l, 4);
        ASSERT_EQ(got, l == 3 ? 0xeeeeeeee : forms[(at - 1) / 2].widened(word)) << lines[at] << " " << l;
      }
    }
  }
}

TEST(MemorySpecial, StoresMarkWhatTheyWrite) {
  Memory::set_tracking(true);
  const Block memory(4096);
  MemoryWave wave({Arch::gfx942, 64});
  wave.prepare({"global_store_short v[0:1], v4, off offset:2", "global_atomic_add v[0:1], v4, off offset:512"});
  for (unsigned l = 0; l < 64; ++l) wave.set_v64(0, l, memory.address() + 4 * l);
  wave.set_exec(0xff);
  wave.go("global_store_short v[0:1], v4, off offset:2");
  wave.go("global_atomic_add v[0:1], v4, off offset:512");
  Memory::set_tracking(false);
  for (u32 byte = 0; byte < 64; ++byte)
    ASSERT_EQ(Memory::process().is_written(memory.address() + byte, 1), byte < 32 && byte % 4 >= 2) << byte;
  EXPECT_TRUE(Memory::process().is_written(memory.address() + 512, 32));
  EXPECT_FALSE(Memory::process().is_written(memory.address() + 544, 1));
}

// For the profile: the cost of an access, computed by hand.
TEST(MemoryCounts, SectorsAndBanks) {
  MemoryWave wave({Arch::gfx942, 64});
  Addresses a;
  const auto global = [&](unsigned bytes) {
    return count_access(wave.wave(), {Space::global, Action::load, bytes, ~u64{0}, a.at});
  };
  const auto lds = [&](unsigned bytes, u64 lanes = ~u64{0}) {
    return count_access(wave.wave(), {Space::lds, Action::load, bytes, lanes, a.at});
  };
  const auto stride = [&](u64 step) {
    for (unsigned l = 0; l < 64; ++l) a.at[l] = 0x10000 + step * l;
  };
  stride(4);
  EXPECT_EQ(global(4).bytes, 256U);
  EXPECT_EQ(global(4).sectors32, 8U);
  EXPECT_EQ(global(4).sectors64, 4U);
  EXPECT_EQ(lds(4).lds_clocks, 2U);
  EXPECT_EQ(lds(4).lds_conflicts, 0U);
  stride(128);
  EXPECT_EQ(global(4).sectors32, 64U);
  EXPECT_EQ(lds(4).lds_clocks, 64U) << "all in one bank";
  EXPECT_EQ(lds(4).lds_conflicts, 62U);
  EXPECT_EQ(lds(4, 1).lds_clocks, 1U);
  stride(0);
  EXPECT_EQ(lds(4).lds_clocks, 2U) << "the same dword for all";
  EXPECT_EQ(global(16).sectors32, 1U);
  stride(16);
  EXPECT_EQ(lds(16).lds_clocks, 8U);
  EXPECT_EQ(lds(16).lds_conflicts, 0U);
  for (u64& at : a.at) at += 30;
  EXPECT_EQ(global(16).sectors32, 33U) << "misaligned ones touch a neighbour";
}

}  // namespace
}  // namespace rapt::sim::test
