// Archives over the C ABI, as a program sees them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "kernels/archive_format.hpp"
#include "tests/api/program_01.h"
#include "tests/packer/made_up.hpp"
#include "rapt/rapt.hpp"

namespace {

namespace fs = std::filesystem;

class ArchiveApi : public ::testing::Test {
 protected:
  ArchiveApi() : folder_(fs::temp_directory_path() / ("rapt_archive_api." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "gfx942.rapt", std::ios::binary) << rapt::archive::good_archive();
    std::ofstream(folder_ / "gfx90a.rapt", std::ios::binary) << rapt::archive::good_archive();  // under a wrong name
  }
  ~ArchiveApi() override {
    unsetenv("RAPT_KERNEL_PATH");
    fs::remove_all(folder_);
  }
  fs::path folder_;
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const rapt::api::Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(ArchiveApi, ListsInspectsAndExtracts) {
  const rapt::api::Archive archive(folder_.string(), "gfx942");
  EXPECT_EQ(archive.path(), (folder_ / "gfx942.rapt").string());
  EXPECT_EQ(archive.arch(), "gfx942");
  EXPECT_EQ(archive.compiler(), "a compiler");
  ASSERT_EQ(archive.size(), 2U);
  const rapt_kernel kernel = archive.kernel(1);
  EXPECT_STREQ(kernel.name, "forward.d64.bf16.plain.k64w4");
  EXPECT_EQ(kernel.dtype.code, RAPT_BFLOAT);
  EXPECT_EQ(kernel.threads, 256);
  EXPECT_EQ(kernel.waves, 4);
  EXPECT_EQ(kernel.registers, 120);
  EXPECT_EQ(kernel.shared_memory, 16384);
  EXPECT_EQ(kernel.spills, 0);
  EXPECT_STREQ(kernel.vendor, "amd");
  ASSERT_NE(kernel.amd, nullptr);
  EXPECT_EQ(kernel.amd->struct_size, sizeof(rapt_amd_kernel));
  EXPECT_EQ(kernel.amd->agprs, 16);
  EXPECT_EQ(kernel.amd->sgprs, 40);
  EXPECT_EQ(kernel.amd->occupancy, 4);
  const std::vector<char> code = archive.code(1);
  EXPECT_EQ(code.size(), kernel.size);
  EXPECT_EQ(rapt::archive::crc32(code.data(), code.size()), kernel.crc32);
}

TEST_F(ArchiveApi, FindsWhatThePathHas) {
  setenv("RAPT_KERNEL_PATH", folder_.c_str(), 1);
  const auto found = rapt::api::Archive::find();
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0], (folder_ / "gfx90a.rapt").string());
  EXPECT_EQ(found[1], (folder_ / "gfx942.rapt").string());
  EXPECT_EQ(rapt::api::Archive("", "gfx942").path(), (folder_ / "gfx942.rapt").string());
}

TEST_F(ArchiveApi, ANewerCallersStructGetsWhatIsKnown) {
  rapt_archive* raw = nullptr;
  ASSERT_EQ(rapt_archive_open((folder_ / "gfx942.rapt").c_str(), nullptr, &raw), RAPT_OK);
  struct {
    rapt_kernel kernel = {};
    int64_t later = 7;
  } newer;
  newer.kernel.struct_size = sizeof newer;
  EXPECT_EQ(rapt_archive_kernel(raw, 0, &newer.kernel), RAPT_OK);
  EXPECT_STREQ(newer.kernel.name, "forward.d128.fp16.general.k32w8s2");
  EXPECT_EQ(newer.later, 7);
  newer.kernel.struct_size = 0;
  EXPECT_EQ(rapt_archive_kernel(raw, 0, &newer.kernel), RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(rapt_archive_code(raw, 0, nullptr, 0), RAPT_OK);
  char small[8];
  EXPECT_EQ(rapt_archive_code(raw, 0, small, sizeof small), RAPT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rapt_last_error()).find("capacity is 8, kernel forward.d128"), std::string::npos);
  rapt_archive_close(raw);
  rapt_archive_close(nullptr);
}

// The struct's fields are elsewhere: the program is refused by name, before anything is written.
TEST_F(ArchiveApi, AProgramBuiltBefore02IsRefused) {
  int written = -1;
  EXPECT_EQ(describe_kernel_as_01((folder_ / "gfx942.rapt").c_str(), &written), RAPT_UNSUPPORTED);
  EXPECT_EQ(written, 0);
  EXPECT_EQ(
      std::string(rapt_last_error()),
      std::string("kernel.struct_size is 120, the rapt_kernel of Rapt before 0.2, which had other fields: rebuild "
                  "the program with the rapt.h of this Rapt, ") +
          rapt_version_string());
}

TEST_F(ArchiveApi, ErrorsNameWhatIsWrong) {
  using rapt::api::Archive;
  EXPECT_EQ(error_of([&] { Archive(folder_.string(), "gfx90a"); }),
            (folder_ / "gfx90a.rapt").string() + ": has the kernels of gfx942, not of gfx90a");
  EXPECT_EQ(error_of([&] { Archive(folder_.string()); }), folder_.string() + ": not a regular file");
  EXPECT_EQ(error_of([&] { Archive(""); }), "place and arch are both null");
  EXPECT_EQ(error_of([&] { Archive(folder_.string(), "gfx942").kernel(2); }),
            "index is 2, " + (folder_ / "gfx942.rapt").string() + " has 2 kernels");
}

}  // namespace
