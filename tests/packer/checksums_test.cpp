// Rows of a tuning table whose kernels are other code than the archive's.
#include <gtest/gtest.h>

#include "made_up.hpp"
#include "packer/checksums.hpp"
#include "packer/pack.hpp"

namespace rapt::archive {
namespace {

const std::string kName = "forward.d64.bf16.plain.k64w4";

TEST(Checksums, StaleRowsAreNamed) {
  const std::map<std::string, uint32_t> kernels = {{kName, 0x0123abcd}};
  EXPECT_TRUE(stale_rows("forward use=" + kName + ":0123abcd by=x\n", kernels).empty());
  EXPECT_TRUE(stale_rows("forward use=absent.d64.bf16.plain.k64w4:00000000 by=x\n", kernels).empty());
  EXPECT_TRUE(stale_rows("# forward use=" + kName + ":00000000 by=x\n", kernels).empty());
  EXPECT_TRUE(stale_rows("forward use=" + kName + " by=x\n", kernels).empty());
  const std::vector<std::string> stale = stale_rows(
      "# a table\nforward use=other.d64.bf16.plain.k64w4:00000001 against=" + kName + ":00000002\n", kernels);
  ASSERT_EQ(stale.size(), 1u);
  EXPECT_EQ(stale[0], "line 2: " + kName + " has the checksum 0123abcd, the table's row is about 00000002");
}

// The compiler that made the checksums must make the same kernels; any other one packs.
TEST(Checksums, OnlyTheirOwnCompilerFails) {
  const auto packed = [](const std::string& compiler) {
    return pack("manifest", good_rows(),
                {"gfx942",
                 compiler,
                 "# checksums by: clang 1.2\nforward use=" + kName + ":00000000 by=x\n",
                 {{kName, code_object(good_metadata(good_rows()[0]))}}});
  };
  EXPECT_EQ(packed("clang 1.3").stale.size(), 1u);
  EXPECT_EQ(packed("").stale.size(), 1u);
  try {
    packed("clang 1.2");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("line 2: " + kName + " has the checksum "), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace rapt::archive
