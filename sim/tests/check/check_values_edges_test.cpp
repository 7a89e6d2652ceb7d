// The check of unwritten values has fast paths for defined values: each at the edges where it must not be taken.
#include "sim/memory/memory.hpp"
#include "sim/check/values/shadow.hpp"
#include "sim/tests/support/checked_group.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rapt::sim::test {
namespace {

constexpr CheckOptions only_values{.values = true};

// Device memory whose written bytes the test chooses.
class Tracked {
 public:
  explicit Tracked(std::size_t bytes) {
    const bool before = Memory::tracking();
    Memory::set_tracking(true);
    data_ = static_cast<unsigned char*>(Memory::process().allocate(bytes, 4096, MemoryKind::device, 0));
    Memory::set_tracking(before);
    if (!data_) throw std::bad_alloc();
  }
  Tracked(const Tracked&) = delete;
  ~Tracked() { Memory::process().release(data_); }
  unsigned char* at(std::size_t byte) const { return data_ + byte; }
  std::uint64_t address(std::size_t byte = 0) const { return reinterpret_cast<std::uint64_t>(at(byte)); }
  void write(std::size_t byte, std::size_t bytes) const { Memory::process().mark_written(address(byte), bytes); }
  void unwrite(std::size_t byte, std::size_t bytes) const { Memory::process().mark_unwritten(address(byte), bytes); }

 private:
  unsigned char* data_;
};

class Edges : public testing::TestWithParam<Arch> {
 protected:
  Edges() : out_(65536) {}
  unsigned lanes() const { return default_lanes(GetParam()); }

  // A group of one wave; s[2:3] is `from`, s[4:5] memory to store to.
  std::unique_ptr<CheckedGroup> group(const std::string& text, const void* from = nullptr) const {
    static std::map<std::pair<Arch, std::string>, std::shared_ptr<const CheckedCode>> assembled;
    auto& code = assembled[{GetParam(), text}];
    if (!code) code = std::make_shared<CheckedCode>(GetParam(), std::vector<std::string>{text});
    auto made = std::make_unique<CheckedGroup>(code, 0, 1, only_values);
    made->set_address(2, from);
    made->set_address(4, out_.at(0));
    return made;
  }
  std::string finding(const std::string& text, const void* from = nullptr,
                      std::uint64_t exec = ~std::uint64_t{0}) const {
    const auto made = group(text, from);
    made->wave(0).set_pair(sreg::exec, exec & made->wave(0).all_lanes());
    return made->run({0});
  }
  static std::string stored(const std::string& reg) { return reg + " was never written and is stored"; }
  static void expect_lane(const std::string& text, const std::string& what, unsigned lane) {
    EXPECT_NE(text.find(what), std::string::npos) << text;
    const std::string end = ", lane " + std::to_string(lane);
    EXPECT_TRUE(text.ends_with(end)) << text << " should end with" << end;
  }

  const Tracked out_;
};

const std::string copy = "global_load_dword v1, v0, s[2:3]\nglobal_store_dword v0, v1, s[4:5]";

TEST_P(Edges, OneUnwrittenLaneInTheMiddleOfARun) {
  const Tracked in(4096);
  in.write(0, 4 * 21), in.write(4 * 22, 4 * lanes());
  expect_lane(finding(copy, in.at(0)), stored("v1"), 21);
  EXPECT_EQ(finding(copy, in.at(0), ~(std::uint64_t{1} << 21)), "") << "a lane that EXEC masks";
  in.write(4 * 21, 3);
  expect_lane(finding(copy, in.at(0)), stored("v1"), 21);
  in.write(4 * 21 + 3, 1);
  EXPECT_EQ(finding(copy, in.at(0)), "");
}

TEST_P(Edges, PagesAreRememberedUntilAByteIsUnwritten) {
  const Tracked in(3 * 4096);
  in.write(0, 3 * 4096);
  const std::string rows =
      "v_lshlrev_b32 v2, 5, v0\nglobal_load_dword v1, v2, s[2:3]\nglobal_store_dword v0, v1, s[4:5]";
  const unsigned last = lanes() - 1;  // a lane every 128 bytes, the last one at the end of the second page (wave64)
  EXPECT_EQ(finding(rows, in.at(0)), "");
  for (const unsigned lane : {0U, 1U, last / 2, last / 2 + 1, last}) {
    for (const unsigned byte : {0U, 3U}) {
      in.unwrite(128 * lane + byte, 1);
      expect_lane(finding(rows, in.at(0)), stored("v1"), lane);
      in.write(128 * lane + byte, 1);
      EXPECT_EQ(finding(rows, in.at(0)), "");
    }
    in.unwrite(128 * lane + 4, 124);  // between the lanes
    EXPECT_EQ(finding(rows, in.at(0)), "");
  }
}

TEST_P(Edges, ARunAcrossPages) {
  const Tracked in(3 * 4096);
  in.write(0, 3 * 4096);
  const unsigned half = lanes() / 2, start = 4096 - 4 * half;
  EXPECT_EQ(finding(copy, in.at(start)), "");
  in.unwrite(4095, 1);
  expect_lane(finding(copy, in.at(start)), stored("v1"), half - 1);
  in.write(4095, 1), in.unwrite(4096, 1);
  expect_lane(finding(copy, in.at(start)), stored("v1"), half);
  in.write(4096, 1), in.unwrite(start - 1, 1), in.unwrite(start + 4 * lanes(), 1);
  EXPECT_EQ(finding(copy, in.at(start)), "") << "the bytes before and behind";
}

TEST_P(Edges, TheLastPageEndsWithTheAllocation) {
  const Tracked in(4096 + 1000);
  in.write(0, 4096 + 1000);
  EXPECT_EQ(finding(copy, in.at(4096 + 1000 - 4 * lanes())), "");
  in.unwrite(4096 + 999, 1);
  expect_lane(finding(copy, in.at(4096 + 1000 - 4 * lanes())), stored("v1"), lanes() - 1);
}

TEST_P(Edges, LanesFarApart) {
  const std::size_t step = std::size_t{1} << 17;  // more in total than is checked in one span
  const Tracked in(step * lanes());
  for (unsigned lane = 0; lane < lanes(); ++lane) in.write(step * lane, 4);
  const std::string far =
      "v_lshlrev_b32 v2, 15, v0\nglobal_load_dword v1, v2, s[2:3]\nglobal_store_dword v0, v1, s[4:5]";
  EXPECT_EQ(finding(far, in.at(0)), "");
  in.unwrite(step * 9, 1);
  expect_lane(finding(far, in.at(0)), stored("v1"), 9);
}

TEST_P(Edges, LanesInTwoAllocations) {
  const Tracked table(4096), first(4096), second(4096);
  table.write(0, 4096);
  const auto run = [&](const Tracked& near, const Tracked& far) {
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      const std::uint64_t address = (lane < 10 ? near : far).address(4 * lane);
      std::memcpy(table.at(8 * lane), &address, 8);
    }
    return finding(
        "v_lshlrev_b32 v1, 1, v0\nglobal_load_dwordx2 v[2:3], v1, s[2:3]\nglobal_load_dword v1, v[2:3], off\n"
        "global_store_dword v0, v1, s[4:5]",
        table.at(0));
  };
  first.write(0, 4096);
  expect_lane(run(first, second), stored("v1"), 10);
  expect_lane(run(second, first), stored("v1"), 0);
  second.write(40, 4 * lanes() - 40);
  EXPECT_EQ(run(first, second), "");
  expect_lane(run(second, first), stored("v1"), 0);
}

TEST_P(Edges, AReusedBlockIsUnwrittenAgain) {
  const Tracked* block = new Tracked(8192);
  block->write(0, 8192);
  EXPECT_EQ(finding(copy, block->at(0)), "");
  std::set<std::uint64_t> freed;  // the first may never come back: another thread's memory may be there
  bool again = false;
  for (unsigned n = 0; n < 5000 && !again; ++n) {  // freed blocks are kept a while
    freed.insert(block->address());
    delete block;
    block = new Tracked(8192);
    again = freed.contains(block->address());
    if (!again) block->write(0, 8192);
  }
  ASSERT_TRUE(again);
  expect_lane(finding(copy, block->at(0)), stored("v1"), 0);
  delete block;
}

TEST_P(Edges, SixteenBytesALane) {
  const Tracked in(4096);
  in.write(0, 4096);
  const std::string wide =
      "v_lshlrev_b32 v2, 2, v0\nglobal_load_dwordx4 v[4:7], v2, s[2:3]\nglobal_store_dwordx4 v2, v[4:7], s[4:5]";
  EXPECT_EQ(finding(wide, in.at(0)), "");
  in.unwrite(16 * 13 + 12, 1);
  expect_lane(finding(wide, in.at(0)), stored("v7"), 13);
}

TEST_P(Edges, ScalarLoads) {
  const Tracked in(4096);
  in.write(0, 8), in.write(12, 4);
  const std::string load = "s_load_dwordx4 s[8:11], s[2:3], 0x0\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_EQ(finding(load + "s_cmp_eq_u32 s9, 3\ns_cbranch_scc1 0", in.at(0)), "");
  EXPECT_EQ(finding(load + "s_cmp_eq_u32 s11, 3\ns_cbranch_scc1 0", in.at(0)), "");
  EXPECT_NE(finding(load + "s_cmp_eq_u32 s10, 3\ns_cbranch_scc1 0", in.at(0)).find("scc comes from a value"),
            std::string::npos);
}

TEST_P(Edges, LdsOfMaskedLanes) {
  const auto text = [](const std::string& load_exec) {
    return "v_mov_b32 v1, 7\ns_mov_b32 exec_lo, 0xfffffbff\nds_write_b32 v0, v1\ns_mov_b32 exec_lo, " + load_exec +
           "\nds_read_b32 v2, v0\nglobal_store_dword v0, v2, s[4:5]";
  };
  EXPECT_EQ(finding(text("0xfffffbff")), "");
  expect_lane(finding(text("-1")), stored("v2"), 10);
}

TEST_P(Edges, WideLds) {
  const std::string stores =
      "v_lshlrev_b32 v9, 2, v0\nv_mov_b32 v4, 1\nv_mov_b32 v5, 2\nv_mov_b32 v6, 3\n"
      "ds_write_b96 v9, v[4:6]\n";
  EXPECT_EQ(finding(stores + "ds_read_b96 v[12:14], v9\nglobal_store_dwordx3 v9, v[12:14], s[4:5]"), "");
  expect_lane(finding(stores + "ds_read_b128 v[12:15], v9\nglobal_store_dwordx4 v9, v[12:15], s[4:5]"), stored("v15"),
              0);
  expect_lane(finding("v_mov_b32 v1, 1\nds_write_b8 v0, v1\nds_write_b8 v0, v1 offset:1\nds_write_b8 v0, v1 offset:3\n"
                      "ds_read_u8 v2, v0 offset:3\nds_read_u8 v3, v0 offset:2\nglobal_store_dword v0, v2, s[4:5]\n"
                      "global_store_dword v0, v3, s[4:5]"),
              stored("v3"), 0);
  EXPECT_EQ(finding("v_mov_b32 v1, 1\nv_add_u32 v2, 0xff00, v0\nds_write_b32 v2, v1\nds_read_b32 v3, v2\n"
                    "global_store_dword v0, v3, s[4:5]",
                    nullptr, 0xf),
            "")
      << "the last dwords of the LDS";
}

// The value that an exchange returns was never written; the one that it stores was.
TEST_P(Edges, LdsExchange) {
  const std::string text =
      "v_mov_b32 v1, 1\nv_mov_b32 v2, 2\nds_wrxchg2_rtn_b32 v[4:5], v0, v1, v2 offset1:64\n"
      "ds_read2_b32 v[6:7], v0 offset1:64\nglobal_store_dword v0, v7, s[4:5]\n";
  EXPECT_EQ(finding(text), "");
  expect_lane(finding(text + "global_store_dword v0, v5, s[4:5]"), stored("v5"), 0);
}

TEST_P(Edges, PrivateMemory) {
  const Tracked memory(std::size_t{64} * lanes());
  const auto run = [&](const std::string& text) {
    const auto made = group(text);
    made->wave(0).scratch_base = memory.address();
    made->wave(0).scratch_bytes_per_lane = 64;
    memory.unwrite(0, std::size_t{64} * lanes());
    return made->run({0});
  };
  const std::string store = "v_mov_b32 v2, 5\nv_mov_b32 v3, 6\ns_mov_b32 s8, 0\n", half = "s_mov_b32 exec_lo, 0xffff\n",
                    all = "s_mov_b32 exec_lo, -1\n", load = "scratch_load_dwordx2 v[4:5], off, s8 offset:8\n",
                    out = "global_store_dword v0, v4, s[4:5]\nglobal_store_dword v0, v5, s[4:5]";
  EXPECT_EQ(run(store + "scratch_store_dwordx2 off, v[2:3], s8 offset:8\n" + load + out), "");
  expect_lane(run(store + "scratch_store_dword off, v2, s8 offset:8\n" + load + out), stored("v5"), 0);
  expect_lane(run(store + half + "scratch_store_dwordx2 off, v[2:3], s8 offset:8\n" + all + load + out), stored("v4"),
              16);
  // An undefined lane in the middle of a store: its private memory is undefined again.
  const std::string spoil = store +
                            "scratch_store_dwordx2 off, v[2:3], s8 offset:8\ns_mov_b32 exec_lo, 0xffffffdf\n"
                            "v_mov_b32 v7, 1\n" +
                            all + "scratch_store_dword off, v7, s8 offset:8\n";
  expect_lane(run(spoil + load + out), stored("v4"), 5);
}

TEST_P(Edges, PartlyDefinedRows) {
  const std::string define = "s_mov_b32 exec_lo, 0xff\nv_mov_b32 v1, 1\n", store = "global_store_dword v0, v2, s[4:5]";
  const std::string vcc = lanes() == 32 ? "vcc_lo" : "vcc";
  const std::string equal = "v_cmp_eq_u32 " + vcc + ", 1, v1\nv_cndmask_b32 v2, v1, v0, " + vcc + "\n";
  const std::uint64_t first32 = 0xffffffff;
  EXPECT_EQ(finding(define + "v_add_u32 v2, v1, v1\n" + store, nullptr, first32), "");
  EXPECT_EQ(finding(define + "" + equal + "" + store, nullptr, first32), "");
  expect_lane(finding(define + "s_mov_b32 exec_lo, 0x1ff\nv_add_u32 v2, v1, v1\n" + store, nullptr, first32),
              stored("v2"), 8);
  // These read inactive lanes too.
  expect_lane(finding(define + "v_mov_b32_dpp v2, v1 row_shl:1 row_mask:0xf bank_mask:0xf\n" + store, nullptr, first32),
              stored("v2"), 7);
  EXPECT_NE(finding(define + "v_readlane_b32 s8, v1, 9\ns_cmp_eq_u32 s8, 1\ns_cbranch_scc1 0", nullptr, first32)
                .find("scc comes from a value"),
            std::string::npos);
  EXPECT_EQ(finding(define + "v_readlane_b32 s8, v1, 7\ns_cmp_eq_u32 s8, 1\ns_cbranch_scc1 0", nullptr, first32), "");
}

TEST_P(Edges, RegistersFarApart) {
  EXPECT_NE(finding("global_store_dwordx4 v0, v[62:65], s[4:5]").find(stored("v62")), std::string::npos);
  const std::string three = "v_mov_b32 v62, 1\nv_mov_b32 v63, 1\nv_mov_b32 v64, 1\n";
  EXPECT_NE(finding(three + "global_store_dwordx4 v0, v[62:65], s[4:5]").find(stored("v65")), std::string::npos);
  EXPECT_EQ(finding(three + "v_mov_b32 v65, 1\nglobal_store_dwordx4 v0, v[62:65], s[4:5]"), "");
  EXPECT_NE(finding("v_mov_b32 v255, 1\nglobal_store_dword v0, v254, s[4:5]").find(stored("v254")), std::string::npos);
  if (GetParam() == Arch::gfx942) {
    EXPECT_NE(finding("global_store_dword v0, a255, s[4:5]").find(stored("a255")), std::string::npos);
    EXPECT_EQ(finding("v_accvgpr_write_b32 a255, 1\nglobal_store_dword v0, a255, s[4:5]"), "");
  }
}

// Compilers pass any register for the high word of a sum if only the low word is used.
TEST_P(Edges, LowWordsOfWideSums) {
  const std::string sum = "v_mov_b32 v2, 7\nv_mov_b32 v4, 1\nv_mad_u64_u32 v[6:7], " +
                          std::string(GetParam() == Arch::gfx942 ? "vcc" : "null") + ", v4, v2, v[2:3]\n";
  EXPECT_EQ(finding(sum + "global_store_dword v0, v6, s[4:5]"), "");
  EXPECT_NE(finding(sum + "global_store_dword v0, v7, s[4:5]").find(stored("v7")), std::string::npos);
  const std::string low = "v_mov_b32 v3, 7\nv_mov_b32 v4, 1\nv_mad_u64_u32 v[6:7], " +
                          std::string(GetParam() == Arch::gfx942 ? "vcc" : "null") + ", v4, v4, v[2:3]\n";
  EXPECT_NE(finding(low + "global_store_dword v0, v6, s[4:5]").find(stored("v6")), std::string::npos);
  if (GetParam() != Arch::gfx942) return;
  const std::string shifted = "v_mov_b32 v2, 7\nv_lshl_add_u64 v[6:7], v[2:3], 2, v[2:3]\n";
  EXPECT_EQ(finding(shifted + "global_store_dword v0, v6, s[4:5]"), "");
  EXPECT_NE(finding(shifted + "global_store_dword v0, v7, s[4:5]").find(stored("v7")), std::string::npos);
}

// A packed float operation only reads the words that op_sel and op_sel_hi select.
TEST_P(Edges, WordsOfPackedFloats) {
  if (GetParam() != Arch::gfx942) return;
  const std::string both = "v_mov_b32 v2, 1.0\nv_mov_b32 v4, 1.0\nv_mov_b32 v5, 1.0\n";  // v3 is never written
  const std::string low = both + "v_pk_mul_f32 v[6:7], v[4:5], v[2:3] op_sel_hi:[1,0]\n";
  const std::string each = both + "v_pk_mul_f32 v[6:7], v[4:5], v[2:3]\n";
  EXPECT_EQ(finding(low + "global_store_dwordx2 v0, v[6:7], s[4:5]"), "");
  EXPECT_EQ(finding(each + "global_store_dword v0, v6, s[4:5]"), "");
  EXPECT_NE(finding(each + "global_store_dword v0, v7, s[4:5]").find(stored("v7")), std::string::npos);
  const std::string high = both + "v_pk_add_f32 v[6:7], v[4:5], v[2:3] op_sel:[0,1] op_sel_hi:[1,0]\n";
  EXPECT_NE(finding(high + "global_store_dword v0, v6, s[4:5]").find(stored("v6")), std::string::npos);
  EXPECT_EQ(finding(high + "global_store_dword v0, v7, s[4:5]"), "");
}

INSTANTIATE_TEST_SUITE_P(Architectures, Edges, testing::Values(Arch::gfx942, Arch::gfx1151),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST(Shadow, KeepsWholeAndPartlyUndefinedLanesApart) {
  Shadow shadow(64);
  const auto any = [&shadow](unsigned row) { return (shadow.undefined()[row / 64] >> row % 64 & 1) != 0; };
  shadow.undefine(70, 0xf0);
  EXPECT_EQ(shadow.bits(70, 3), 0U);
  EXPECT_EQ(shadow.bits(70, 4), ~0U);
  shadow.set_bits(70, 4, 0x10);
  shadow.set_bits(70, 9, 0x80000000);
  EXPECT_EQ(shadow.bits(70, 4), 0x10U);
  EXPECT_EQ(shadow.bits(70, 9), 0x80000000U);
  EXPECT_EQ(shadow.undefined_lanes(70), 0x2f0U);
  shadow.define(70, 0x210);  // and undefined again: wholly
  shadow.undefine(70, 0x10);
  EXPECT_EQ(shadow.bits(70, 4), ~0U);
  shadow.set_bits(70, 5, ~0U);
  EXPECT_TRUE(any(70));
  EXPECT_FALSE(any(69) || any(71) || any(6));
  shadow.define(70, 0xf0);
  EXPECT_FALSE(any(70));
  shadow.undefine(71, 0);
  EXPECT_FALSE(any(71)) << "no lane";
}

TEST(Shadow, AnswersForAccesses) {
  Shadow shadow(32);
  const RegisterAccess pair{RegisterFile::vgpr, 0, 63, 2}, scalars{RegisterFile::sgpr, 0, 62, 4},
      scc{RegisterFile::scc, 0, 0, 1};
  RegisterWords words;
  for (const RegisterAccess& access : {pair, scalars, scc}) words.add(access);
  EXPECT_FALSE(words.touches(shadow.undefined()));
  for (const unsigned row : {62U, 65U, 63U + Wave::agpr_row}) shadow.undefine(row, 1);
  for (const unsigned s : {61U, 66U}) shadow.set_scalar(s, 1);
  EXPECT_FALSE(words.touches(shadow.undefined()));
  shadow.set_scc(true);
  EXPECT_TRUE(words.touches(shadow.undefined()) && shadow.touches(scc));
  shadow.set_scc(false), shadow.set_scalar(65, 4);
  EXPECT_TRUE(words.touches(shadow.undefined()) && shadow.touches(scalars));
  shadow.set_scalar(65, 0), shadow.undefine(64, 0x100);
  EXPECT_TRUE(words.touches(shadow.undefined()) && shadow.touches(pair, 0x100) && !shadow.touches(pair, 0xff));
}

}  // namespace
}  // namespace rapt::sim::test
