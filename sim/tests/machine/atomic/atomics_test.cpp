// Atomic operations in every space: old values returned or not, lanes in order, exact results of every operation.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// What memory holds after the operation; the instruction's second operand is only used by compare-and-swap.
struct Operation {
  const char *gfx9, *gfx11, *ds;  // null: not available there
  unsigned bytes;
  std::function<u64(u64 old, u64 data, u64 compare)> result;
  bool compares = false;
};
u64 low(u64 v) { return v & 0xffffffff; }

const Operation operations[] = {
    {"swap", "swap_b32", nullptr, 4, [](u64, u64 d, u64) { return d; }},
    {"swap_x2", "swap_b64", nullptr, 8, [](u64, u64 d, u64) { return d; }},
    {"cmpswap", "cmpswap_b32", nullptr, 4, [](u64 o, u64 d, u64 c) { return o == c ? d : o; }, true},
    {"cmpswap_x2", "cmpswap_b64", nullptr, 8, [](u64 o, u64 d, u64 c) { return o == c ? d : o; }, true},
    {"add", "add_u32", "add_u32", 4, [](u64 o, u64 d, u64) { return low(o + d); }},
    {"add_x2", "add_u64", "add_u64", 8, [](u64 o, u64 d, u64) { return o + d; }},
    {"sub", "sub_u32", "sub_u32", 4, [](u64 o, u64 d, u64) { return low(o - d); }},
    {"sub_x2", "sub_u64", "sub_u64", 8, [](u64 o, u64 d, u64) { return o - d; }},
    {nullptr, nullptr, "rsub_u32", 4, [](u64 o, u64 d, u64) { return low(d - o); }},
    {nullptr, nullptr, "rsub_u64", 8, [](u64 o, u64 d, u64) { return d - o; }},
    {"smin", "min_i32", "min_i32", 4,
     [](u64 o, u64 d, u64) { return static_cast<i32>(d) < static_cast<i32>(o) ? d : o; }},
    {"smin_x2", "min_i64", "min_i64", 8,
     [](u64 o, u64 d, u64) { return static_cast<i64>(d) < static_cast<i64>(o) ? d : o; }},
    {"smax", "max_i32", "max_i32", 4,
     [](u64 o, u64 d, u64) { return static_cast<i32>(d) > static_cast<i32>(o) ? d : o; }},
    {"smax_x2", "max_i64", "max_i64", 8,
     [](u64 o, u64 d, u64) { return static_cast<i64>(d) > static_cast<i64>(o) ? d : o; }},
    {"umin", "min_u32", "min_u32", 4, [](u64 o, u64 d, u64) { return d < o ? d : o; }},
    {"umin_x2", "min_u64", "min_u64", 8, [](u64 o, u64 d, u64) { return d < o ? d : o; }},
    {"umax", "max_u32", "max_u32", 4, [](u64 o, u64 d, u64) { return d > o ? d : o; }},
    {"umax_x2", "max_u64", "max_u64", 8, [](u64 o, u64 d, u64) { return d > o ? d : o; }},
    {"and", "and_b32", "and_b32", 4, [](u64 o, u64 d, u64) { return o & d; }},
    {"and_x2", "and_b64", "and_b64", 8, [](u64 o, u64 d, u64) { return o & d; }},
    {"or", "or_b32", "or_b32", 4, [](u64 o, u64 d, u64) { return o | d; }},
    {"or_x2", "or_b64", "or_b64", 8, [](u64 o, u64 d, u64) { return o | d; }},
    {"xor", "xor_b32", "xor_b32", 4, [](u64 o, u64 d, u64) { return o ^ d; }},
    {"xor_x2", "xor_b64", "xor_b64", 8, [](u64 o, u64 d, u64) { return o ^ d; }},
    {"inc", "inc_u32", "inc_u32", 4, [](u64 o, u64 d, u64) { return o >= d ? 0 : o + 1; }},
    {"inc_x2", "inc_u64", "inc_u64", 8, [](u64 o, u64 d, u64) { return o >= d ? 0 : o + 1; }},
    {"dec", "dec_u32", "dec_u32", 4, [](u64 o, u64 d, u64) { return o == 0 || o > d ? d : o - 1; }},
    {"dec_x2", "dec_u64", "dec_u64", 8, [](u64 o, u64 d, u64) { return o == 0 || o > d ? d : o - 1; }},
};

enum class Where { global, flat_global, flat_lds, flat_private, buffer, lds };
const Where every_where[] = {Where::global,       Where::flat_global, Where::flat_lds,
                             Where::flat_private, Where::buffer,      Where::lds};

// Data in v[8:11], address in v[0:1], result in v[4:5].
std::string line(Where where, const Operation& op, Arch arch, bool returns) {
  const auto tuple = [](unsigned first, unsigned dwords) {
    if (dwords == 1) return "v" + std::to_string(first);
    return "v[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
  };
  const unsigned dwords = op.bytes / 4;
  const std::string result = tuple(4, dwords) + ", ", data = tuple(8, dwords * (op.compares ? 2 : 1));
  const std::string flag = !returns                                       ? ""
                           : contains(gfx12, arch)                        ? " th:TH_ATOMIC_RETURN"
                           : arch == Arch::gfx942 || arch == Arch::gfx950 ? " sc0"
                                                                          : " glc";
  const std::string name = is_cdna(arch) ? op.gfx9 ? op.gfx9 : "" : op.gfx11 ? op.gfx11 : "";
  switch (where) {
    case Where::global:
      return "global_atomic_" + name + " " + (returns ? result : "") + "v[0:1], " + data + ", off offset:8" + flag;
    case Where::buffer:
      return "buffer_atomic_" + name + " " + data + ", v0, s[4:7], " + (contains(gfx12, arch) ? "null" : "0") +
             " offen offset:8" + flag;
    case Where::lds: {
      std::string ds = op.ds;
      if (returns) ds.insert(ds.rfind('_'), "_rtn");
      return "ds_" + ds + " " + (returns ? result : "") + "v0, " + data + " offset:8";
    }
    default: return "flat_atomic_" + name + " " + (returns ? result : "") + "v[0:1], " + data + " offset:8" + flag;
  }
}

bool has(Where where, const Operation& op, Arch arch) {
  if (where == Where::lds) return op.ds != nullptr;
  return (is_cdna(arch) ? op.gfx9 : op.gfx11) != nullptr;
}

// One form of an operation in one memory. Lanes use few cells, [64, 128) of it, so that several use the same one.
class Integers {
 public:
  Integers(MemoryWave& wave, Block& memory, Target target, Where where, const Operation& op, bool returns)
      : wave_(wave), memory_(memory), target_(target), where_(where), op_(op), returns_(returns), at_(target.lanes) {}

  void check(std::mt19937& random) {
    prepare(random);
    const u64 exec = wave_.random_exec(random);
    compute(exec);
    const std::vector<u32> data_before(wave_.wave().row(8), wave_.wave().row(8) + 4 * target_.lanes);
    const std::string text = line(where_, op_, target_.arch, returns_);
    wave_.go(text);
    for (unsigned l = 0; l < target_.lanes; ++l)
      for (u32 a = 64; a < 128; a += 8)
        ASSERT_EQ(cell(l, a), cells_[own() ? l : 0][a]) << text << " lane " << l << " byte " << a;
    // Buffers return into the data registers.
    const unsigned result = where_ == Where::buffer ? 8 : 4;
    for (unsigned l = 0; l < target_.lanes; ++l)
      for (unsigned d = 0; d < op_.bytes / 4; ++d) {
        const u32 before = where_ == Where::buffer ? data_before[d * target_.lanes + l] : 0xdead;
        const u32 want = returns_ && exec >> l & 1 ? static_cast<u32>(expected_[l] >> 32 * d) : before;
        ASSERT_EQ(wave_.v(result + d, l), want) << text << " lane " << l;
      }
  }

 private:
  bool own() const { return where_ == Where::flat_private; }

  unsigned char& byte(unsigned lane, u32 at) {
    if (own()) return wave_.private_byte(lane, at);
    return where_ == Where::lds || where_ == Where::flat_lds ? wave_.group.lds[at] : memory_.data()[at];
  }
  u64 cell(unsigned lane, u32 at) {
    u64 value = 0;
    for (unsigned b = 0; b < op_.bytes; ++b) value |= u64{byte(lane, at + b)} << 8 * b;
    return value;
  }
  void set_cell(unsigned lane, u32 at, u64 value) {
    for (unsigned b = 0; b < op_.bytes; ++b) byte(lane, at + b) = static_cast<unsigned char>(value >> 8 * b);
  }
  // Small values are often equal.
  u64 number(std::mt19937& random) const {
    const u64 any = random() | u64{random()} << 32;
    const u64 value = random() % 2 ? random() % 4 : random() % 4 == 0 ? ~u64{0} - random() % 3 : any;
    return op_.bytes == 4 ? low(value) : value;
  }

  void prepare(std::mt19937& random) {
    const u64 base = where_ == Where::flat_lds ? u64{1} << 48 : own() ? u64{2} << 48 : memory_.address();
    wave_.set_raw_buffer(4, memory_.address(), 4096);
    for (unsigned l = 0; l < target_.lanes; ++l) {
      at_[l] = 64 + random() % 8 * 8;
      if (where_ == Where::lds || where_ == Where::buffer) wave_.v(0, l) = at_[l] - 8;
      else wave_.set_v64(0, l, base + at_[l] - 8);
      const u64 data = number(random), compare = number(random);
      wave_.set_v64(8, l, data);
      if (op_.bytes == 4) wave_.v(9, l) = static_cast<u32>(compare);
      else wave_.set_v64(10, l, compare);
      wave_.v(4, l) = wave_.v(5, l) = 0xdead;
      for (u32 a = 64; a < 128; a += 8) set_cell(l, a, number(random));
    }
  }
  // The same, computed here lane by lane on copies.
  void compute(u64 exec) {
    cells_.resize(target_.lanes);
    for (unsigned l = 0; l < target_.lanes; ++l)
      for (u32 a = 64; a < 128; a += 8) cells_[l][a] = cell(l, a);
    expected_.resize(target_.lanes);
    for (unsigned l = 0; l < target_.lanes; ++l) {
      if ((exec >> l & 1) == 0) continue;
      u64& value = cells_[own() ? l : 0][at_[l]];
      expected_[l] = value;
      const u64 data = op_.bytes == 4 ? wave_.v(8, l) : wave_.v64(8, l);
      const u64 compare = op_.bytes == 4 ? wave_.v(9, l) : wave_.v64(10, l);
      value = op_.result(value, data, compare);
    }
  }

  MemoryWave& wave_;
  Block& memory_;
  const Target target_;
  const Where where_;
  const Operation& op_;
  const bool returns_;
  std::vector<u32> at_;
  std::vector<std::map<u32, u64>> cells_;
  std::vector<u64> expected_;
};

void check_integers(Target target) {
  SCOPED_TRACE(describe(target));
  MemoryWave wave(target);
  Block memory(4096);
  std::mt19937 random(5);
  const auto each = [&](const auto& f) {
    for (const Operation& op : operations)
      for (const Where where : every_where)
        for (const bool returns : {false, true})
          if (has(where, op, target.arch)) f(op, where, returns);
  };
  std::vector<std::string> lines;
  each([&](const Operation& op, Where where, bool returns) { lines.push_back(line(where, op, target.arch, returns)); });
  wave.prepare(lines);
  each([&](const Operation& op, Where where, bool returns) {
    ASSERT_NO_FATAL_FAILURE(Integers(wave, memory, target, where, op, returns).check(random));
  });
}

TEST(Atomics, Integers) {
  for (const Target& target : every_target()) check_integers(target);
}

// DS operations with a special operand order.
TEST(Atomics, LdsOperandOrder) {
  struct Case {
    Target target;
    const char* line;
    u32 old, data, data2, left;
  };
  const Target g9{Arch::gfx942, 64}, g11{Arch::gfx1100, 32}, g12{Arch::gfx1201, 32};
  const Case cases[] = {
      {g9, "ds_cmpst_rtn_b32 v4, v0, v8, v9", 5, 5, 77, 77},  // gfx9 compares the first data
      {g9, "ds_cmpst_rtn_b32 v4, v0, v8, v9", 6, 5, 77, 6},
      {g11, "ds_cmpstore_rtn_b32 v4, v0, v8, v9", 5, 77, 5, 77},  // gfx11 the second
      {g11, "ds_cmpstore_rtn_b32 v4, v0, v8, v9", 6, 77, 5, 6},
      {g9, "ds_mskor_rtn_b32 v4, v0, v8, v9", 0xffff, 0x0ff0, 0x10100, 0x1f10f},
      {g11, "ds_mskor_rtn_b32 v4, v0, v8, v9", 0xffff, 0x0ff0, 0x10100, 0x1f10f},
      {g9, "ds_wrxchg_rtn_b32 v4, v0, v8", 3, 9, 0, 9},
      {g11, "ds_storexchg_rtn_b32 v4, v0, v8", 3, 9, 0, 9},
      {g9, "ds_wrap_rtn_b32 v4, v0, v8, v9", 10, 4, 100, 6},
      {g9, "ds_wrap_rtn_b32 v4, v0, v8, v9", 3, 4, 100, 103},
      {g12, "ds_sub_clamp_rtn_u32 v4, v0, v8", 5, 7, 0, 0},
      {g12, "ds_sub_clamp_rtn_u32 v4, v0, v8", 9, 7, 0, 2},
      {g12, "ds_cond_sub_rtn_u32 v4, v0, v8", 5, 7, 0, 5},
      {g12, "ds_cond_sub_rtn_u32 v4, v0, v8", 9, 7, 0, 2},
  };
  for (const Case& c : cases) {
    MemoryWave wave(c.target);
    wave.prepare({c.line});
    wave.set_exec(4);
    wave.v(0, 2) = 40, wave.v(8, 2) = c.data, wave.v(9, 2) = c.data2;
    u32& cell = *reinterpret_cast<u32*>(wave.group.lds.data() + 40);
    cell = c.old;
    wave.go(c.line);
    EXPECT_EQ(cell, c.left) << c.line;
    EXPECT_EQ(wave.v(4, 2), c.old) << c.line;
  }
}

TEST(Atomics, LdsConditionalExchange) {
  MemoryWave wave({Arch::gfx942, 64});
  wave.prepare({"ds_condxchg32_rtn_b64 v[4:5], v0, v[8:9]"});
  wave.set_exec(1);
  auto* cells = reinterpret_cast<u32*>(wave.group.lds.data());
  cells[2] = 11, cells[3] = 12;
  wave.v(0, 0) = 8, wave.v(8, 0) = 0x80000005, wave.v(9, 0) = 6;
  wave.go("ds_condxchg32_rtn_b64 v[4:5], v0, v[8:9]");
  EXPECT_EQ(wave.v(4, 0), 11U);
  EXPECT_EQ(wave.v(5, 0), 12U);
  EXPECT_EQ(cells[2], 5U);
  EXPECT_EQ(cells[3], 12U);
}

TEST(Atomics, LdsTwoSources) {
  MemoryWave old({Arch::gfx908, 64});
  old.prepare({"ds_add_src2_u32 v0 offset:3", "ds_write_src2_b64 v0 offset:32766", "ds_max_src2_i32 v0 offset:32768"});
  old.set_exec(1);
  auto* words = reinterpret_cast<u32*>(old.group.lds.data());
  words[4] = 100, words[7] = 23, old.v(0, 0) = 16;
  old.go("ds_add_src2_u32 v0 offset:3");  // B is three dwords on
  EXPECT_EQ(words[4], 123U);
  words[10] = 1, words[11] = 2, words[8] = 3, words[9] = 4, old.v(0, 0) = 40;
  old.go("ds_write_src2_b64 v0 offset:32766");  // the offset is signed: two dwords back
  EXPECT_EQ(words[10], 3U);
  EXPECT_EQ(words[11], 4U);
  words[4] = 7, words[6] = 9, old.v(0, 0) = 16 | 2 << 17;
  old.go("ds_max_src2_i32 v0 offset:32768");  // the distance is in the address register
  EXPECT_EQ(words[4], 9U);
}

u64 bits(double d) { return std::bit_cast<u64>(d); }

// The public emulator's compare-and-swap of 64 bits compares garbage, so loops like this one hang or lose sums.
TEST(Atomics, CompareAndSwapLoopOf64Bits) {
  for (const Target& target : {Target{Arch::gfx90a, 64}, Target{Arch::gfx942, 64}, Target{Arch::gfx1100, 32}}) {
    MemoryWave wave(target);
    Block memory(64);
    const Operation& op = operations[3];
    const std::string text = line(Where::global, op, target.arch, true);
    wave.prepare({text});
    memory.at<double>(1) = 100;
    u64 waiting = wave.wave().all_lanes();
    for (unsigned l = 0; l < target.lanes; ++l) {
      wave.set_v64(0, l, memory.address());
      wave.set_v64(10, l, bits(100.0));
    }
    int rounds = 0;
    for (; waiting != 0 && rounds < 100; ++rounds) {
      wave.set_exec(waiting);
      for (unsigned l = 0; l < target.lanes; ++l) wave.set_v64(8, l, bits(std::bit_cast<double>(wave.v64(10, l)) + l));
      wave.go(text);
      for (unsigned l = 0; l < target.lanes; ++l) {
        if ((waiting >> l & 1) == 0) continue;
        if (wave.v64(4, l) == wave.v64(10, l)) waiting &= ~(u64{1} << l);
        else wave.set_v64(10, l, wave.v64(4, l));
      }
    }
    EXPECT_EQ(memory.at<double>(1), 100.0 + target.lanes * (target.lanes - 1) / 2);
    EXPECT_EQ(rounds, static_cast<int>(target.lanes) - 1)
        << "a lane a round; lane 0 changes nothing, so lane 1 goes with it";
  }
}

TEST(Atomics, ThreadsDoNotLoseEachOthersSums) {
  Block memory(64);
  memory.at<u32>(0) = 0, memory.at<float>(1) = 0;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<MemoryWave>> waves;
  for (int n = 0; n < 4; ++n) {
    auto& wave = *waves.emplace_back(std::make_unique<MemoryWave>(Target{Arch::gfx942, 64}));
    wave.prepare({"global_atomic_add v[0:1], v8, off", "global_atomic_add_f32 v[0:1], v9, off offset:4"});
    for (unsigned l = 0; l < 64; ++l) wave.set_v64(0, l, memory.address()), wave.v(8, l) = 1, wave.set_f(9, l, 1);
  }
  for (auto& wave : waves)
    threads.emplace_back([&wave] {
      for (int n = 0; n < 500; ++n) {
        wave->go("global_atomic_add v[0:1], v8, off");
        wave->go("global_atomic_add_f32 v[0:1], v9, off offset:4");
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(memory.at<u32>(0), 4U * 64 * 500);
  EXPECT_EQ(memory.at<float>(1), 4.0F * 64 * 500);
}

TEST(Atomics, NeedTheirAlignment) {
  MemoryWave wave({Arch::gfx942, 64});
  Block memory(64);
  wave.prepare({"global_atomic_add v[0:1], v8, off", "ds_add_u64 v0, v[8:9]"});
  for (unsigned l = 0; l < 64; ++l) wave.set_v64(0, l, memory.address() + (l == 9 ? 2 : 0));
  try {
    wave.go("global_atomic_add v[0:1], v8, off");
    ADD_FAILURE();
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, FaultKind::illegal_address);
    EXPECT_EQ(fault.lane, 9U);
  }
  for (unsigned l = 0; l < 64; ++l) wave.v(0, l) = 4;
  EXPECT_THROW(wave.go("ds_add_u64 v0, v[8:9]"), Fault);
}

}  // namespace
}  // namespace rapt::sim::test
