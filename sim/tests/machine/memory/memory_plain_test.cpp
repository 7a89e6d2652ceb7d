// Loads and stores of every width in every space, with addresses of every alignment and any lanes active: the expected
// results of loads and stores are computed here from the bytes.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Kind {
  const char *gfx9, *gfx11, *ds;
  unsigned bytes;
  bool is_signed;
  int half;  // -1: the whole register; 0, 1: the half of a D16 access
};
const Kind loads[] = {
    {"ubyte", "u8", "u8", 1, false, -1},
    {"sbyte", "i8", "i8", 1, true, -1},
    {"ushort", "u16", "u16", 2, false, -1},
    {"sshort", "i16", "i16", 2, true, -1},
    {"dword", "b32", "b32", 4, false, -1},
    {"dwordx2", "b64", "b64", 8, false, -1},
    {"dwordx3", "b96", "b96", 12, false, -1},
    {"dwordx4", "b128", "b128", 16, false, -1},
    {"ubyte_d16", "d16_u8", "u8_d16", 1, false, 0},
    {"ubyte_d16_hi", "d16_hi_u8", "u8_d16_hi", 1, false, 1},
    {"sbyte_d16", "d16_i8", "i8_d16", 1, true, 0},
    {"sbyte_d16_hi", "d16_hi_i8", "i8_d16_hi", 1, true, 1},
    {"short_d16", "d16_b16", "u16_d16", 2, false, 0},
    {"short_d16_hi", "d16_hi_b16", "u16_d16_hi", 2, false, 1},
};
const Kind stores[] = {
    {"byte", "b8", "b8", 1, false, -1},
    {"short", "b16", "b16", 2, false, -1},
    {"dword", "b32", "b32", 4, false, -1},
    {"dwordx2", "b64", "b64", 8, false, -1},
    {"dwordx3", "b96", "b96", 12, false, -1},
    {"dwordx4", "b128", "b128", 16, false, -1},
    {"byte_d16_hi", "d16_hi_b8", "b8_d16_hi", 1, false, 1},
    {"short_d16_hi", "d16_hi_b16", "b16_d16_hi", 2, false, 1},
};

enum class Where { global, global_saddr, flat_global, flat_lds, flat_private, scratch, scratch_saddr, lds, buffer };
const Where every_where[] = {Where::global,        Where::global_saddr, Where::flat_global,
                             Where::flat_lds,      Where::flat_private, Where::scratch,
                             Where::scratch_saddr, Where::lds,          Where::buffer};

bool has(Where where, Arch arch) {
  if (where == Where::scratch_saddr)
    return !contains(before_gfx90a, arch) && arch != Arch::gfx90a;  // VGPR and SGPR together
  return true;
}

std::string registers(char file, unsigned first, unsigned bytes) {
  const unsigned count = (bytes + 3) / 4;
  if (count == 1) return file + std::to_string(first);
  return std::string(1, file) + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

// Data in v8 and on, addresses in v[0:1], SGPR base in s[2:3] or offset in s2, descriptor in s[4:7].
std::string line(Where where, bool load, const Kind& kind, Arch arch, char file = 'v') {
  const std::string data = registers(file, 8, kind.bytes), what = is_cdna(arch) ? kind.gfx9 : kind.gfx11;
  const auto ordered = [&](const std::string& op, const std::string& address) {
    return op + " " + (load ? data + ", " + address : address + ", " + data);
  };
  const std::string verb = load ? "load_" : "store_";
  switch (where) {
    case Where::global: return ordered("global_" + verb + what, "v[0:1]") + ", off offset:12";
    case Where::global_saddr: return ordered("global_" + verb + what, "v0") + ", s[2:3] offset:-8";
    case Where::flat_global:
    case Where::flat_lds:
    case Where::flat_private: return ordered("flat_" + verb + what, "v[0:1]") + " offset:8";
    case Where::scratch: return ordered("scratch_" + verb + what, "v0") + ", off offset:4";
    case Where::scratch_saddr: return ordered("scratch_" + verb + what, "v0") + ", s2 offset:4";
    case Where::lds:
      return ordered((is_cdna(arch) ? load ? "ds_read_" : "ds_write_"
                      : load        ? "ds_load_"
                                    : "ds_store_") +
                         std::string(kind.ds),
                     "v0") +
             " offset:20";
    case Where::buffer: return "buffer_" + verb + what + " " + data + ", v0, s[4:7], s2 offen offset:16";
  }
  return "";
}

// 2048 bytes of global memory and LDS and all private memory are random; each lane accesses a separate place in them.
struct Scene {
  explicit Scene(Target t) : wave(t), memory(2048) {}

  void randomize() {
    memory.randomize(random);
    wave.scratch.randomize(random);
    for (unsigned n = 0; n < 2048; ++n) wave.group.lds[n] = static_cast<unsigned char>(random());
    for (unsigned r = 0; r < 16; ++r)
      for (unsigned l = 0; l < wave.wave().lanes; ++l) wave.v(r, l) = static_cast<u32>(random());
  }
  // Sets the registers so that lane l reaches byte at[l] of its space.
  void address(Where where, const std::vector<u32>& at) {
    const auto whole = [&](u64 base, u32 plus) {
      for (unsigned l = 0; l < at.size(); ++l) wave.set_v64(0, l, base + at[l] - plus);
    };
    const auto low = [&](u32 plus) {
      for (unsigned l = 0; l < at.size(); ++l) wave.v(0, l) = at[l] - plus;
    };
    switch (where) {
      case Where::global: return whole(memory.address(), 12);
      case Where::global_saddr: wave.wave().set_pair(2, memory.address() + 8); return low(0);
      case Where::flat_global: return whole(memory.address(), 8);
      case Where::flat_lds: return whole(u64{1} << 48, 8);
      case Where::flat_private: return whole(u64{2} << 48, 8);
      case Where::scratch: return low(4);
      case Where::scratch_saddr: wave.s(2) = 32; return low(36);
      case Where::lds: return low(20);
      case Where::buffer:
        wave.set_raw_buffer(4, memory.address(), 2048);
        wave.s(2) = 4;
        return low(20);
    }
  }
  unsigned char& byte(Where where, unsigned lane, u32 at) {
    switch (where) {
      case Where::flat_lds:
      case Where::lds: return wave.group.lds[at];
      case Where::flat_private:
      case Where::scratch:
      case Where::scratch_saddr: return wave.private_byte(lane, at);
      default: return memory.data()[at];
    }
  }
  // Places of `bytes` bytes. Stores must not overlap.
  std::vector<u32> places(Where where, unsigned bytes, bool apart) {
    const bool own = where == Where::flat_private || where == Where::scratch || where == Where::scratch_saddr;
    const unsigned pattern = random() % 4;
    std::vector<u32> at(wave.wave().lanes);
    for (unsigned l = 0; l < at.size(); ++l) {
      const u32 room = own ? MemoryWave::private_bytes - bytes - 36 : 2048 - bytes - 36;
      if (pattern == 0) at[l] = own ? 64 : 64 + l * bytes;  // adjacent lanes
      else if (own) at[l] = 36 + random() % room;
      else if (apart) at[l] = 36 + (l * 31 + random() % (31 - bytes));
      else at[l] = 36 + random() % room;
      if (pattern == 1) at[l] &= ~3U;
    }
    return at;
  }

  std::mt19937 random{1};
  MemoryWave wave;
  Block memory;
};

void check_loads(Target target) {
  SCOPED_TRACE(describe(target));
  Scene scene(target);
  std::vector<std::string> lines;
  for (const Kind& kind : loads)
    for (const Where where : every_where)
      if (has(where, target.arch)) lines.push_back(line(where, true, kind, target.arch));
  scene.wave.prepare(lines);
  for (const Kind& kind : loads)
    for (const Where where : every_where) {
      if (!has(where, target.arch)) continue;
      const std::string text = line(where, true, kind, target.arch);
      for (int round = 0; round < 6; ++round) {
        scene.randomize();
        const std::vector<u32> at = scene.places(where, kind.bytes, false);
        scene.address(where, at);
        const u64 exec = scene.wave.random_exec(scene.random);
        std::vector<std::array<u32, 4>> expected(target.lanes);
        for (unsigned l = 0; l < target.lanes; ++l) {
          for (unsigned d = 0; d < 4; ++d) expected[l][d] = scene.wave.v(8 + d, l);
          if ((exec >> l & 1) == 0) continue;
          unsigned char bytes[16] = {};
          for (unsigned b = 0; b < kind.bytes; ++b) bytes[b] = scene.byte(where, l, at[l] + b);
          u32 value = bytes[0] | u32{bytes[1]} << 8;
          if (kind.bytes < 4) {
            if (kind.is_signed)
              value = kind.bytes == 1 ? static_cast<u32>(static_cast<signed char>(bytes[0]))
                                      : static_cast<u32>(static_cast<std::int16_t>(value));
            // CDNA products have ECC: the other half of a D16 load's register becomes 0.
            const u32 other = is_cdna(target.arch) ? 0 : expected[l][0];
            expected[l][0] = kind.half < 0    ? value
                             : kind.half == 0 ? (other & 0xffff0000) | (value & 0xffff)
                                              : (other & 0xffff) | value << 16;
          } else {
            std::memcpy(expected[l].data(), bytes, kind.bytes);
          }
        }
        scene.wave.go(text);
        for (unsigned l = 0; l < target.lanes; ++l)
          for (unsigned d = 0; d < 4; ++d)
            ASSERT_EQ(scene.wave.v(8 + d, l), expected[l][d])
                << text << ", lane " << l << ", dword " << d << ", byte " << at[l];
      }
    }
}

void check_stores(Target target) {
  SCOPED_TRACE(describe(target));
  Scene scene(target);
  std::vector<std::string> lines;
  for (const Kind& kind : stores)
    for (const Where where : every_where)
      if (has(where, target.arch)) lines.push_back(line(where, false, kind, target.arch));
  scene.wave.prepare(lines);
  for (const Kind& kind : stores)
    for (const Where where : every_where) {
      if (!has(where, target.arch)) continue;
      const std::string text = line(where, false, kind, target.arch);
      for (int round = 0; round < 6; ++round) {
        scene.randomize();
        const std::vector<u32> at = scene.places(where, kind.bytes, true);
        scene.address(where, at);
        const u64 exec = scene.wave.random_exec(scene.random);
        const std::vector<unsigned char> memory(scene.memory.data(), scene.memory.data() + 2048),
            lds(scene.wave.group.lds),
            scratch(scene.wave.scratch.data(), scene.wave.scratch.data() + scene.wave.scratch.size());
        scene.wave.go(text);
        const std::vector<unsigned char> new_memory(scene.memory.data(), scene.memory.data() + 2048),
            new_lds(scene.wave.group.lds),
            new_scratch(scene.wave.scratch.data(), scene.wave.scratch.data() + scene.wave.scratch.size());
        // Restores the memories and does the store here.
        std::copy(memory.begin(), memory.end(), scene.memory.data());
        scene.wave.group.lds = lds;
        std::copy(scratch.begin(), scratch.end(), scene.wave.scratch.data());
        for (unsigned l = 0; l < target.lanes; ++l) {
          if ((exec >> l & 1) == 0) continue;
          for (unsigned b = 0; b < kind.bytes; ++b) {
            const u32 row = scene.wave.v(8 + b / 4, l) >> (kind.half == 1 ? 16 : 0);
            scene.byte(where, l, at[l] + b) = static_cast<unsigned char>(row >> 8 * (b % 4));
          }
        }
        ASSERT_TRUE(std::equal(new_memory.begin(), new_memory.end(), scene.memory.data())) << text;
        ASSERT_EQ(new_lds, scene.wave.group.lds) << text;
        ASSERT_TRUE(std::equal(new_scratch.begin(), new_scratch.end(), scene.wave.scratch.data())) << text;
      }
    }
}

TEST(MemoryPlain, Loads) {
  for (const Target& target : every_target()) check_loads(target);
}

TEST(MemoryPlain, Stores) {
  for (const Target& target : every_target()) check_stores(target);
}

// Accumulation registers can be loaded and stored on gfx90a and later; a public emulator stores the VGPR instead.
TEST(MemoryPlain, AccumulationRegisters) {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    Scene scene({arch, 64});
    const Kind kind = stores[3];
    std::vector<std::string> lines;
    for (const Where where : {Where::global, Where::lds, Where::buffer, Where::flat_global}) {
      lines.push_back(line(where, false, kind, arch, 'a'));
      lines.push_back(line(where, true, kind, arch, 'a'));
    }
    scene.wave.prepare(lines);
    std::size_t n = 0;
    for (const Where where : {Where::global, Where::lds, Where::buffer, Where::flat_global}) {
      scene.randomize();
      std::vector<u32> at(64);
      for (unsigned l = 0; l < 64; ++l) {
        at[l] = 40 + 8 * l;
        scene.wave.a(8, l) = 1000 + l, scene.wave.a(9, l) = 2000 + l;
      }
      scene.address(where, at);
      scene.wave.go(lines[n++]);
      for (unsigned l = 0; l < 64; ++l) {
        u32 stored[2];
        for (unsigned b = 0; b < 8; ++b) reinterpret_cast<unsigned char*>(stored)[b] = scene.byte(where, l, at[l] + b);
        ASSERT_EQ(stored[0], 1000 + l);
        ASSERT_EQ(stored[1], 2000 + l);
        scene.wave.a(8, l) = scene.wave.a(9, l) = 0;
      }
      scene.wave.go(lines[n++]);
      for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(scene.wave.a(9, l), 2000 + l);
    }
  }
}

// A load may overwrite the registers that hold its addresses.
TEST(MemoryPlain, DestinationOverAddresses) {
  for (const Target& target : every_target()) {
    MemoryWave wave(target);
    Block memory(4096);
    const std::string text =
        is_cdna(target.arch) ? "global_load_dwordx4 v[0:3], v[0:1], off" : "global_load_b128 v[0:3], v[0:1], off";
    wave.prepare({text});
    for (unsigned n = 0; n < 1024; ++n) memory.at<u32>(n) = n;
    for (unsigned l = 0; l < target.lanes; ++l) wave.set_v64(0, l, memory.address() + 16 * (target.lanes - 1 - l));
    wave.go(text);
    for (unsigned l = 0; l < target.lanes; ++l)
      for (unsigned d = 0; d < 4; ++d) ASSERT_EQ(wave.v(d, l), 4 * (target.lanes - 1 - l) + d);
  }
}

// FLAT lanes may access three spaces at once.
TEST(MemoryPlain, FlatGoesToThreeSpaces) {
  for (const Target& target : every_target()) {
    MemoryWave wave(target);
    Block memory(4096);
    const std::string load = is_cdna(target.arch) ? "flat_load_dwordx2 v[4:5], v[0:1]" : "flat_load_b64 v[4:5], v[0:1]";
    const std::string store = is_cdna(target.arch) ? "flat_store_dword v[0:1], v6" : "flat_store_b32 v[0:1], v6";
    wave.prepare({load, store});
    for (unsigned n = 0; n < 256; ++n) {
      memory.at<u32>(n) = 0x1000 + n;
      reinterpret_cast<u32*>(wave.group.lds.data())[n] = 0x2000 + n;
    }
    for (unsigned l = 0; l < target.lanes; ++l)
      for (u32 at = 0; at < MemoryWave::private_bytes; at += 4) {
        const u32 value = 0x3000 + at / 4;
        for (unsigned b = 0; b < 4; ++b) wave.private_byte(l, at + b) = static_cast<unsigned char>(value >> 8 * b);
      }
    for (unsigned l = 0; l < target.lanes; ++l) {
      const u64 bases[] = {memory.address(), u64{1} << 48, u64{2} << 48};
      wave.set_v64(0, l, bases[l % 3] + 4 * l);
      wave.v(6, l) = 77 + l;
    }
    wave.go(load);
    for (unsigned l = 0; l < target.lanes; ++l) {
      ASSERT_EQ(wave.v(4, l), 0x1000 * (1 + l % 3) + l);
      ASSERT_EQ(wave.v(5, l), 0x1000 * (1 + l % 3) + l + 1);
    }
    wave.go(store);
    for (unsigned l = 0; l < target.lanes; ++l) {
      u32 value = memory.at<u32>(l);
      if (l % 3 == 1) value = reinterpret_cast<u32*>(wave.group.lds.data())[l];
      if (l % 3 == 2)
        for (unsigned b = 0; b < 4; ++b) reinterpret_cast<unsigned char*>(&value)[b] = wave.private_byte(l, 4 * l + b);
      ASSERT_EQ(value, 77 + l) << l;
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
