// gfx906's and gfx908's LDS operations of two addresses: LDS[A] = LDS[A] op LDS[B] (Vega ISA document, DS_ADD_SRC2_U32
// and following). B is a signed number of dwords after A. The number is the offset field's lower 15 bits; if the
// field's top bit is set, it is the upper 15 bits of the address register, and A is the lower 17.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Operation {
  const char* name;
  unsigned bytes;
  u64 (*result)(u64 a, u64 b);
};

i32 s32(u64 x) { return static_cast<i32>(x); }
i64 s64(u64 x) { return static_cast<i64>(x); }
float f(u64 x) { return std::bit_cast<float>(static_cast<u32>(x)); }
double d(u64 x) { return std::bit_cast<double>(x); }

const Operation operations[] = {
    {"add_src2_u32", 4, [](u64 a, u64 b) { return a + b; }},
    {"add_src2_u64", 8, [](u64 a, u64 b) { return a + b; }},
    {"sub_src2_u32", 4, [](u64 a, u64 b) { return a - b; }},
    {"sub_src2_u64", 8, [](u64 a, u64 b) { return a - b; }},
    {"rsub_src2_u32", 4, [](u64 a, u64 b) { return b - a; }},
    {"rsub_src2_u64", 8, [](u64 a, u64 b) { return b - a; }},
    {"inc_src2_u32", 4, [](u64 a, u64 b) { return a >= b ? 0 : a + 1; }},
    {"inc_src2_u64", 8, [](u64 a, u64 b) { return a >= b ? 0 : a + 1; }},
    {"dec_src2_u32", 4, [](u64 a, u64 b) { return a == 0 || a > b ? b : a - 1; }},
    {"dec_src2_u64", 8, [](u64 a, u64 b) { return a == 0 || a > b ? b : a - 1; }},
    {"min_src2_i32", 4, [](u64 a, u64 b) { return s32(a) < s32(b) ? a : b; }},
    {"min_src2_i64", 8, [](u64 a, u64 b) { return s64(a) < s64(b) ? a : b; }},
    {"max_src2_i32", 4, [](u64 a, u64 b) { return s32(a) > s32(b) ? a : b; }},
    {"max_src2_i64", 8, [](u64 a, u64 b) { return s64(a) > s64(b) ? a : b; }},
    {"min_src2_u32", 4, [](u64 a, u64 b) { return a < b ? a : b; }},
    {"min_src2_u64", 8, [](u64 a, u64 b) { return a < b ? a : b; }},
    {"max_src2_u32", 4, [](u64 a, u64 b) { return a > b ? a : b; }},
    {"max_src2_u64", 8, [](u64 a, u64 b) { return a > b ? a : b; }},
    {"and_src2_b32", 4, [](u64 a, u64 b) { return a & b; }},
    {"and_src2_b64", 8, [](u64 a, u64 b) { return a & b; }},
    {"or_src2_b32", 4, [](u64 a, u64 b) { return a | b; }},
    {"or_src2_b64", 8, [](u64 a, u64 b) { return a | b; }},
    {"xor_src2_b32", 4, [](u64 a, u64 b) { return a ^ b; }},
    {"xor_src2_b64", 8, [](u64 a, u64 b) { return a ^ b; }},
    {"write_src2_b32", 4, [](u64, u64 b) { return b; }},
    {"write_src2_b64", 8, [](u64, u64 b) { return b; }},
    {"add_src2_f32", 4, [](u64 a, u64 b) { return u64{std::bit_cast<u32>(f(a) + f(b))}; }},
    {"min_src2_f32", 4, [](u64 a, u64 b) { return f(a) < f(b) ? a : b; }},
    {"max_src2_f32", 4, [](u64 a, u64 b) { return f(a) > f(b) ? a : b; }},
    {"min_src2_f64", 8, [](u64 a, u64 b) { return d(a) < d(b) ? a : b; }},
    {"max_src2_f64", 8, [](u64 a, u64 b) { return d(a) > d(b) ? a : b; }},
};

// Patterns that are not a NaN as a float, as a double and as the upper half of one.
constexpr u64 values[] = {
    0, 1, 5, 0x3ff000003f800000, 0xbff00000bf800000, 0x4008000040400000, 0x7fefffff7f7fffff, 0xffefffffff7fffff};

void run_operations(Arch arch) {
  MemoryWave wave({arch, 64});
  wave.s(sreg::m0) = 0xffffffff;
  const auto line = [](const Operation& op, bool in_register) {
    return std::string("ds_") + op.name + " v1 offset:" + (in_register ? "0x8000" : "0x7ffa");  // -6 dwords
  };
  std::vector<std::string> lines;
  for (const Operation& op : operations)
    for (const bool in_register : {false, true}) lines.push_back(line(op, in_register));
  wave.prepare(lines);
  const auto at = [&](u32 byte, unsigned bytes) {
    u64 value = 0;
    std::memcpy(&value, wave.group.lds.data() + byte, bytes);
    return value;
  };
  for (const Operation& op : operations)
    for (const bool in_register : {false, true}) {
      const std::string text = line(op, in_register);
      const u64 mask = op.bytes == 8 ? ~u64{0} : 0xffffffff;
      for (const u64 a : values)
        for (const u64 b : values) {
          for (const u32 cell : {u32{64}, u32{88}}) std::memset(wave.group.lds.data() + cell, 0, 8);
          const u32 from = in_register ? 88 : 40, to = 64;
          std::memcpy(wave.group.lds.data() + to, &a, op.bytes);
          std::memcpy(wave.group.lds.data() + from, &b, op.bytes);
          wave.set_exec(2);
          wave.v(1, 1) = in_register ? 6U << 17 | to : to;
          wave.go(text);
          ASSERT_EQ(at(to, op.bytes), op.result(a & mask, b & mask) & mask) << text << std::hex << " " << a << " " << b;
          ASSERT_EQ(at(from, op.bytes), b & mask) << text;
          if (op.bytes == 4) {
            ASSERT_EQ(at(to + 4, 4), 0U) << text;
          }
        }
    }
}

TEST(LdsSrc2, EveryOperation) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908}) run_operations(arch);
}

}  // namespace
}  // namespace rapt::sim::test
