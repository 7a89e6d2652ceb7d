#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/atomic_file.hpp"

namespace rapt::common {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(AtomicFile, AppearsWithItsCommitAndNotBefore) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "rapt_atomic_file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder / "file";
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  {
    AtomicFile abandoned(path);
    abandoned.write("text");
  }
  EXPECT_EQ(files(), 0);
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(content_of(path), "old");
    file.commit();
  }
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(files(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rapt::common
