// The workgroups of a launch that stand for the others.
#include "sim/tests/support/timed_code.hpp"
#include "sim/timing/lengths.hpp"
#include "sim/timing/plan.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Plan;

// As many as launches have timed and counted; all.
constexpr std::uint64_t most_timed = 96, most_counted = 384, every = ~std::uint64_t{0};

const Chip& mi300x() { return *timing::find_chip(Arch::gfx942, "mi300x"); }

TEST(TimedPlan, EveryGroupOfTheDieHasItsTurnWhereAllUnitsAreTimed) {
  const Plan plan = make_plan(mi300x(), 1000, 2, 1000);
  EXPECT_EQ(plan.first.size(), 38U);
  std::set<std::uint64_t> seen;
  for (const auto& unit : plan.first)
    for (const std::uint64_t group : unit) EXPECT_TRUE(seen.insert(group).second);
  EXPECT_EQ(seen.size(), 76U);
  for (const std::uint64_t group : plan.next) EXPECT_TRUE(seen.insert(group).second);
  EXPECT_EQ(seen.size(), 125U);  // 0, 8, ..., 992
  for (const std::uint64_t group : seen) EXPECT_EQ(group % 8, 0U);
}

TEST(TimedPlan, AFewUnitsStandForTheirDie) {
  const Plan plan = make_plan(mi300x(), 8 * 380, 1, 40);
  EXPECT_EQ(plan.first.size(), 4U);  // 10 groups each
  EXPECT_EQ(plan.next.size(), 36U);
  EXPECT_TRUE(std::is_sorted(plan.next.begin(), plan.next.end()));
  EXPECT_EQ(plan.crowds.size(), 4U);
  EXPECT_EQ(plan.crowds[0].size(), 38U);
  EXPECT_EQ(plan.crowds[1][0], 1U);
}

TEST(TimedPlan, FewGroups) {
  const Plan one = make_plan(mi300x(), 1, 4, 24);
  EXPECT_EQ(one.first, std::vector<std::vector<std::uint64_t>>{{0}});
  EXPECT_TRUE(one.next.empty());
  EXPECT_EQ(one.busy_units, 1U);
  EXPECT_EQ(one.crowds.size(), 1U);
}

// The longest tile of each head comes first, as with causal masks: a sample must not see only some lengths.
TEST(TimedPlan, SeesAllLengths) {
  for (const Chip& chip : timing::chips())
    for (const unsigned tiles : {8U, 16U, 32U, 64U, 128U}) {
      const Plan plan = make_plan(chip, std::uint64_t{64} * tiles * chip.dies, 1, most_timed);
      double length = 0;
      std::size_t groups = plan.next.size();
      for (const std::uint64_t group : plan.next) length += tiles - group / chip.dies % tiles;
      for (const auto& unit : plan.first) {
        groups += unit.size();
        for (const std::uint64_t group : unit) length += tiles - group / chip.dies % tiles;
      }
      EXPECT_NEAR(length / static_cast<double>(groups) / ((tiles + 1) / 2.0), 1, 0.1) << chip.name << ' ' << tiles;
    }
}

timing::Traces of_lengths(std::uint64_t groups, const std::function<std::uint64_t(std::uint64_t)>& length) {
  timing::Traces traces;
  for (std::uint64_t g = 0; g < groups; ++g) traces.emplace_hint(traces.end(), g, timing::GroupTrace{g, length(g), {}});
  return traces;
}

TEST(TimedPlan, HasAsManyRoundsAsTheDie) {
  for (const Chip& chip : timing::chips())
    for (const unsigned groups_per_unit : {1U, 2U, 4U})
      for (const unsigned rounds : {0U, 1U, 2U, 5U, 9U, 12U})
        for (const unsigned more : {1U, 2U, chip.units_per_die - 1, chip.units_per_die + 1}) {
          const std::uint64_t groups = chip.dies * (rounds * groups_per_unit * chip.units_per_die + more);
          if (groups == 0) continue;  // a chip of one unit
          const timing::Traces same = of_lengths(groups, [](std::uint64_t) { return 1; });
          EXPECT_EQ(busy_length(make_plan(chip, groups, groups_per_unit, most_timed), same),
                    busy_length(make_plan(chip, groups, groups_per_unit, every), same))
              << chip.name << ' ' << groups << ' ' << groups_per_unit;
        }
}

TEST(TimedPlan, AUnitWithOneGroupMoreThanOthersIsTimed) {
  const Plan plan = make_plan(*timing::find_chip(Arch::gfx90a), 2 * 110 + 1, 8, most_timed);
  EXPECT_EQ(std::count_if(plan.first.begin(), plan.first.end(), [](const auto& unit) { return unit.size() == 3; }), 1);
}

// Whichever is fastest, tile or head, and whether long or short tiles come first, or both in turn.
TEST(TimedPlan, CountsEnoughGroupsOfCausalGrids) {
  for (const Chip& chip : timing::chips()) {
    unsigned grids = 0, good = 0;
    for (const unsigned tiles : {8U, 12U, 16U, 32U, 50U, 64U, 128U})
      for (const unsigned heads : {4U, 8U, 12U, 16U, 30U, 40U, 64U})
        for (unsigned order = 0; order < 5; ++order) {
          const std::uint64_t groups = std::uint64_t{tiles} * heads;
          const timing::Traces traces = of_lengths(groups, [&](std::uint64_t g) {
            const std::uint64_t tile = g % tiles, slow = g / heads;
            const std::uint64_t before[] = {tile, tiles - 1 - tile, slow, tiles - 1 - slow,
                                            tile % 2 == 0 ? tile / 2 : tiles - 1 - tile / 2};
            return before[order] + 1;
          });
          const auto busy = [&](std::uint64_t most) { return busy_length(make_plan(chip, groups, 1, most), traces); };
          ++grids;
          good += std::abs(busy(most_counted) / busy(every) - 1) < 0.05;
        }
    EXPECT_GE(good, 0.95 * grids) << chip.name;
  }
}

Plan plan_of(std::vector<std::vector<std::uint64_t>> first, std::vector<std::uint64_t> next) {
  Plan plan;
  plan.first = std::move(first);
  plan.next = std::move(next);
  return plan;
}

TEST(BusyLength, AGroupIsFasterOnceItsNeighboursHaveEnded) {
  const timing::Traces traces = of_lengths(4, [](std::uint64_t g) { return g == 0 ? 100 : 10; });
  const Plan four = plan_of({{0, 1, 2, 3}}, {});
  EXPECT_DOUBLE_EQ(busy_length(four, traces), 100);
  EXPECT_DOUBLE_EQ(busy_length(four, traces, 3), 10 + 90 / 3.0) << "no faster than alone";
  EXPECT_DOUBLE_EQ(busy_length(four, traces, 8), 10 + 90 / 4.0) << "and no more than the others leave";
  EXPECT_DOUBLE_EQ(busy_length(four, traces, 8, 5), 15 + 90 / 4.0);
}

TEST(BusyLength, GroupsThatBeginAtTheSameTimeAreSpreadOverTheUnits) {
  const timing::Traces traces = of_lengths(6, [](std::uint64_t) { return 10; });
  EXPECT_DOUBLE_EQ(busy_length(plan_of({{0, 1}, {2, 3}}, {4, 5}), traces, 2), 15);
}

TEST(BusyLength, TheGridsEndsAreTakenIfTheyAreLonger) {
  timing::Traces traces = of_lengths(1000, [](std::uint64_t) { return 10; });
  const Plan plan = make_plan(mi300x(), 1000, 1, every), queue = make_plan(mi300x(), 1000, 4, every);
  EXPECT_EQ(with_longer_ends(plan, 1000, traces).groups(), plan.groups());
  traces.at(999).instructions = 50;  // of die 7
  EXPECT_DOUBLE_EQ(busy_length(with_longer_ends(plan, 1000, traces), traces), 30 + 50);
  EXPECT_DOUBLE_EQ(busy_length(with_longer_ends(queue, 1000, traces), traces), 50);
  traces.at(999).instructions = 10;
  traces.at(0).instructions = 70;
  EXPECT_DOUBLE_EQ(busy_length(with_longer_ends(plan, 1000, traces), traces), 70);
}

}  // namespace
}  // namespace rapt::sim::test
