// Tuning tables: their grammar and its errors, the tables that ship, and where a user's rows are looked for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "gpu/tuning.hpp"
#include "kernels/architectures.hpp"

namespace rapt::gpu {
namespace {

TEST(Tuning, ErrorsNameTheLine) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      Tuning::parse(text, "t");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const std::string use =
      "must be a kernel's whole name, or a pass (forward, split, apart, fused, alone) with a shape, such as "
      "forward.largest, split.k32w4 or apart.d256.k32w8";
  EXPECT_EQ(error("sideways use=forward.smallest by=x"), "t line 1: 'sideways' must be forward or backward");
  EXPECT_EQ(error("\nforward by=x"), "t line 2: use= is missing");
  EXPECT_EQ(error("forward use=forward.smallest"), "t line 1: by= is missing: how the row was obtained");
  EXPECT_EQ(error("forward dtype=fp8 use=forward.k by=x"), "t line 1: dtype 'fp8' must be fp16, bf16 or fp32");
  EXPECT_EQ(error("forward mask=some use=forward.k by=x"), "t line 1: mask 'some' must be none, causal or window");
  EXPECT_EQ(error("forward groups>=many use=forward.k by=x"), "t line 1: 'many' must be a number above 0, up to 1e9");
  EXPECT_EQ(error("forward rows<1e10 use=forward.k by=x"), "t line 1: '1e10' must be a number above 0, up to 1e9");
  EXPECT_EQ(error("forward rows>=9 rows<9 use=forward.k by=x"), "t line 1: no number is within rows>= and rows<");
  EXPECT_EQ(error("forward group_rows>=9 group_rows<9 use=forward.k by=x"),
            "t line 1: no number is within group_rows>= and group_rows<");
  EXPECT_EQ(error(std::string("forward use=forward.k\0 by=x", 27)), "t line 1 has a byte of 0, must be text");
  EXPECT_EQ(error("\xEF\xBB\xBF# a comment\nforward use=forward.smallest by=x"), "");
  EXPECT_EQ(error("forward head_dim=9..3 use=forward.k by=x"), "t line 1: head_dim '9..3' must be LEAST..MOST");
  EXPECT_NE(error("forward speed=9 use=forward.k by=x").find("'speed=9' is unknown"), std::string::npos);
  EXPECT_EQ(error("forward dtype= use=forward.k by=x"), "t line 1: dtype= must be some of fp16, bf16 and fp32");
  EXPECT_EQ(error("forward mask= use=forward.k by=x"), "t line 1: mask= must be some of none, causal and window");
  EXPECT_EQ(error("backward deterministic=maybe use=apart.k by=x"),
            "t line 1: deterministic 'maybe' must be yes or no");
  EXPECT_EQ(error("forward use=forward.k use=forward.smallest by=x"), "t line 1: 'use=' is given twice");
  for (const char* bad :
       {"sideways", "sideways.largest", "forward", "forward.", "forward.d64.k32w4:01234567", "a.b.c.d"})
    EXPECT_EQ(error(std::string("forward use=") + bad + " by=x"), std::string("t line 1: '") + bad + "' " + use);
  EXPECT_EQ(error("forward use=apart.largest by=x"), "t line 1: 'apart.largest' is no pass of this row's direction");
  for (const char* bad : {"d", "d99999999999", "d64x", "64", "d0"})
    EXPECT_EQ(error(std::string("forward use=forward.") + bad + ".k64w4 by=x"),
              std::string("t line 1: '") + bad + "' must be a tile, such as d128");
  EXPECT_EQ(error("# none\n"), "");
  EXPECT_EQ(error("forward use=forward.smallest by=rule\n"), "");
  EXPECT_EQ(error("backward dtype=bf16 use=fused.largest by=rule\n"), "");
  EXPECT_EQ(error("forward deterministic=yes use=forward.k by=x"), "t line 1: deterministic= is for rows of backward");
  EXPECT_EQ(error("forward cache=perhaps use=split.k by=x"), "t line 1: cache 'perhaps' must be yes or no");
  EXPECT_EQ(error("backward_dkv anything goes\n"), "");  // of an earlier version: stale
}

TEST(Tuning, ShippedTables) {
  size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RAPT_TUNING_FOLDER)) {
    const std::string name = entry.path().filename();
    if (name == "README.md") continue;
    EXPECT_NE(find_architecture(name), nullptr) << name;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_FALSE(Tuning::parse(text, name).rows.empty()) << name;
    ++tables;
  }
  EXPECT_EQ(tables, std::size(architectures::kTable));
}

// Tables of earlier versions are passed over and named, and stop nothing.
TEST(Tuning, RowsOfEarlierVersionsAreStale) {
  for (const char* row :
       {"split rows>=17 use=forward by=model", "decode use=largest by=model", "forward use=largest by=x",
        "forward groups>=1 use=smallest by=x", "forward use=k64w8 by=x", "forward use=d256.tq64k64w4n2 by=x"})
    EXPECT_NE(Tuning::parse(row, "t").rows.at(0).stale.find("earlier version"), std::string::npos) << row;
  EXPECT_EQ(Tuning::parse("forward use=forward.largest by=x", "t").rows.at(0).stale, "");
}

TEST(Tuning, UsersRows) {
  const auto folder = std::filesystem::temp_directory_path() / ("rapt_tuning_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "gfx942") << "forward dtype=bf16 use=forward.k64w8 by=me\n";
  setenv("RAPT_TUNING", folder.c_str(), 1);
  EXPECT_EQ(Tuning::of_user("gfx942").rows.size(), 1u);
  EXPECT_TRUE(Tuning::of_user("gfx1100").rows.empty());
  setenv("RAPT_TUNING", (folder / "gfx942").c_str(), 1);
  EXPECT_EQ(Tuning::of_user("gfx1100").rows.at(0).where, (folder / "gfx942").string() + " line 1");
  setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  std::filesystem::create_directories(folder / "rapt" / "tuning");
  std::ofstream(folder / "rapt" / "tuning" / "gfx942") << "forward use=forward.largest by=settings\n";
  EXPECT_EQ(Tuning::of_user("gfx942").rows.at(1).by, "settings");  // after RAPT_TUNING's rows
  EXPECT_EQ(Tuning::of_user("gfx1100").rows.size(), 1u);
  setenv("RAPT_TUNING", "none", 1);
  EXPECT_TRUE(Tuning::of_user("gfx942").rows.empty());
  setenv("RAPT_TUNING", (folder / "absent").c_str(), 1);
  EXPECT_THROW(Tuning::of_user("gfx942"), Error);
  unsetenv("RAPT_TUNING");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rapt::gpu
