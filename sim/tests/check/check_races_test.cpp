// The sanitizer's check of data races: pairs of accesses in assembly, in an order that the test chooses.
#include "sim/tests/support/checked_group.hpp"

#include "sim/memory/memory.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr CheckOptions only_races{.races = true};

using Programs = std::vector<std::string>;
using Order = std::vector<unsigned>;

std::string races(Arch arch, const Programs& programs, const Order& order = {0, 1, 0, 1, 0, 1}) {
  CheckedGroup group(arch, programs, only_races);
  for (unsigned n = 0; n < programs.size(); ++n)
    for (unsigned l = 0; l < group.wave(n).lanes; ++l) group.wave(n).row(1)[l] = 100 * n + l;
  return group.run(order);
}
bool begins(const std::string& text, const std::string& with) { return text.substr(0, with.size()) == with; }

#define EXPECT_RACE(found) EXPECT_TRUE(begins(found, "data race at ")) << "found: " << (found)

TEST(LdsRaces, PairsWithoutABarrier) {
  const Programs store_load = {"ds_write_b32 v0, v1", "ds_read_b32 v2, v0"};
  EXPECT_EQ(races(Arch::gfx942, store_load, {0, 1}),
            "data race at LDS byte 0: load by wave 1 (ds_read_b32 v2, v0) and store by wave 0 (ds_write_b32 v0, v1, at "
            "text+0x0) with nothing that orders them: ds_read_b32 v2, v0, at test+0xc, workgroup (0, 0, 0), wave 1, "
            "lane 0");
  EXPECT_EQ(races(Arch::gfx942, store_load, {1, 0}),
            "data race at LDS byte 0: store by wave 0 (ds_write_b32 v0, v1) and load by wave 1 (ds_read_b32 v2, v0, at "
            "text+0xc) with nothing that orders them: ds_write_b32 v0, v1, at test+0x0, workgroup (0, 0, 0), wave 0, "
            "lane 0");
  EXPECT_RACE(races(Arch::gfx1201, {"ds_store_b32 v0, v1", "ds_store_b32 v0, v1"}, {0, 1}));
  EXPECT_RACE(races(Arch::gfx90a, {"ds_write_b64 v0, v[0:1] offset:512", "ds_read_u8 v2, v0 offset:515"}, {0, 1}));
  // In between: a lane in the middle.
  const std::string middle = races(Arch::gfx1100, {"ds_store_b32 v0, v1 offset:120", "ds_load_b32 v2, v0"}, {0, 1});
  EXPECT_TRUE(begins(middle, "data race at LDS byte 120: load by wave 1")) << middle;
  EXPECT_NE(middle.find("wave 1, lane 30"), std::string::npos) << middle;
}

TEST(LdsRaces, BarriersOrder) {
  EXPECT_EQ(races(Arch::gfx942, {"ds_write_b32 v0, v1\ns_barrier", "s_barrier\nds_read_b32 v2, v0"}), "");
  EXPECT_EQ(races(Arch::gfx942, {"ds_write_b32 v0, v1\ns_barrier", "s_barrier\nds_read_b32 v2, v0"}, {1, 0, 1}), "");
  EXPECT_EQ(races(Arch::gfx942, {"ds_read_b32 v2, v0\ns_barrier", "s_barrier\nds_write_b32 v0, v1"}), "");
  EXPECT_RACE(races(Arch::gfx942, {"s_barrier\nds_write_b32 v0, v1", "s_barrier\nds_read_b32 v2, v0"}));
  EXPECT_RACE(races(Arch::gfx942, {"s_barrier\nds_read_b32 v2, v0", "s_barrier\nds_write_b32 v0, v1"}));
  // The barrier in between orders the first pair, not the second.
  EXPECT_RACE(races(Arch::gfx90a,
                    {"ds_write_b32 v0, v1\ns_barrier\nds_write_b32 v0, v0", "s_barrier\nds_read_b32 v2, v0"},
                    {0, 1, 0, 1}));
  EXPECT_EQ(races(Arch::gfx90a,
                  {"ds_write_b32 v0, v1\ns_barrier\ns_barrier\nds_write_b32 v0, v0",
                   "s_barrier\nds_read_b32 v2, v0\ns_barrier"},
                  {0, 1, 0, 1, 0, 1, 0}),
            "");
}

TEST(LdsRaces, SplitBarriersOrderWhatIsBeforeTheSignal) {
  const std::string wait = "s_barrier_wait -1\n", signal = "s_barrier_signal -1\n";
  EXPECT_EQ(races(Arch::gfx1201, {"ds_store_b32 v0, v1\n" + signal + wait, signal + wait + "ds_load_b32 v2, v0"}), "");
  EXPECT_EQ(
      races(Arch::gfx1201, {"ds_store_b32 v0, v1\n" + signal + wait, signal + wait + "ds_load_b32 v2, v0"}, {1, 0, 1}),
      "");
  EXPECT_RACE(races(Arch::gfx1201, {signal + "ds_store_b32 v0, v1\n" + wait, signal + wait + "ds_load_b32 v2, v0"}));
  EXPECT_RACE(races(Arch::gfx1201, {"ds_store_b32 v0, v1\n" + signal + wait, signal + "ds_load_b32 v2, v0\n" + wait}));
}

TEST(LdsRaces, BytesCount) {
  EXPECT_EQ(races(Arch::gfx942, {"ds_write_b16 v0, v1", "ds_write_b16 v0, v1 offset:2"}), "");
  EXPECT_EQ(races(Arch::gfx942, {"ds_write_b8 v0, v1 offset:1", "ds_read_u8 v2, v0"}), "");
  EXPECT_RACE(races(Arch::gfx942, {"ds_write_b16 v0, v1", "ds_read_u8 v2, v0 offset:1"}));
  // One wave loads both halves and stores its own; the other loads the other half.
  EXPECT_EQ(races(Arch::gfx942, {"ds_read_b32 v2, v0\nds_write_b16 v0, v1", "ds_read_u16 v2, v0 offset:2"}, {1, 0}),
            "");
  EXPECT_EQ(races(Arch::gfx942, {"ds_read_b32 v2, v0\nds_write_b16 v0, v1", "ds_read_u16 v2, v0 offset:2"}, {0, 1}),
            "");
}

// The check records sixteen bytes at a time, and adjacent lanes together.
TEST(LdsRaces, EdgesOfLongAccesses) {
  const std::string wide = "v_lshlrev_b32 v8, 2, v0\n", store = wide + "ds_write_b128 v8, v[4:7]";  // 1024 bytes
  EXPECT_EQ(races(Arch::gfx942, {store, "v_mov_b32 v8, 0\nds_read_u8 v2, v8 offset:1024"}), "");
  const std::string last = races(Arch::gfx942, {"ds_read_u8 v2, v0 offset:771", store}, {0, 1});
  EXPECT_NE(last.find("LDS byte 771"), std::string::npos) << last;
  EXPECT_NE(last.find("wave 1, lane 48"), std::string::npos) << last;
  // The only lane of a wave that crosses a border of sixteen bytes.
  EXPECT_RACE(races(Arch::gfx942, {"ds_write_b8 v0, v1 offset:16", "ds_read_b64 v[2:3], v0 offset:9"}, {0, 1}));
  EXPECT_EQ(races(Arch::gfx942, {"v_mov_b32 v8, 0\nds_write_b8 v8, v8 offset:16",
                                 "v_mov_b32 v8, 0\nds_read_b64 v[2:3], v8 offset:8"}),
            "");
  // Two waves store halves of each sixteen bytes; a third loads all of them.
  const std::string low = wide + "ds_write_b64 v8, v[4:5]", high = wide + "ds_write_b64 v8, v[4:5] offset:8";
  EXPECT_EQ(races(Arch::gfx942, {low, high}), "");
  EXPECT_EQ(
      races(Arch::gfx942, {low + "\ns_barrier", high + "\ns_barrier", wide + "s_barrier\nds_read_b128 v[4:7], v8"},
            {0, 1, 2, 0, 1, 2}),
      "");
  EXPECT_RACE(races(Arch::gfx942,
                    {low + "\ns_barrier", "s_barrier\n" + high, wide + "s_barrier\nds_read_b128 v[4:7], v8"},
                    {0, 1, 2, 0, 1, 2}));
}

// Lanes of the wave's two halves that load adjacent bytes, as for matrix products.
TEST(LdsRaces, HalvesOfAMatrix) {
  const std::string load =
      "v_lshrrev_b32 v8, 7, v0\nv_lshlrev_b32 v8, 3, v8\nv_and_b32 v9, 0x7c, v0\nv_lshl_add_u32 v8, v9, 2, v8\n"
      "ds_read_b64 v[4:5], v8";  // lane l: 8 bytes from l % 32 * 16 + l / 32 * 8 on
  EXPECT_EQ(races(Arch::gfx942, {load, load, load}, {0, 1, 2}), "");
  EXPECT_EQ(races(Arch::gfx942, {load, "v_mov_b32 v8, 0\nds_write_b8 v8, v8 offset:512"}), "");
  const auto store = [](const char* offset) {
    return std::string("v_mov_b32 v8, 0\nds_write_b8 v8, v8 offset:") + offset;
  };
  for (const char* offset : {"0", "8", "511"}) {
    EXPECT_RACE(races(Arch::gfx942, {load, load, store(offset)}, {0, 1, 2}));
    const std::string found = races(Arch::gfx942, {load, load, store(offset)}, {2, 0, 1});
    EXPECT_NE(found.find(std::string("LDS byte ") + offset + ": load by wave 0"), std::string::npos) << found;
  }
  const std::string barrier = "\ns_barrier";
  EXPECT_RACE(
      races(Arch::gfx942, {load + barrier, "s_barrier\n" + load, "s_barrier\n" + store("7")}, {0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(races(Arch::gfx942, {load + barrier, load + barrier, "s_barrier\n" + store("7")}, {0, 1, 2, 0, 1, 2}), "");
}

TEST(LdsRaces, EqualStoresAreNoFinding) {
  EXPECT_EQ(races(Arch::gfx942, {"ds_write_b32 v0, v0", "ds_write_b32 v0, v0"}), "");
  EXPECT_EQ(races(Arch::gfx942, {"v_mov_b32 v2, 7\nds_write2_b32 v0, v0, v2 offset1:64",
                                 "v_mov_b32 v2, 7\nds_write_b32 v0, v2 offset:256"}),
            "");
  EXPECT_RACE(races(Arch::gfx942, {"v_mov_b32 v2, 7\nds_write2_b32 v0, v0, v2 offset1:64",
                                   "v_mov_b32 v2, 8\nds_write_b32 v0, v2 offset:256"}));
  EXPECT_RACE(races(Arch::gfx942, {"ds_write_b32 v0, v0", "v_mov_b32 v2, 8\nds_write_b32 v0, v2"}));
}

TEST(LdsRaces, AtomicsDoNotRaceAndOrder) {
  EXPECT_EQ(races(Arch::gfx942, {"ds_add_u32 v0, v1", "ds_add_u32 v0, v1"}), "");
  EXPECT_RACE(races(Arch::gfx942, {"ds_write_b32 v0, v1", "ds_add_u32 v0, v1"}, {0, 1}));
  EXPECT_RACE(races(Arch::gfx942, {"ds_add_u32 v0, v1", "ds_read_b32 v2, v0"}, {0, 1}));
  // Data, then an atomic; an atomic on the same location that returns a result, then the data.
  const std::string give = "ds_write_b32 v0, v1 offset:1024\nds_add_u32 v0, v1",
                    take = "ds_add_rtn_u32 v2, v0, v1\nds_read_b32 v3, v0 offset:1024";
  EXPECT_EQ(races(Arch::gfx942, {give, take}, {0, 1}), "");
  EXPECT_RACE(races(Arch::gfx942, {give, take}, {1, 0}));
  EXPECT_RACE(
      races(Arch::gfx942, {give, "ds_add_rtn_u32 v2, v0, v1 offset:512\nds_read_b32 v3, v0 offset:1024"}, {0, 1}));
  // Through a third wave that never touches the data.
  EXPECT_EQ(races(Arch::gfx942,
                  {give, "ds_add_rtn_u32 v2, v0, v1\nds_add_u32 v0, v1 offset:512",
                   "ds_add_rtn_u32 v2, v0, v1 offset:512\nds_read_b32 v3, v0 offset:1024"},
                  {0, 1, 2}),
            "");
}

TEST(LdsRaces, FlagsThatArePolled) {
  const std::string give = "ds_write_b32 v0, v1 offset:1024\nds_write_b32 v8, v9",
                    take =
                        "again:\nds_read_b32 v2, v8\ns_waitcnt lgkmcnt(0)\nv_cmp_eq_u32 vcc, 0, v2\n"
                        "s_cbranch_vccnz again\nds_read_b32 v3, v0 offset:1024";
  for (const bool given_first : {true, false}) {
    CheckedGroup group(Arch::gfx942, {give, take}, only_races);
    for (unsigned n = 0; n < 2; ++n)
      for (unsigned l = 0; l < 64; ++l) group.wave(n).row(8)[l] = 2048, group.wave(n).row(9)[l] = 1;
    for (unsigned n = 0; n < 6 && !given_first; ++n) EXPECT_EQ(group.step(1), "");
    EXPECT_EQ(group.run({0, 1}), "") << given_first;
    EXPECT_EQ(group.wave(1).state, WaveState::ended);
  }
}

class Global {
 public:
  Global() : data_(static_cast<unsigned*>(Memory::process().allocate(65536, 4096, MemoryKind::device, 0))) {
    std::fill_n(data_, 16384, 0U);
  }
  ~Global() { Memory::process().release(data_); }
  unsigned* data() const { return data_; }

 private:
  unsigned* data_;
};

// Programs of one wave each, of two workgroups, in the order of `first`.
std::string between_groups(Arch arch, const std::string& a, const std::string& b, bool a_first = true) {
  const Global memory;
  RaceLaunch launch;
  const auto code = std::make_shared<CheckedCode>(arch, Programs{a, b});
  CheckedGroup first(code, 0, 1, only_races, &launch, 0), second(code, 1, 1, only_races, &launch, 1);
  for (CheckedGroup* group : {&first, &second}) {
    group->set_address(2, memory.data());
    for (unsigned l = 0; l < group->wave(0).lanes; ++l) group->wave(0).row(1)[l] = 1 + (group == &second);
  }
  const std::string found = (a_first ? first : second).run({0, 0});
  return found.empty() ? (a_first ? second : first).run({0, 0}) : found;
}

TEST(GlobalRaces, BetweenWorkgroups) {
  const std::string store = "global_store_dword v0, v1, s[2:3]", load = "global_load_dword v2, v0, s[2:3]";
  const std::string found = between_groups(Arch::gfx90a, store, load);
  EXPECT_TRUE(begins(found, "data race at address 0x")) << found;
  EXPECT_NE(found.find(": load by wave 0 (" + load + ") and store by wave 0 of workgroup (0, 0, 0) (" + store +
                       ", at text+0x0) with nothing that orders them: " + load +
                       ", at test+0xc, workgroup (1, 0, 0), wave 0, lane 0"),
            std::string::npos)
      << found;
  EXPECT_RACE(between_groups(Arch::gfx90a, store, load, false));
  EXPECT_RACE(between_groups(Arch::gfx1100, "global_store_b32 v0, v1, s[2:3]", "global_store_b32 v0, v1, s[2:3]"));
  EXPECT_EQ(between_groups(Arch::gfx1100, "global_load_b32 v1, v0, s[2:3]", "global_load_b32 v1, v0, s[2:3]"), "");
  EXPECT_EQ(between_groups(Arch::gfx90a, store, "global_load_dword v2, v0, s[2:3] offset:256"), "");
  EXPECT_EQ(between_groups(Arch::gfx90a, "global_store_dword v0, v0, s[2:3]", "global_store_dword v0, v0, s[2:3]"), "");
  // Scalar loads are loads too.
  EXPECT_RACE(between_groups(Arch::gfx942, store, "s_load_dword s9, s[2:3], 0x10"));
  // A barrier orders only the group's own waves.
  EXPECT_RACE(between_groups(Arch::gfx90a, store + "\ns_barrier", "s_barrier\n" + load));
}

// Several workgroups that each store the same bytes and then load them, as where they append to a cache.
TEST(GlobalRaces, LoadsOfWhatTheGroupHasStoredTooAreNoFinding) {
  const std::string store = "global_store_dword v0, v0, s[2:3]\n", load = "global_load_dword v2, v0, s[2:3]\n",
                    other = "global_store_dword v0, v1, s[2:3]\n", wait = "s_barrier\n";
  // Programs of one wave each, by turns or one after another.
  const auto found = [](const Programs& programs, bool by_turns) -> std::string {
    const Global memory;
    RaceLaunch launch;
    const auto code = std::make_shared<CheckedCode>(Arch::gfx942, programs);
    std::vector<std::unique_ptr<CheckedGroup>> groups;
    for (unsigned n = 0; n < programs.size(); ++n) {
      groups.push_back(std::make_unique<CheckedGroup>(code, n, 1, only_races, &launch, n));
      groups.back()->set_address(2, memory.data());
    }
    for (unsigned turn = 0; turn < 8; ++turn)
      for (const auto& group : groups) {
        if (group->wave(0).state != WaveState::running) continue;
        if (const std::string text = by_turns ? group->step(0) : group->run({0}); !text.empty()) return text;
      }
    return "";
  };
  const std::string both = store + wait + load;
  for (const bool by_turns : {true, false}) {
    EXPECT_EQ(found({both, both}, by_turns), "");
    EXPECT_EQ(found({store + load, both, both}, by_turns), "");
    EXPECT_EQ(found(Programs(9, both), by_turns), "");
    EXPECT_EQ(found({both, both, store + load, store}, by_turns), "");
    // A group that has not stored the bytes itself may load the old ones.
    EXPECT_RACE(found({both, both, load}, by_turns));
    EXPECT_RACE(found({load, both, both}, by_turns));
    EXPECT_RACE(found({both, load + wait + store, both}, by_turns));
    EXPECT_RACE(found({both, both, both, both, both, both, both, both, wait + load}, by_turns));
    EXPECT_RACE(found({both, "global_store_short v0, v0, s[2:3]\n" + wait + load}, by_turns));
    EXPECT_RACE(found({both, other}, by_turns));
    EXPECT_RACE(found({both, both, wait + other}, by_turns));
  }
}

TEST(GlobalRaces, BetweenWavesOfAGroup) {
  const Global memory;
  for (const bool barrier : {true, false}) {
    const std::string wait = barrier ? "\ns_barrier\n" : "\ns_nop 0\n";
    CheckedGroup group(Arch::gfx942,
                       {"global_store_dword v0, v0, s[2:3]" + wait, wait + "global_load_dword v2, v0, s[2:3]"},
                       only_races);
    group.set_address(2, memory.data());
    const std::string found = group.run({0, 1, 0, 1});
    if (barrier) EXPECT_EQ(found, "");
    else EXPECT_RACE(found);
  }
}

struct Form {
  Arch arch;
  const char *store, *load, *flag_store, *flag_load, *add;
};
const Form forms[] = {
    {Arch::gfx908, "global_store_dword", "global_load_dword", "", "glc", "global_atomic_add v2, v0, v1, s[2:3] glc"},
    {Arch::gfx90a, "global_store_dword", "global_load_dword", "", "glc", "global_atomic_add v2, v0, v1, s[2:3] glc"},
    {Arch::gfx942, "global_store_dword", "global_load_dword", "sc1", "sc1", "global_atomic_add v2, v0, v1, s[2:3] sc0"},
    {Arch::gfx1100, "global_store_b32", "global_load_b32", "", "glc", "global_atomic_add_u32 v2, v0, v1, s[2:3] glc"},
    {Arch::gfx1201, "global_store_b32", "global_load_b32", "scope:SCOPE_DEV", "scope:SCOPE_DEV",
     "global_atomic_add_u32 v2, v0, v1, s[2:3] th:TH_ATOMIC_RETURN"},
};

TEST(GlobalRaces, AtomicsAndFlagsOrder) {
  for (const Form& f : forms) {
    const std::string where = " s[2:3] offset:1024", give = std::string(f.store) + " v0, v1," + where + "\n",
                      take = std::string("\n") + f.load + " v3, v0," + where;
    const std::string set = std::string(f.store) + " v0, v1, s[2:3] " + f.flag_store,
                      poll = std::string(f.load) + " v2, v0, s[2:3] " + f.flag_load;
    EXPECT_EQ(between_groups(f.arch, give + f.add, f.add + take), "") << name(f.arch);
    EXPECT_RACE(between_groups(f.arch, give + f.add, f.add + take, false));
    EXPECT_EQ(between_groups(f.arch, give + set, poll + take), "") << name(f.arch);
    EXPECT_EQ(between_groups(f.arch, give + set, poll), "") << name(f.arch);
    EXPECT_EQ(between_groups(f.arch, give + set, poll, false), "") << name(f.arch);
    // The flag does not help if the data come after it.
    const std::string exec = default_lanes(f.arch) == 32 ? "s_mov_b32 exec_lo, " : "s_mov_b64 exec, ";
    EXPECT_RACE(between_groups(f.arch, exec + "1\n" + set + "\n" + exec + "-1\n" + give, poll + take));
    EXPECT_RACE(between_groups(f.arch, give, take));
  }
}

// The classic mistake: the flag is set without waiting for the group's other waves.
TEST(GlobalRaces, AFlagWithoutABarrierBefore) {
  for (const Form& f : forms)
    for (const bool barrier : {true, false}) {
      const Global memory;
      RaceLaunch launch;
      const std::string wait = contains(gfx12, f.arch) ? "s_barrier_signal -1\ns_barrier_wait -1\n" : "s_barrier\n";
      const std::string flag = std::string(f.store) + " v0, v0, s[2:3] " + f.flag_store,
                        data = std::string(f.store) + " v0, v0, s[2:3] offset:1024\n",
                        take = std::string(f.load) + " v2, v0, s[2:3] " + f.flag_load + "\n" + f.load +
                               " v3, v0, s[2:3] offset:1024";
      const auto code = std::make_shared<CheckedCode>(
          f.arch, Programs{(barrier ? wait : "s_nop 0\n") + flag, data + (barrier ? wait : ""), take});
      CheckedGroup first(code, 0, 2, only_races, &launch, 0), second(code, 2, 1, only_races, &launch, 1);
      first.set_address(2, memory.data());
      second.set_address(2, memory.data());
      EXPECT_EQ(first.run({1, 0, 1, 0}), "");
      const std::string found = second.run({0});
      if (barrier) EXPECT_EQ(found, "") << name(f.arch);
      else EXPECT_RACE(found);
    }
}

TEST(GlobalRaces, TheFirstLoadOfASwapLoopIsNoFinding) {
  const std::string loop =
      "global_load_dword v5, v0, s[2:3]\nagain:\nv_add_u32 v4, v5, v1\nglobal_atomic_cmpswap v6, v0, v[4:5], s[2:3] "
      "glc\nv_cmp_ne_u32 vcc, v6, v5\nv_mov_b32 v5, v6\ns_cbranch_vccnz again";
  EXPECT_EQ(between_groups(Arch::gfx90a, loop, loop), "");
  EXPECT_RACE(between_groups(Arch::gfx90a, "global_atomic_add v0, v1, s[2:3]", "global_load_dword v5, v0, s[2:3]"));
}

// More workgroups load a piece of memory than are recorded. The next store still races with one of them. A store of a
// group that has loaded the piece too races with another group's load.
TEST(GlobalRaces, ManyLoadThenOneStores) {
  for (const bool has_loaded : {false, true}) {
    const Global memory;
    RaceLaunch launch;
    const std::string load = "global_load_dword v2, v0, s[2:3]\n", store = "global_store_dword v0, v1, s[2:3] offset:4";
    const auto code = std::make_shared<CheckedCode>(Arch::gfx942, Programs{load, (has_loaded ? load : "") + store});
    std::vector<std::unique_ptr<CheckedGroup>> groups;
    for (unsigned n = 0; n < 9; ++n) {
      groups.push_back(std::make_unique<CheckedGroup>(code, n == 8, 1, only_races, &launch, n));
      groups.back()->set_address(2, memory.data());
      const std::string found = groups.back()->run({0});
      if (n < 8) EXPECT_EQ(found, "");
      else
        EXPECT_TRUE(begins(found, "data race at address 0x") && found.find("store by wave 0") != found.npos) << found;
    }
  }
}

// A run across the border of two pages of memory.
TEST(GlobalRaces, AcrossPages) {
  const std::string wide = "v_lshlrev_b32 v8, 2, v0\nv_add_u32 v8, 0xe08, v8\n";  // 3592..4615: lane 31 on both sides
  const std::string store = wide + "global_store_dwordx4 v8, v[4:7], s[2:3]";
  for (const unsigned byte : {4095U, 4096U, 4615U})
    EXPECT_RACE(between_groups(Arch::gfx942, store,
                               "v_mov_b32 v8, " + std::to_string(byte) + "\nglobal_load_ubyte v2, v8, s[2:3]"));
  for (const unsigned byte : {4616U})
    EXPECT_EQ(between_groups(Arch::gfx942, store,
                             "v_mov_b32 v8, " + std::to_string(byte) + "\nglobal_load_ubyte v2, v8, s[2:3]"),
              "");
}

TEST(GlobalRaces, AnotherLaunchIsOrdered) {
  const Global memory;
  for (unsigned n = 0; n < 2; ++n) {
    CheckedGroup group(Arch::gfx942, {"global_store_dword v0, v1, s[2:3]"}, only_races);
    group.set_address(2, memory.data());
    group.wave(0).row(1)[3] = n;
    EXPECT_EQ(group.run({0}), "");
  }
}

}  // namespace
}  // namespace rapt::sim::test
