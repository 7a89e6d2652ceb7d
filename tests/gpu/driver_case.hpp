// Shared by the tests of drivers against fake libraries.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "rapt/rapt.hpp"

namespace test {

// A folder with one archive, the only one that is found.
class DriverCase : public ::testing::Test {
 protected:
  DriverCase(rapt_device gpu, const char* file, std::string archive)
      : gpu_(gpu), archive_(folder_ / file), bytes_(std::move(archive)) {}
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream(archive_, std::ios::binary) << bytes_;
    setenv("RAPT_KERNEL_PATH", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Expects an error with this status that says all of these texts.
  template <class Body>
  static void refused(rapt_status status, const Body& body, std::initializer_list<const char*> says) {
    try {
      body();
      ADD_FAILURE() << "was not refused";
    } catch (const rapt::Error& e) {
      EXPECT_EQ(e.status(), status) << e.what();
      for (const char* part : says) EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }

  // One small forward call; the fake library takes any memory for its own.
  void forward(int64_t head_dim = 64) const {
    std::vector<uint16_t> data(static_cast<size_t>(2 * head_dim));
    const rapt::Tensor t(data.data(), rapt::kBf16, {1, 2, 1, head_dim}, {}, gpu_);
    std::vector<uint16_t> out(data.size(), 0x4242);
    const rapt::Tensor o(out.data(), rapt::kBf16, {1, 2, 1, head_dim}, {}, gpu_);
    try {
      rapt::forward({.q = t, .k = t, .v = t}, o);
    } catch (...) {
      for (const uint16_t x : out) EXPECT_EQ(x, 0x4242) << "an output was written by a call that failed";
      throw;
    }
  }

  const rapt_device gpu_;
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("rapt_driver_" + std::to_string(getpid()));
  const std::filesystem::path archive_;
  const std::string bytes_;
};

}  // namespace test
