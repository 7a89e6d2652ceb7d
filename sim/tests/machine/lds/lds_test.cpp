// DS instructions beyond the plain ones: two addresses, lane numbers, counters, lane exchange, transposing reads,
// ranges.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32& lds32(MemoryWave& wave, u32 byte) { return *reinterpret_cast<u32*>(wave.group.lds.data() + byte); }

// A wave whose lanes have their addresses 64 bytes apart in v0, and data in v8 to v11; dword n of the LDS is 0x10000 +
// n.
struct TwoAddresses {
  const bool gfx9;
  const std::string read = gfx9 ? "ds_read2" : "ds_load_2addr", write = gfx9 ? "ds_write2" : "ds_store_2addr",
                    far = gfx9 ? "st64" : "_stride64", exchange = gfx9 ? "ds_wrxchg2" : "ds_storexchg_2addr";
  MemoryWave wave;
  const unsigned lanes;

  explicit TwoAddresses(const Target& target) : gfx9(is_cdna(target.arch)), wave(target), lanes(target.lanes) {}

  void reset() {
    for (u32 n = 0; n < 16384; ++n) lds32(wave, 4 * n) = 0x10000 + n;
    for (unsigned l = 0; l < lanes; ++l) {
      wave.v(0, l) = 64 * l;
      for (unsigned r = 8; r < 12; ++r) wave.v(r, l) = 1000 * r + l;
    }
  }
  static u32 dword(u32 byte) { return 0x10000 + byte / 4; }
};

TEST(Lds, TwoAddressesRead) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    TwoAddresses x(target);
    struct {
      std::string line;
      unsigned dwords;  // from each address
      u32 first, second;
    } const cases[] = {{x.read + "_b32 v[4:5], v0 offset0:3 offset1:1", 1, 12, 4},
                       {x.read + x.far + "_b32 v[4:5], v0 offset0:2 offset1:5", 1, 512, 1280},
                       {x.read + "_b64 v[4:7], v0 offset0:3 offset1:1", 2, 24, 8},
                       {x.read + x.far + "_b64 v[4:7], v0 offset0:2 offset1:5", 2, 1024, 2560}};
    x.wave.prepare({cases[0].line, cases[1].line, cases[2].line, cases[3].line});
    x.reset();
    for (const auto& c : cases) {
      x.wave.go(c.line);
      for (unsigned l = 0; l < x.lanes; ++l)
        for (unsigned d = 0; d < 2 * c.dwords; ++d)
          ASSERT_EQ(x.wave.v(4 + d, l), x.dword(64 * l + (d < c.dwords ? c.first : c.second) + d % c.dwords * 4))
              << c.line;
    }
  }
}

TEST(Lds, TwoAddressesWritten) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    TwoAddresses x(target);
    const std::string near = x.write + "_b32 v0, v8, v10 offset0:3 offset1:1",
                      far = x.write + x.far + "_b64 v0, v[8:9], v[10:11] offset0:2 offset1:5",
                      equal = x.write + "_b32 v0, v8, v10 offset0:3 offset1:3";
    x.wave.prepare({near, far, equal});
    x.reset();
    x.wave.go(near);
    for (unsigned l = 0; l < x.lanes; ++l) {
      ASSERT_EQ(lds32(x.wave, 64 * l + 12), 8000 + l);
      ASSERT_EQ(lds32(x.wave, 64 * l + 4), 10000 + l);
      ASSERT_EQ(lds32(x.wave, 64 * l + 8), x.dword(64 * l + 8));
    }
    x.reset();
    x.wave.set_exec(u64{1} << 5);  // lanes of the stride-64 forms overlap
    x.wave.go(far);
    ASSERT_EQ(lds32(x.wave, 320 + 1024), 8005U);
    ASSERT_EQ(lds32(x.wave, 320 + 1028), 9005U);
    ASSERT_EQ(lds32(x.wave, 320 + 2560), 10005U);
    ASSERT_EQ(lds32(x.wave, 320 + 2564), 11005U);
    x.reset();
    x.wave.go(equal);  // only the first data
    ASSERT_EQ(lds32(x.wave, 320 + 12), 8005U);
  }
}

TEST(Lds, TwoAddressesExchanged) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    TwoAddresses x(target);
    const std::string near = x.exchange + "_rtn_b32 v[4:5], v0, v8, v10 offset0:3 offset1:1",
                      far = x.exchange + x.far + "_rtn_b64 v[4:7], v0, v[8:9], v[10:11] offset0:2 offset1:5";
    x.wave.prepare({near, far});
    x.reset();
    x.wave.fill(4, 7);
    x.wave.set_exec(u64{1} << 5);
    x.wave.go(near);
    ASSERT_EQ(x.wave.v(4, 5), x.dword(320 + 12));
    ASSERT_EQ(x.wave.v(5, 5), x.dword(320 + 4));
    ASSERT_EQ(x.wave.v(4, 6), 7U);
    ASSERT_EQ(lds32(x.wave, 320 + 12), 8005U);
    ASSERT_EQ(lds32(x.wave, 320 + 4), 10005U);
    x.reset();
    x.wave.go(far);
    ASSERT_EQ(x.wave.v(4, 5), x.dword(320 + 1024));
    ASSERT_EQ(x.wave.v(7, 5), x.dword(320 + 2564));
    ASSERT_EQ(lds32(x.wave, 320 + 2564), 11005U);
  }
}

TEST(Lds, LaneNumbersAndCounters) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    MemoryWave wave(target);
    const std::string lines[] = {
        is_cdna(target.arch) ? "ds_read_addtid_b32 v4 offset:8" : "ds_load_addtid_b32 v4 offset:8",
        is_cdna(target.arch) ? "ds_write_addtid_b32 v5 offset:8" : "ds_store_addtid_b32 v5 offset:8",
        "ds_append v6 offset:16", "ds_consume v6 offset:16"};
    wave.prepare({std::begin(lines), std::end(lines)});
    for (u32 n = 0; n < 1024; ++n) lds32(wave, 4 * n) = n;
    wave.s(sreg::m0) = 256;
    wave.go(lines[0]);
    for (unsigned l = 0; l < target.lanes; ++l) ASSERT_EQ(wave.v(4, l), (256 + 8) / 4 + l);
    for (unsigned l = 0; l < target.lanes; ++l) wave.v(5, l) = 5000 + l;
    wave.go(lines[1]);
    for (unsigned l = 0; l < target.lanes; ++l) ASSERT_EQ(lds32(wave, 264 + 4 * l), 5000 + l);
    lds32(wave, 272) = 100;
    wave.set_exec(0xf0f1);
    wave.fill(6, 1);
    wave.go(lines[2]);
    EXPECT_EQ(lds32(wave, 272), 109U);
    EXPECT_EQ(wave.v(6, 0), 100U);
    EXPECT_EQ(wave.v(6, 4), 100U);
    EXPECT_EQ(wave.v(6, 1), 1U);
    wave.set_exec(3);
    wave.go(lines[3]);
    EXPECT_EQ(lds32(wave, 272), 107U);
    EXPECT_EQ(wave.v(6, 1), 109U);
  }
}

TEST(Lds, Permute) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    MemoryWave wave(target);
    wave.prepare({"ds_bpermute_b32 v4, v0, v1 offset:4", "ds_permute_b32 v4, v0, v1"});
    const unsigned n = target.lanes;
    // gfx11 exchanges within halves of 32 lanes; the others across the whole wave.
    const auto reached = [&](u32 address, unsigned lane) {
      return contains(gfx11, target.arch) && n == 64 ? (address / 4 % 32) + (lane & 32) : address / 4 % n;
    };
    for (const u64 exec : {~u64{0}, u64{0x123456789abcdef}}) {
      wave.set_exec(exec);
      const u64 active = wave.wave().exec();
      for (unsigned l = 0; l < n; ++l)
        wave.v(0, l) = (l * 7 + 3) % n * 4 + (l % 4) + 0x40000, wave.v(1, l) = 100 + l, wave.v(4, l) = 9;
      wave.go("ds_bpermute_b32 v4, v0, v1 offset:4");
      for (unsigned l = 0; l < n; ++l) {
        const unsigned from = reached(wave.v(0, l) + 4, l);
        ASSERT_EQ(wave.v(4, l), (active >> l & 1) == 0 ? 9 : active >> from & 1 ? 100 + from : 0) << l;
      }
      std::vector<u32> expected(n, 0);
      for (unsigned l = 0; l < n; ++l) wave.v(4, l) = 9;
      for (unsigned l = 0; l < n; ++l)
        if (active >> l & 1) expected[reached(wave.v(0, l), l)] = 100 + l;  // the last lane wins
      wave.go("ds_permute_b32 v4, v0, v1");
      for (unsigned l = 0; l < n; ++l) ASSERT_EQ(wave.v(4, l), active >> l & 1 ? expected[l] : 9) << l;
    }
  }
  MemoryWave wave({Arch::gfx1201, 32});
  wave.prepare({"ds_bpermute_fi_b32 v4, v0, v1"});
  for (unsigned l = 0; l < 32; ++l) wave.v(0, l) = 4 * (31 - l), wave.v(1, l) = l;
  wave.set_exec(1);
  wave.go("ds_bpermute_fi_b32 v4, v0, v1");
  EXPECT_EQ(wave.v(4, 0), 31U) << "an inactive lane is read";
}

// The documents' rules for DS_SWIZZLE_B32, one at a time.
TEST(Lds, Swizzle) {
  for (const Target& target : every_target()) {
    MemoryWave wave(target);
    const unsigned n = target.lanes;
    struct Case {
      const char* line;
      std::function<unsigned(unsigned)> source;
    };
    const auto reverse5 = [](unsigned i) {
      return (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
    };
    const Case cases[] = {
        {"ds_swizzle_b32 v4, v1 offset:swizzle(QUAD_PERM,2,0,3,1)",
         [](unsigned l) { return (l & ~3U) + std::array{2, 0, 3, 1}[l & 3]; }},
        {"ds_swizzle_b32 v4, v1 offset:swizzle(SWAP,16)", [](unsigned l) { return l ^ 16; }},
        {"ds_swizzle_b32 v4, v1 offset:swizzle(REVERSE,8)", [](unsigned l) { return l ^ 7; }},
        {"ds_swizzle_b32 v4, v1 offset:swizzle(BROADCAST,4,1)", [](unsigned l) { return (l & ~3U) + 1; }},
        {"ds_swizzle_b32 v4, v1 offset:swizzle(BITMASK_PERM,\"0p1i0\")",
         [](unsigned l) { return (l & 32) | (l & 8) | 4 | (~l & 2); }},
        {"ds_swizzle_b32 v4, v1 offset:0xe000", [&](unsigned l) { return (l & 32) | reverse5(l & 31); }},
        {"ds_swizzle_b32 v4, v1 offset:0xe010",
         [&](unsigned l) { return (l & 32) | (l & 16) | reverse5(l & 31) >> 1; }},
        {"ds_swizzle_b32 v4, v1 offset:0xc063", [](unsigned l) { return (l & 32) | (l & 3) | ((l + 3) & 28); }},
        {"ds_swizzle_b32 v4, v1 offset:0xc463", [](unsigned l) { return (l & 32) | (l & 3) | ((l - 3) & 28); }},
    };
    std::vector<std::string> lines;
    for (const Case& c : cases) lines.emplace_back(c.line);
    wave.prepare(lines);
    for (const Case& c : cases)
      for (const u64 exec : {~u64{0}, u64{0x0fff0ffff00ff003}}) {
        wave.set_exec(exec);
        const u64 active = wave.wave().exec();
        for (unsigned l = 0; l < n; ++l) wave.v(1, l) = 100 + l, wave.v(4, l) = 9;
        wave.go(c.line);
        for (unsigned l = 0; l < n; ++l) {
          const unsigned from = c.source(l);
          ASSERT_EQ(wave.v(4, l), (active >> l & 1) == 0 ? 9
                                  : active >> from & 1   ? 100 + from
                                                         : 0)
              << c.line << " lane " << l;
        }
      }
  }
}

// A matrix of 16 columns in LDS, row after row; sixteen lanes read it in the order of their numbers, and lane n gets
// column n.
TEST(Lds, TransposingReads) {
  MemoryWave wave({Arch::gfx950, 64});
  struct Form {
    const char* line;
    unsigned bits, bytes;
  };
  const Form forms[] = {{"ds_read_b64_tr_b16 v[4:5], v0", 16, 8},
                        {"ds_read_b64_tr_b8 v[4:5], v0", 8, 8},
                        {"ds_read_b64_tr_b4 v[4:5], v0", 4, 8},
                        {"ds_read_b96_tr_b6 v[4:6], v0", 6, 12}};
  wave.prepare({forms[0].line, forms[1].line, forms[2].line, forms[3].line});
  std::mt19937 random(3);
  for (const Form& form : forms) {
    const unsigned elements = form.bytes * 8 / form.bits, step = form.bytes == 12 ? 16 : 8;
    // block, row, column
    std::vector<std::vector<std::vector<u32>>> matrix(4, std::vector<std::vector<u32>>(elements, std::vector<u32>(16)));
    std::fill(wave.group.lds.begin(), wave.group.lds.end(), 0);
    for (unsigned block = 0; block < 4; ++block)
      for (unsigned row = 0; row < elements; ++row)
        for (unsigned column = 0; column < 16; ++column) {
          const u32 value = random() & ((1U << form.bits) - 1);
          matrix[block][row][column] = value;
          const unsigned element = row * 16 + column, lane = element / elements, bit = element % elements * form.bits;
          for (unsigned b = 0; b < form.bits; ++b)
            wave.group.lds[(block * 16 + lane) * step + (bit + b) / 8] |=
                static_cast<unsigned char>((value >> b & 1) << (bit + b) % 8);
        }
    for (unsigned l = 0; l < 64; ++l) wave.v(0, l) = l * step;
    wave.go(form.line);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned row = 0; row < elements; ++row) {
        u32 value = 0;
        for (unsigned b = 0; b < form.bits; ++b) {
          const unsigned bit = row * form.bits + b;
          value |= (wave.v(4 + bit / 32, l) >> bit % 32 & 1) << b;
        }
        ASSERT_EQ(value, matrix[l / 16][row][l % 16]) << form.line << " lane " << l << " row " << row;
      }
    wave.set_exec(1);
    EXPECT_THROW(wave.go(form.line), Fault);
    wave.set_exec(~u64{0});
  }
}

TEST(Lds, OutOfRange) {
  for (const Target& target : {Target{Arch::gfx90a, 64}, Target{Arch::gfx1100, 32}, Target{Arch::gfx1201, 32}}) {
    MemoryWave wave(target, 1024);
    wave.group.lds_bytes = 1000;  // rounded up to granules it is 1024
    const bool gfx9 = is_cdna(target.arch);
    const std::string read = gfx9 ? "ds_read_b64 v[4:5], v0" : "ds_load_b64 v[4:5], v0",
                      write = gfx9 ? "ds_write_b32 v0, v1" : "ds_store_b32 v0, v1", add = "ds_add_rtn_u32 v4, v0, v1";
    wave.prepare({read, write, add});
    for (unsigned n = 0; n < 256; ++n) lds32(wave, 4 * n) = 0xabc;
    const auto set = [&](u32 at) {
      for (unsigned l = 0; l < target.lanes; ++l)
        wave.v(0, l) = 8 * l, wave.v(4, l) = wave.v(5, l) = 1, wave.v(1, l) = 55;
      wave.v(0, 3) = at;
    };
    for (const u32 at : {1020U, 1024U, 0x10000U, 0xfffffff8U}) {
      set(at);
      wave.go(read);
      EXPECT_EQ(wave.v(4, 3), 0U);
      EXPECT_EQ(wave.v(5, 3), 0U);
      EXPECT_EQ(wave.v(4, 2), 0xabcU);
    }
    set(1016);
    wave.go(read);
    EXPECT_EQ(wave.v(5, 3), 0xabcU) << "the last bytes";
    set(1024);
    wave.go(add);
    EXPECT_EQ(wave.v(4, 3), 0U);
    EXPECT_EQ(wave.v(4, 2), 0xabcU);
    EXPECT_EQ(lds32(wave, 16), 0xabcU + 55);
    set(4096);
    wave.go(write);
    EXPECT_EQ(lds32(wave, 16), 55U);

    wave.group.checked = true;
    set(996);
    try {
      wave.go(read);
      ADD_FAILURE() << "no report";
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::check);
      EXPECT_EQ(fault.lane, 3U);
      EXPECT_EQ(fault.address, 996U);
      EXPECT_STREQ(fault.what(), "LDS load of 8 bytes at byte 996: the workgroup has 1000");
    }
    set(992);
    EXPECT_NO_THROW(wave.go(read));
  }
}

TEST(Lds, RefusedWithAReason) {
  struct Case {
    Arch arch;
    const char* line;
    const char* reason;
  };
  const Case cases[] = {{Arch::gfx90a, "ds_gws_barrier v0 gds", "GDS is not simulated"},
                        {Arch::gfx908, "ds_ordered_count v0, v1 gds", "GDS is not simulated"},
                        {Arch::gfx908, "ds_read_b32 v0, v1 gds", "GDS is not simulated"},
                        // The same with the bit set directly if the assembler has no syntax for it.
                        {Arch::gfx90a, ".long 0xd86d0000, 0x00000001", "GDS is not simulated"},
                        {Arch::gfx942, ".long 0xd86d0000, 0x00000001", "GDS is not simulated"},
                        {Arch::gfx1100, "ds_bvh_stack_rtn_b32 v0, v1, v2, v[4:7]", "ray tracing is not simulated"}};
  for (const Case& c : cases) {
    MemoryWave wave({c.arch, default_lanes(c.arch)});
    wave.prepare({c.line});
    try {
      wave.go(c.line);
      ADD_FAILURE() << c.line;
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::illegal_instruction);
      EXPECT_NE(std::string(fault.what()).find(c.reason), std::string::npos) << fault.what();
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
