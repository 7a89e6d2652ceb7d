// Messages about a system that refuses AMX's tiles. tests/cli/amx_test.py has a process that is refused tiles.
#include <gtest/gtest.h>

#include <cerrno>

#include "cpu/cpu.hpp"
#include "cpu/tile_permission.hpp"

namespace rapt::cpu {
namespace {

TEST(TilePermission, RefusalsNameTheirReason) {
  EXPECT_EQ(tiles_refused(0), "");
  EXPECT_NE(tiles_refused(EPERM).find("Operation not permitted"), std::string::npos) << tiles_refused(EPERM);
  EXPECT_NE(tiles_refused(EINVAL).find("virtual machine"), std::string::npos) << tiles_refused(EINVAL);
  EXPECT_NE(tiles_refused(ENOSPC).find("signal stack"), std::string::npos) << tiles_refused(ENOSPC);
}

TEST(TilePermission, ARefusedTierDoesNotRun) {
  for (size_t i = 0; i < tier_count(); ++i)
    EXPECT_TRUE(tier(i).runs_here() ? *tier(i).refused() == '\0' : true) << tier(i).name;
  EXPECT_TRUE(tier(tier_count() - 1).runs_here());
}

}  // namespace
}  // namespace rapt::cpu
