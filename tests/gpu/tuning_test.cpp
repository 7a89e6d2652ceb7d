// Tuning tables: their grammar and its errors, the shipped tables, and the places of a user's rows.
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
      Tuning::parse(text, "t", Tuning::Extent::whole);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("backward use=smallest by=x"),
            "t line 1: 'backward' is not a stage, must be one of forward, split, split_combine, backward_dq, "
            "backward_dkv, backward_fused, backward_dq_round, backward_dbias, backward_dsink");
  EXPECT_EQ(error("\nforward by=x"), "t line 2: use= is missing");
  EXPECT_EQ(error("forward use=smallest"), "t line 1: by= is missing: how the row was obtained");
  EXPECT_EQ(error("forward dtype=fp8 use=k by=x"), "t line 1: dtype 'fp8' must be fp16, bf16 or fp32");
  EXPECT_EQ(error("forward mask=some use=k by=x"), "t line 1: mask 'some' must be none, causal or window");
  EXPECT_EQ(error("forward groups>=many use=k by=x"), "t line 1: 'many' must be a number above 0, up to 1e9");
  EXPECT_EQ(error("forward rows<1e10 use=k by=x"), "t line 1: '1e10' must be a number above 0, up to 1e9");
  EXPECT_EQ(error("forward rows>=9 rows<9 use=k by=x"), "t line 1: no number is within rows>= and rows<");
  EXPECT_EQ(error(std::string("forward use=k\0 by=x", 20)), "t line 1 has a byte of 0, must be text");
  EXPECT_EQ(error("\xEF\xBB\xBF# a comment\nforward use=smallest by=x"), "");
  EXPECT_EQ(error("forward head_dim=9..3 use=k by=x"), "t line 1: head_dim '9..3' must be LEAST..MOST");
  EXPECT_NE(error("forward speed=9 use=k by=x").find("'speed=9' is unknown"), std::string::npos);
  EXPECT_NE(error("forward dtype=bf16 use=smallest by=x").find("the last row of forward must match every problem"),
            std::string::npos);
  EXPECT_EQ(error("forward dtype= use=k by=x"), "t line 1: dtype= must be some of fp16, bf16 and fp32");
  EXPECT_EQ(error("forward mask= use=k by=x"), "t line 1: mask= must be some of none, causal and window");
  EXPECT_EQ(error("forward use=k use=smallest by=x"), "t line 1: 'use=' is given twice");
  EXPECT_EQ(error("forward use=forward by=x"), "t line 1: use=forward is for rows of split");
  EXPECT_EQ(error("forward use=apart by=x"), "t line 1: use=apart is for rows of backward_fused");
  EXPECT_EQ(error("backward_fused groups<2 use=backward_dq.d64.bf16.plain.k64w4 by=x"),
            "t line 1: groups are those of the kernel that the row names, use=backward_dq.d64.bf16.plain.k64w4 names "
            "none of its stage");
  EXPECT_NE(error("split groups>=2 use=forward by=x").find("groups are those of the kernel"), std::string::npos);
  EXPECT_NE(error("split rows>=17 use=forward by=x").find("the last row of split must match"), std::string::npos);
  EXPECT_EQ(error("# none\n"), "");
  EXPECT_EQ(error("forward use=smallest by=rule\n"), "");
}

TEST(Tuning, ShippedTables) {
  size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RAPT_TUNING_FOLDER)) {
    const std::string name = entry.path().filename();
    if (name == "README.md") continue;
    EXPECT_NE(find_architecture(name), nullptr) << name;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_FALSE(Tuning::parse(text, name, Tuning::Extent::whole).rows.empty()) << name;
    ++tables;
  }
  EXPECT_EQ(tables, std::size(architectures::kTable));
}

TEST(Tuning, UsersRows) {
  const auto folder = std::filesystem::temp_directory_path() / ("rapt_tuning_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "gfx942") << "forward dtype=bf16 use=k64w8 by=me\n";
  setenv("RAPT_TUNING", folder.c_str(), 1);
  EXPECT_EQ(Tuning::of_user("gfx942").rows.size(), 1u);
  EXPECT_TRUE(Tuning::of_user("gfx1100").rows.empty());
  setenv("RAPT_TUNING", (folder / "gfx942").c_str(), 1);
  EXPECT_EQ(Tuning::of_user("gfx1100").rows.at(0).where, (folder / "gfx942").string() + " line 1");
  setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  std::filesystem::create_directories(folder / "rapt" / "tuning");
  std::ofstream(folder / "rapt" / "tuning" / "gfx942") << "forward use=largest by=settings\n";
  EXPECT_EQ(Tuning::of_user("gfx942").rows.at(1).by, "settings");  // the rows of RAPT_TUNING come first
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
