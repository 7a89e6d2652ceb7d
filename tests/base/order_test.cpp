// The order in which workgroups take tiles.
#include "kernels/common/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using rapt::Grid;
using rapt::Turn;

std::vector<Turn> turns(const Grid& grid) {
  std::vector<Turn> all;
  for (int n = 0; n < grid.tiles * grid.heads; ++n) all.push_back(turn_of(grid, n));
  return all;
}

// The turns of one XCD's workgroups, in order.
std::vector<Turn> of_xcd(const Grid& grid, int xcd) {
  std::vector<Turn> own;
  const std::vector<Turn> all = turns(grid);
  for (size_t n = static_cast<size_t>(xcd); n < all.size(); n += static_cast<size_t>(grid.xcds)) own.push_back(all[n]);
  return own;
}

TEST(Order, EachTileHasOneWorkgroup) {
  for (const int xcds : {1, 2, 8})
    for (const int heads : {1, 3, 8, 12, 19, 64})
      for (const int tiles : {1, 2, 7, 16})
        for (const int at_once : {0, 1, 3, 100})
          for (const int units : {0, 1, 5, 38, 1000}) {
            const Grid grid{tiles, heads, xcds, at_once, units};
            std::vector<bool> taken(static_cast<size_t>(tiles) * static_cast<size_t>(heads));
            for (const Turn& turn : turns(grid)) {
              ASSERT_TRUE(turn.head >= 0 && turn.head < heads && turn.tile >= 0 && turn.tile < tiles);
              const size_t at = static_cast<size_t>(turn.head * tiles + turn.tile);
              ASSERT_FALSE(taken[at]) << xcds << ' ' << heads << ' ' << tiles << ' ' << at_once << ' ' << units;
              taken[at] = true;
            }
          }
}

TEST(Order, HeadsStayOnTheirXcdAndTheOthersComeFirst) {
  const Grid grid{4, 19, 8, 100, 0};  // two heads for each XCD, and three more
  for (int xcd = 0; xcd < 8; ++xcd) {
    const std::vector<Turn> own = of_xcd(grid, xcd);
    const auto left_over = [](const Turn& turn) { return turn.head >= 16; };
    EXPECT_TRUE(std::is_partitioned(own.begin(), own.end(), left_over)) << xcd;
    std::vector<int> heads;
    for (const Turn& turn : own)
      if (!left_over(turn)) heads.push_back(turn.head);
    std::sort(heads.begin(), heads.end());
    EXPECT_EQ(heads.size(), 8U) << xcd;
    EXPECT_EQ(heads.front() % 2, 0) << xcd;
    EXPECT_EQ(heads.back(), heads.front() + 1) << xcd;
  }
}

TEST(Order, TheLongestComesFirst) {
  const std::vector<Turn> own = of_xcd({8, 64, 8, 100, 0}, 3);
  EXPECT_TRUE(std::is_sorted(own.begin(), own.end(), [](Turn a, Turn b) { return a.tile < b.tile; }));
}

// 64 workgroups on 38 units, of 1 to 8 lengths: tile t is 8 - t long.
TEST(Order, TheShortestRunsBesideTheLongest) {
  const auto longest_unit = [](int units_known) {
    const std::vector<Turn> own = of_xcd({8, 64, 8, 100, units_known}, 0);
    std::vector<int> units(38);
    for (size_t n = 0; n < own.size(); ++n) units[n % units.size()] += 8 - own[n].tile;
    return *std::max_element(units.begin(), units.end());
  };
  EXPECT_EQ(longest_unit(0), 12);
  EXPECT_EQ(longest_unit(38), 9);
}

}  // namespace
