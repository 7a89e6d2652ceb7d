// A case over fake drivers of two vendors, with a made-up archive.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "fake_driver.hpp"
#include "gpu/device.hpp"
#include "gpu/memory.hpp"
#include "gpu/kernels.hpp"
#include "rapt/rapt.hpp"
#include "tests/packer/made_up.hpp"

namespace rapt::gpu {

inline constexpr rapt_device kFirst = {RAPT_ROCM, 0}, kSecond = {RAPT_ROCM, 1}, kCuda = {RAPT_CUDA, 0};

// q, k, v and out of two sequences of 70 rows and one head, all in one allocation of a device.
class Tensors {
 public:
  explicit Tensors(rapt_device device) : device_(device), memory_(device, 4 * kBytes) {}

  char* at(size_t part) const { return static_cast<char*>(memory_.data()) + part * kBytes; }
  rapt::api::Tensor operator[](size_t part) const { return said_on(device_, part); }
  rapt::api::Tensor said_on(rapt_device device, size_t part) const {
    return {at(part), rapt::kBf16, {2, 70, 1, 64}, {}, device};
  }
  rapt::api::Tensor packed(size_t part) const { return {at(part), rapt::kBf16, {140, 1, 64}, {}, device_}; }
  void forward(Stream stream = nullptr) const {
    rapt::api::forward({.q = (*this)[0], .k = (*this)[1], .v = (*this)[2]}, (*this)[3], {}, {.stream = stream});
  }
  // With lengths in host memory.
  void forward_packed() const { forward_packed(rapt::api::Tensor(kLengths, rapt::kInt32, {3})); }
  // With lengths in device memory that must be checked.
  void forward_checked() const {
    rapt::api::DeviceMemory lengths(device_, sizeof kLengths);
    lengths.copy_from_host(kLengths);
    forward_packed(rapt::api::Tensor(lengths.data(), rapt::kInt32, {3}, {}, device_));
  }

 private:
  static constexpr int32_t kLengths[] = {0, 100, 140};
  static constexpr size_t kBytes = size_t{2} * 70 * 64 * 2;

  void forward_packed(const rapt::api::Tensor& lengths) const {
    rapt::api::Attention a{.q = packed(0), .k = packed(1), .v = packed(2)};
    a.varlen = {.cu_seqlens_q = lengths,
                .cu_seqlens_k = lengths,
                .max_seqlen_q = 100,
                .max_seqlen_k = 100,
                .check_device_seqlens = true};
    rapt::api::forward(a, packed(3));
  }

  rapt_device device_;
  rapt::api::DeviceMemory memory_;
};

inline std::string error_of(const std::function<void()>& body, rapt_status status = RAPT_DEVICE_ERROR) {
  try {
    body();
  } catch (const rapt::api::Error& e) {
    EXPECT_EQ(e.status(), status) << e.what();
    return e.what();
  } catch (const std::exception& e) {  // of code inside the library
    return e.what();
  }
  return "";
}

class Fake : public ::testing::Test {
 protected:
  Fake() : folder_(std::filesystem::temp_directory_path() / ("rapt_fake_driver_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write_archive(archive::good_archive());
    setenv("RAPT_KERNEL_PATH", folder_.c_str(), 1);
    install_driver(hip);
    install_driver(cuda);
  }
  ~Fake() override { std::filesystem::remove_all(folder_); }

  void write_archive(const std::string& bytes, const std::string& name = "gfx942.rapt") const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  FakeDriver hip{RAPT_ROCM, 2}, cuda{RAPT_CUDA, 1};

 private:
  std::filesystem::path folder_;
};

}  // namespace rapt::gpu
