// Floating-point atomics and gfx11's and gfx12's clamped subtractions, in each space that has them, with and without
// their result. Sources: CDNA3 ISA 12.14 and 12.15, RDNA3 ISA 16.13 to 16.15, RDNA4 ISA 16.13 to 16.15.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 f(float x) { return std::bit_cast<u32>(x); }
u64 d(double x) { return std::bit_cast<u64>(x); }

struct Values {
  u64 old, data, after, compare = 0;
};
struct Operation {
  const char* name;
  unsigned bytes;
  ArchSet flat, global, buffer;
  std::vector<Values> values;
  bool compares = false;
};

constexpr ArchSet gfx940 = only(Arch::gfx942) | only(Arch::gfx950), doubles = gfx940 | only(Arch::gfx90a);
constexpr ArchSet from_gfx908 = every_arch & ~only(Arch::gfx906), with_pairs = (cdna | gfx12) & from_gfx908;

const Operation operations[] = {
    {"add_f32",
     4,
     gfx940 | rdna,
     from_gfx908,
     from_gfx908,
     {{f(1.5F), f(2.25F), f(3.75F)}, {f(-1), f(1), f(0)}, {f(3e38F), f(3e38F), 0x7f800000}}},
    {"min_f32", 4, gfx11, gfx11, gfx11, {{f(1), f(-2), f(-2)}, {f(-2), f(1), f(-2)}, {0x7fc00000, f(3), f(3)}}},
    {"max_f32", 4, gfx11, gfx11, gfx11, {{f(1), f(-2), f(1)}, {f(-2), f(1), f(1)}, {f(3), 0x7fc00000, f(3)}}},
    {"min_num_f32", 4, gfx12, gfx12, gfx12, {{f(1), f(-2), f(-2)}, {f(-2), f(1), f(-2)}, {0x7fc00000, f(3), f(3)}}},
    {"max_num_f32", 4, gfx12, gfx12, gfx12, {{f(1), f(-2), f(1)}, {f(-2), f(1), f(1)}, {f(3), 0x7fc00000, f(3)}}},
    {"cmpswap_f32",
     4,
     gfx11,
     gfx11,
     gfx11,
     {{f(-0.0F), f(5), f(5), f(0.0F)}, {f(1), f(5), f(1), f(2)}, {0x7fc00000, f(5), 0x7fc00000, 0x7fc00000}},
     true},
    {"add_f64", 8, doubles, doubles, doubles, {{d(1.5), d(2.25), d(3.75)}, {d(-1), d(1), d(0)}, {1, 1, 2}}},
    {"min_f64", 8, doubles, doubles, doubles, {{d(1), d(-2), d(-2)}, {d(-2), d(1), d(-2)}}},
    {"max_f64", 8, doubles, doubles, doubles, {{d(1), d(-2), d(1)}, {d(-2), d(1), d(1)}}},
    {"pk_add_f16",
     4,
     gfx940 | gfx12,
     with_pairs,
     with_pairs,
     {{0x3c004000, 0x40003c00, 0x42004200}, {0x7bff3c00, 0x7bffbc00, 0x7c000000}}},
    {"pk_add_bf16",
     4,
     gfx940 | gfx12,
     gfx940 | gfx12,
     only(Arch::gfx950) | gfx12,
     {{0x3f804000, 0x40003f80, 0x40404040}, {0x3f813f80, 0x3b804000, 0x3f824040}}},
    {"csub_u32", 4, 0, gfx11, gfx11, {{5, 7, 0}, {7, 5, 2}, {7, 7, 0}, {0xffffffff, 1, 0xfffffffe}}},
    {"sub_clamp_u32", 4, gfx12, gfx12, gfx12, {{5, 7, 0}, {7, 5, 2}, {7, 7, 0}, {0xffffffff, 1, 0xfffffffe}}},
    {"cond_sub_u32", 4, gfx12, gfx12, gfx12, {{5, 7, 5}, {7, 5, 2}, {7, 7, 0}, {0xffffffff, 1, 0xfffffffe}}},
};

enum class Space { flat, global, buffer };

std::string tuple(unsigned first, unsigned count) {
  return count == 1 ? "v" + std::to_string(first)
                    : "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

// Address in v[0:1] or v0 and s[4:7], data in v[8:11], the result in v[4:5] or in the data's place.
std::string make(const Operation& op, Space space, Arch arch, bool returns) {
  const unsigned registers = op.bytes / 4;
  const std::string data = tuple(8, registers * (op.compares ? 2 : 1));
  const std::string flag = !returns                 ? ""
                           : contains(gfx12, arch)  ? " th:TH_ATOMIC_RETURN"
                           : contains(gfx940, arch) ? " sc0"
                                                    : " glc";
  if (space == Space::buffer)
    return std::string("buffer_atomic_") + op.name + " " + data + ", v0, s[4:7], " +
           (contains(gfx12, arch) ? "null" : "0") + " offen offset:8" + flag;
  return std::string(space == Space::flat ? "flat" : "global") + "_atomic_" + op.name + " " +
         (returns ? tuple(4, registers) + ", " : "") + "v[0:1], " + data + (space == Space::flat ? "" : ", off") +
         " offset:8" + flag;
}

void check(MemoryWave& wave, const Block& memory, const Operation& op, Space space, bool returns,
           const std::string& line) {
  const auto cell = [&](unsigned lane) -> u64 {
    return op.bytes == 8 ? memory.at<u64>(lane * 2 + 1) : memory.at<u32>(lane * 4 + 2);
  };
  for (const Values& v : op.values) {
    for (unsigned l = 0; l < 3; ++l) {
      const u64 at = l * 16;
      wave.set_v64(0, l, space == Space::buffer ? at : memory.address() + at);
      if (op.bytes == 8) {
        memory.at<u64>(l * 2 + 1) = v.old;
        wave.set_v64(8, l, v.data), wave.set_v64(4, l, 0x55);
      } else {
        memory.at<u32>(l * 4 + 2) = static_cast<u32>(v.old);
        wave.v(8, l) = static_cast<u32>(v.data), wave.v(9, l) = static_cast<u32>(v.compare), wave.v(4, l) = 0x55;
      }
    }
    wave.set_exec(5);
    wave.go(line);
    for (unsigned l = 0; l < 3; ++l) {
      ASSERT_EQ(cell(l), l == 1 ? v.old : v.after) << std::hex << v.old << " " << v.data;
      const unsigned place = space == Space::buffer ? 8 : 4;
      const u64 result = op.bytes == 8 ? wave.v64(place, l) : wave.v(place, l);
      const u64 kept = space == Space::buffer ? v.data : 0x55;
      ASSERT_EQ(result, returns && l != 1 ? v.old : kept);
    }
  }
}

TEST(Atomics, InEachSpace) {
  for (const Target& target : every_target()) {
    struct Line {
      const Operation* op;
      Space space;
      bool returns;
      std::string text;
    };
    std::vector<Line> lines;
    std::vector<std::string> texts;
    for (const Operation& op : operations)
      for (const Space space : {Space::flat, Space::global, Space::buffer}) {
        const ArchSet archs = space == Space::flat ? op.flat : space == Space::global ? op.global : op.buffer;
        if (!contains(archs, target.arch)) continue;
        for (const bool returns : {false, true}) {
          if (returns && target.arch == Arch::gfx908) continue;          // whose float atomics return nothing
          if (!returns && std::string(op.name) == "csub_u32") continue;  // which only exists with a result
          lines.push_back({&op, space, returns, make(op, space, target.arch, returns)});
          texts.push_back(lines.back().text);
        }
      }
    MemoryWave wave(target);
    const Block memory(4096);
    wave.set_raw_buffer(4, memory.address(), 4096);
    wave.prepare(texts);
    for (const Line& line : lines) {
      SCOPED_TRACE(describe(target) + " " + line.text);
      check(wave, memory, *line.op, line.space, line.returns, line.text);
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
