// Whole launches, and what is forecast of them.
#include "sim/device/occupancy.hpp"
#include "sim/tests/support/programs/attention.hpp"
#include "sim/tests/support/timed_code.hpp"
#include "sim/timing/accuracy.hpp"
#include "sim/timing/device_addresses.hpp"
#include "sim/timing/launch_time.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Forecast;

const Chip& mi300x() { return *timing::find_chip(Arch::gfx942, "mi300x"); }

constexpr std::uint64_t no_launch = 0, all_launches = ~std::uint64_t{0};  // are timed whole

Forecast time(Attention& attention, const Chip& chip, bool sample_only, std::uint64_t whole = no_launch) {
  attention.time({&chip, sample_only, whole});
  return *attention.run().forecast;
}

TEST(TimedLaunch, ASampleTakesAsLongWhereTheOthersRunToo) {
  for (const Chip& chip : timing::chips()) {
    if (chip.arch == Arch::gfx906) continue;  // without matrix products it takes as long as all others
    Attention attention(chip.arch, 512, 8);
    const Forecast whole = time(attention, chip, false), sample = time(attention, chip, true);
    EXPECT_EQ(sample.microseconds, whole.microseconds) << chip.name;
    EXPECT_LT(attention.error().out, 0.01) << "what ran whole is right";
  }
}

TEST(TimedLaunch, ASampleTakesAsLongAsAllGroups) {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx1100}) {
    const Chip& chip = *timing::find_chip(arch);
    const unsigned groups_of_a_head = is_cdna(chip.arch) ? 1 : 2;
    Attention attention(chip.arch, 256, 110 / groups_of_a_head * chip.dies);
    const Forecast sample = time(attention, chip, true), all = time(attention, chip, true, all_launches);
    EXPECT_LT(sample.timed_groups, all.timed_groups) << chip.name;
    EXPECT_EQ(all.timed_groups * chip.dies, all.groups) << chip.name;
    EXPECT_NEAR(sample.microseconds / all.microseconds, 1, 0.05) << chip.name;
  }
}

// One group at a time on each unit. Causal: the tile index is fastest.
TEST(TimedLaunch, ASampleTakesAsLongAsAllGroupsOfOtherLengthsAndOfOneMoreRound) {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942}) {
    const Chip& chip = *timing::find_chip(arch);
    Module module(arch, R"(
      extern "C" __global__ void loop(unsigned* to, unsigned tiles) {
        __shared__ unsigned most_of_the_lds[12200];
        const unsigned group = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x();
        const unsigned rounds = 200 * (tiles == 0 ? 1 : tiles - group % tiles);
        most_of_the_lds[lane] = rounds;
        for (unsigned n = 0; n < rounds; ++n) asm volatile("s_nop 0");
        to[group] = most_of_the_lds[lane ^ 1];
      })");
    const Buffer<unsigned> to(8000);
    const auto clocks = [&](unsigned groups, unsigned tiles, std::uint64_t whole) {
      module.time({&chip, true, whole});
      return module.launch("loop", {groups, 1, 1}, {64, 1, 1}, 0, to.data(), tiles).forecast->clocks;
    };
    const unsigned one_more = 5 * chip.dies * chip.units_per_die + 1;
    EXPECT_NEAR(clocks(one_more, 0, no_launch) / clocks(one_more, 0, all_launches), 1, 0.05) << chip.name;
    for (const unsigned tiles : {12U, 16U, 40U})
      EXPECT_NEAR(clocks(chip.dies * 480, tiles, no_launch) / clocks(chip.dies * 480, tiles, all_launches), 1, 0.05)
          << chip.name << ' ' << tiles;
  }
}

// One group of 101 works ten thousand times as long as the others: the sample may have none of these, or several.
TEST(TimedLaunch, ASampleThatSaysTooLittleIsRefused) {
  Module module(Arch::gfx942, R"(
    extern "C" __global__ void rare(unsigned* at, unsigned every) {
      const unsigned rounds = __builtin_amdgcn_workgroup_id_x() % 101 == every ? 10000 : 1;
      unsigned value = 0;
      for (unsigned n = 0; n < rounds; ++n) value = value * 3 + at[0];
      at[1] = value;
    })");
  const Buffer<unsigned> at(std::vector<unsigned>{1, 0});
  module.time({&mi300x(), true, no_launch});
  unsigned refused = 0;
  for (unsigned every = 0; every < 100; every += 10) {
    try {
      module.launch("rare", {40000, 1, 1}, {64, 1, 1}, 0, at.data(), every);
    } catch (const Fault& fault) {
      EXPECT_NE(std::string(fault.what()).find("rare cannot be timed from a sample: the mean length of "),
                std::string::npos)
          << fault.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 0U);
}

TEST(Accuracy, IsAGuessWhereNothingWasMeasured) {
  const timing::Accuracy known = timing::accuracy_of(mi300x());
  const timing::Accuracy guess = timing::accuracy_of(*timing::find_chip(Arch::gfx1100));
  EXPECT_GT(known.rows, 0U);
  EXPECT_EQ(guess.rows, 0U);
  EXPECT_GT(guess.high(100) - guess.low(100), known.high(100) - known.low(100));
  EXPECT_EQ(guess.high(100), 200);
}

TEST(TimedLaunch, IsTheSameEachTime) {
  Attention attention(Arch::gfx942, 512, 4);
  const Forecast first = time(attention, mi300x(), true), again = time(attention, mi300x(), true);
  EXPECT_EQ(first.clocks, again.clocks);
  EXPECT_EQ(first.instructions, again.instructions);
}

TEST(TimedLaunch, AnEmptyKernelTakesTheLaunchAlone) {
  Module module(Arch::gfx942, R"(extern "C" __global__ void empty() {})");
  module.time({&mi300x(), false});
  const Forecast forecast = *module.launch("empty", {8, 1, 1}, {64, 1, 1}, 0).forecast;
  EXPECT_NEAR(forecast.microseconds, mi300x().launch_microseconds, 0.1);
  EXPECT_EQ(forecast.matrix_share, 0);
  EXPECT_EQ(forecast.vector_share, 0);
}

// By the order in which allocations are touched, not by where the host has them.
TEST(DeviceAddresses, AreTheSameInEveryRun) {
  const unsigned line = mi300x().line_bytes;
  const Buffer<unsigned char> small(5000), large(3 << 20), other(100);
  const auto line_of = [&](const Buffer<unsigned char>& buffer, std::uint64_t at) {
    return reinterpret_cast<std::uint64_t>(buffer.data()) / line + at;
  };
  const auto moved = [&](const Buffer<unsigned char>& first, const Buffer<unsigned char>& second) {
    timing::DeviceAddresses addresses(line);
    timing::GroupTrace a, b;
    a.waves.resize(2);
    a.waves[0].lines = {line_of(first, 2), line_of(second, 0), timing::private_memory / line};
    a.waves[1].lines = {line_of(second, 0)};
    b.waves.resize(1);
    b.waves[0].lines = {line_of(other, 0), line_of(first, 0)};
    addresses.move(a);
    addresses.move(b);
    a.waves[0].lines.insert(a.waves[0].lines.end(), a.waves[1].lines.begin(), a.waves[1].lines.end());
    a.waves[0].lines.insert(a.waves[0].lines.end(), b.waves[0].lines.begin(), b.waves[0].lines.end());
    return a.waves[0].lines;
  };
  const std::uint64_t large_page = (2 << 20) / line, own = timing::private_memory / line;
  using Lines = std::vector<std::uint64_t>;
  EXPECT_EQ(moved(small, large), (Lines{2, large_page, own, large_page, 3 * large_page, 0}));
  EXPECT_EQ(moved(large, small), (Lines{2, 2 * large_page, own, 2 * large_page, 3 * large_page, 0}));
}

TEST(TimedLaunch, MoreWorkThanUnitsTakesLonger) {
  Attention small(Arch::gfx942, 512, 1), large(Arch::gfx942, 512, 400);
  const Forecast one = time(small, mi300x(), true), many = time(large, mi300x(), true);
  EXPECT_GT(many.clocks, 1.5 * one.clocks);
  EXPECT_LT(many.clocks, 400 * one.clocks / 38);
  EXPECT_LT(many.timed_groups, many.groups);
}

// Three groups of 40 KB fit in two compute units with 64 KiB of LDS each if both are used as one, but only two if each
// is alone.
TEST(TimedLaunch, AGroupMayBeBoundToOneComputeUnit) {
  const auto groups = [](const std::string& flags, bool bound) {
    const auto code = compile(Arch::gfx1100, "extern \"C\" __global__ void none() {}", "-O3 " + flags);
    const auto object = CodeObject::load(code, Arch::gfx1100, 0);
    const Kernel& kernel = object->kernels().front();
    EXPECT_EQ(on_one_unit(kernel, properties(Arch::gfx1100)), bound);
    return groups_per_multiprocessor(kernel, properties(Arch::gfx1100), 64, 40000);
  };
  EXPECT_EQ(groups("", false), 3U);
  EXPECT_EQ(groups("-mcumode", true), 2U);
}

TEST(TimedLaunch, VectorInstructionsDrawPowerToo) {
  const auto mhz = [](double vector_power) {
    Chip chip = mi300x();
    chip.sustained_matrix_share = 0.01;
    chip.vector_power = vector_power;
    Attention attention(Arch::gfx942, 512, 8);
    return time(attention, chip, true).clock_mhz;
  };
  const double without = mhz(0), with = mhz(0.5);
  EXPECT_LT(without, mi300x().clock_mhz);
  EXPECT_LT(with, 0.95 * without);
}

// Every fourth unit of a die reads, as fast as its share of the memory allows.
TEST(TimedLaunch, UnitsThatWantNoMemoryLeaveTheirShareToOthers) {
  Module module(Arch::gfx942, R"(
    typedef float Four __attribute__((ext_vector_type(4)));
    extern "C" __global__ void read(const Four* from, Four* to, unsigned every) {
      const unsigned group = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x();
      if (group / 8 % every != 0) return;
      Four sum{};
      for (unsigned n = 0; n < 64; ++n) sum += from[(group * 64 + n) * 256 + lane];
      to[group * 256 + lane] = sum;
    })");
  constexpr unsigned groups = 304;
  const Buffer<float> from(std::vector<float>(groups * 64 * 256 * 4)), to(std::vector<float>(groups * 256 * 4));
  module.time({&mi300x(), true});
  const auto clocks = [&](unsigned every) {
    return module.launch("read", {groups, 1, 1}, {256, 1, 1}, 0, from.data(), to.data(), every).forecast->clocks;
  };
  const double all = clocks(1), quarter = clocks(4);
  EXPECT_LT(quarter, 0.5 * all);
}

// Eight groups more than there are units, each as fast as its share of the memory allows.
TEST(TimedLaunch, TheLastGroupsHaveTheMemoryToThemselves) {
  Module module(Arch::gfx942, R"(
    typedef float Four __attribute__((ext_vector_type(4)));
    extern "C" __global__ void read(const Four* from, Four* to) {
      __shared__ float most_of_the_lds[12000];
      const unsigned group = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x();
      Four sum{};
      for (unsigned n = 0; n < 64; ++n) sum += from[(group * 64 + n) * 256 + lane];
      most_of_the_lds[lane] = sum[0];
      to[group * 256 + lane] = sum + most_of_the_lds[lane ^ 1];
    })");
  const Buffer<float> from(std::vector<float>(312 * 64 * 256 * 4)), to(std::vector<float>(312 * 256 * 4));
  module.time({&mi300x(), true, all_launches});
  const auto clocks = [&](unsigned groups) {
    return module.launch("read", {groups, 1, 1}, {256, 1, 1}, 0, from.data(), to.data()).forecast->clocks;
  };
  const double one_round = clocks(304), more = clocks(312);
  EXPECT_GT(more, 1.1 * one_round);
  EXPECT_LT(more, 1.5 * one_round);
}

// A launch ends when its stores have arrived, and so do its workgroups, with an s_waitcnt or without.
TEST(TimedLaunch, EndsWithItsLastStore) {
  Module module(Arch::gfx942, R"(
    typedef float Four __attribute__((ext_vector_type(4)));
    extern "C" __global__ void stores(Four* to) {
      for (unsigned n = 0; n < 64; ++n) to[(BID * 64 + n) * 256 + TID] = Four{};
    }
    extern "C" __global__ void atomics(unsigned* to) {
      for (unsigned n = 0; n < 256; ++n)
        __hip_atomic_fetch_add(to + (BID * 256 + n) * 256 + TID, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
    extern "C" __global__ void one_store(float* to, unsigned waits) {
      __shared__ float most_of_the_lds[12000];
      most_of_the_lds[TID] = waits;
      SYNC();
      to[BID * 64 + TID] = most_of_the_lds[TID ^ 1];
      if (waits) __builtin_amdgcn_s_waitcnt(0);
})");
  constexpr unsigned units = 304, group_bytes = 64 * 256 * 16;
  const Buffer<float> to(std::vector<float>(2 * units * group_bytes / sizeof(float)));
  module.time({&mi300x(), true, all_launches});
  const auto clocks = [&](const char* name, unsigned rounds, unsigned threads, const auto&... more) {
    return module.launch(name, {rounds * units, 1, 1}, {threads, 1, 1}, 0, to.data(), more...).forecast->clocks;
  };
  const double per_clock = mi300x().memory_efficiency * mi300x().memory_gigabytes * 1000 / mi300x().clock_mhz;
  const double round = units * group_bytes / per_clock;
  EXPECT_NEAR((clocks("stores", 2, 256) - clocks("stores", 1, 256)) / round, 1, 0.02);
  EXPECT_NEAR((clocks("atomics", 2, 256) - clocks("atomics", 1, 256)) / round, 2, 0.04) << "there and back";

  EXPECT_NEAR(clocks("one_store", 1, 64, 1U), clocks("one_store", 1, 64, 0U), 32);
  EXPECT_NEAR(clocks("one_store", 2, 64, 1U), clocks("one_store", 2, 64, 0U), 64);
}

// Every second group reads, on every second die or on all. The others compute, or do nothing at all.
TEST(TimedLaunch, IsNoFasterThanMemory) {
  Module module(Arch::gfx942, R"(
    typedef float Four __attribute__((ext_vector_type(4)));
    extern "C" __global__ void alternate(const Four* from, Four* to, unsigned dies, unsigned stores) {
      if (BID / dies % 2 != 0) {
        const unsigned reader = BID / dies / 2 * dies + BID % dies;
        Four sum{};
        for (unsigned n = 0; n < 16; ++n) sum += from[(reader * 16 + n) * 256 + TID];
        if (sum[0] == 1) to[TID] = sum;
      } else if (stores) {
        to[BID * 256 + TID] = Four{};
      }
    })");
  constexpr unsigned groups = 4864, group_bytes = 16 * 256 * 16;
  const Buffer<float> from(std::vector<float>(groups / 2 * group_bytes / sizeof(float)));
  const Buffer<float> to(std::vector<float>(groups * 256 * 4));
  const double per_clock = mi300x().memory_efficiency * mi300x().memory_gigabytes * 1000 / mi300x().clock_mhz;
  module.time({&mi300x(), true, no_launch});
  for (const unsigned dies : {1U, 2U, 4U, 8U})
    for (const unsigned stores : {0U, 1U}) {
      const double bytes = groups / 2.0 * (group_bytes + stores * 256 * 16);
      const auto run = [&] {
        return module.launch("alternate", {groups, 1, 1}, {256, 1, 1}, 0, from.data(), to.data(), dies, stores);
      };
      const double clocks = run().forecast->clocks;
      EXPECT_GT(clocks, 0.98 * bytes / per_clock) << dies << ' ' << stores;
      EXPECT_LT(clocks, 1.3 * bytes / per_clock) << dies << ' ' << stores;
    }
}

// The groups that are resident at first load nothing.
TEST(TimedLaunch, LaterGroupsReadFromMemoryToo) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx1100}) {
    const Chip& chip = *timing::find_chip(arch);
    Module module(arch, R"(
      typedef float Four __attribute__((ext_vector_type(4)));
      extern "C" __global__ void second_half(const Four* from, Four* to, unsigned half) {
        if (BID < half) return;
        Four sum{};
        for (unsigned n = 0; n < 8; ++n) sum += from[((BID - half) * 8 + n) * 256 + TID];
        if (sum[0] == 1) to[TID] = sum;
      })");
    constexpr unsigned half = 3000;
    const double bytes = half * 8.0 * 256 * 16;
    const Buffer<float> from(std::vector<float>(half * 8 * 256 * 4)), to(std::vector<float>(256 * 4));
    module.time({&chip, true});
    const Forecast forecast =
        *module.launch("second_half", {2 * half, 1, 1}, {256, 1, 1}, 0, from.data(), to.data(), half).forecast;
    EXPECT_GT(forecast.microseconds, bytes / 1000 / chip.memory_gigabytes) << chip.name;
  }
}

// A timed unit begins with groups of one kind: sixteen that compute, of 84 that are timed.
TEST(TimedLaunch, ASampleWithTooFewGroupsThatReadKnowsIt) {
  const Chip& chip = *timing::find_chip(Arch::gfx1100);
  Module module(chip.arch, R"(
    typedef float Four __attribute__((ext_vector_type(4)));
    extern "C" __global__ void alternate(const Four* from, Four* to) {
      Four sum{};
      if (BID % 2 != 0) for (unsigned n = 0; n < 32; ++n) sum += from[(BID / 2 * 32 + n) * 256 + TID];
      else for (unsigned n = 0; n < 200; ++n) asm volatile("s_nop 0");
      if (sum[0] == 1) to[TID] = sum;
    })");
  const Buffer<float> from(std::vector<float>(1000 * 32 * 256 * 4)), to(std::vector<float>(256 * 4));
  const auto clocks = [&](std::uint64_t whole) {
    module.time({&chip, true, whole});
    return module.launch("alternate", {2000, 1, 1}, {256, 1, 1}, 0, from.data(), to.data()).forecast->clocks;
  };
  EXPECT_NEAR(clocks(no_launch) / clocks(all_launches), 1, 0.15);
}

// Lengths that repeat as the dies do, as in causal grids whose tile index is fastest, and other lengths.
TEST(TimedLaunch, EndsWithTheSlowestDie) {
  Module module(Arch::gfx942, R"(
    extern "C" __global__ void loop(unsigned* to, unsigned kind) {
      const unsigned group = __builtin_amdgcn_workgroup_id_x();
      unsigned rounds = 400;
      if (kind == 1) rounds = 400 + group % 8 * 40;
      if (kind == 2) rounds = 680 - group % 8 * 40;
      if (kind == 3) rounds = 20 + 380 * ((group * 2654435761u >> 16) % 2);
      if (kind == 4) rounds = group % 8 == 0 ? 0 : 1000;
      for (unsigned n = 0; n < rounds; ++n) asm volatile("s_nop 0");
      to[group] = rounds;
    })");
  const Buffer<unsigned> to(30400);
  module.time({&mi300x(), true});
  const auto forecast = [&](unsigned kind, unsigned groups = 30400) {
    return *module.launch("loop", {groups, 1, 1}, {256, 1, 1}, 0, to.data(), kind).forecast;
  };
  const Forecast same = forecast(0), rising = forecast(1), falling = forecast(2), random = forecast(3);
  EXPECT_EQ(same.slowest_die, 0);
  EXPECT_EQ(falling.slowest_die, 0);
  EXPECT_NEAR(rising.slowest_die, 280.0 / 400, 0.05);
  EXPECT_NEAR(rising.clocks / falling.clocks, 1, 0.05);
  EXPECT_NEAR(forecast(1, 304).slowest_die, 280.0 / 400, 0.05) << "all resident at once";
  EXPECT_LT(random.slowest_die, 0.05);
  EXPECT_EQ(forecast(4).slowest_die, 1) << "at most";
}

// A group that no sample has is longer than all others.
TEST(TimedLaunch, EveryGroupOfASmallLaunchIsTimed) {
  Module module(Arch::gfx942, R"(
    extern "C" __global__ void loop(unsigned* to, unsigned longest, unsigned rounds, unsigned most) {
      const unsigned group = __builtin_amdgcn_workgroup_id_x();
      for (unsigned n = 0; n < (group == longest ? most : rounds); ++n) asm volatile("s_nop 0");
      to[group] = rounds;
    })");
  const Buffer<unsigned> to(1100);
  const auto forecast = [&](bool sample, std::uint64_t whole) {
    module.time({&mi300x(), sample, whole});
    return *module.launch("loop", {1100, 1, 1}, {256, 1, 1}, 0, to.data(), 8 * 77U, 20U, 1000U).forecast;
  };
  const Forecast all = forecast(true, all_launches), part = forecast(true, 40000);
  EXPECT_EQ(all.timed_groups, 138U);
  EXPECT_GT(all.clocks, 1000 * 8);
  EXPECT_EQ(forecast(true, 1 << 24).clocks, all.clocks);
  EXPECT_EQ(forecast(false, 1 << 24).clocks, all.clocks) << "where the others run too";
  EXPECT_LT(part.timed_groups, 138U);
  EXPECT_EQ(part.clocks, forecast(true, no_launch).clocks) << "whatever ran before it was too much";
  EXPECT_EQ(part.clocks, forecast(false, 20000).clocks);
}

}  // namespace
}  // namespace rapt::sim::test
