#include "aotriton/hip/devices.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "aotriton/base/failure.hpp"
#include "rapt/rapt.h"

namespace rapt::aot {

namespace {

constexpr int kMostDevices = 64;

// Whether there is an archive with both passes. A forward pass alone would end PyTorch's training at the backward pass.
bool has_kernels(const char* arch) {
  rapt_archive* archive = nullptr;
  if (rapt_archive_open(nullptr, arch, &archive) != RAPT_OK) return false;
  bool backward = false;
  for (size_t i = 0; i < rapt_archive_count(archive) && !backward; ++i) {
    rapt_kernel kernel = RAPT_INIT(rapt_kernel);
    backward =
        rapt_archive_kernel(archive, i, &kernel) == RAPT_OK && std::strncmp(kernel.operation, "backward", 8) == 0;
  }
  rapt_archive_close(archive);
  return backward;
}

class Devices {
 public:
  Devices() {
    int32_t count = 0;
    if (rapt_device_count(RAPT_ROCM, &count) != RAPT_OK) std::snprintf(why_, sizeof why_, "%s", rapt_last_error());
    const char* library = nullptr;
    for (int id = 0; id < count && id < kMostDevices; ++id) {
      rapt_device_info info = RAPT_INIT(rapt_device_info);
      if (rapt_describe_device({RAPT_ROCM, id}, &info) != RAPT_OK) {
        std::snprintf(why_, sizeof why_, "%s", rapt_last_error());
        return;
      }
      all_[static_cast<size_t>(id)] = {id, info.arch, number_of(info.arch), info.compute_units, has_kernels(info.arch)};
      library = info.library;
      count_ = id + 1;
    }
    // Streams outlive static objects, so it is never closed.
    if (library != nullptr) hip_ = new (std::nothrow) Hip(library);
    if (hip_ != nullptr && !hip_->complete) hip_ = nullptr;
  }

  const Hip* hip() const { return hip_; }
  const char* why_none() const { return why_; }
  const Device* at(int id) const { return id >= 0 && id < count_ ? &all_[static_cast<size_t>(id)] : nullptr; }

 private:
  static uint32_t number_of(const char* arch) {
    return std::strncmp(arch, "gfx", 3) == 0 ? static_cast<uint32_t>(std::strtoul(arch + 3, nullptr, 16)) : 0;
  }

  std::array<Device, kMostDevices> all_;
  int count_ = 0;
  const Hip* hip_ = nullptr;
  char why_[512] = "HIP has no device, or lacks a function";
};

const Devices& devices() {
  static const Devices all;
  return all;
}

}  // namespace

const Hip* hip() { return devices().hip(); }

const Device* device_of(HipStream stream) {
  const Hip* const h = hip();
  if (h == nullptr) {
    fail(aotriton::kNoBinaryForGpu, "there is no GPU: %s", devices().why_none());
    return nullptr;
  }
  int id = 0;
  const bool ask_stream = stream != nullptr && h->hipStreamGetDevice != nullptr;
  const HipResult result = ask_stream ? h->hipStreamGetDevice(stream, &id) : h->hipGetDevice(&id);
  if (h->check(result, "finding the stream's device") != aotriton::kSuccess) return nullptr;
  const Device* const device = devices().at(id);
  if (device == nullptr) fail(aotriton::kNoBinaryForGpu, "the stream's device is %d, which Rapt did not find", id);
  return device;
}

CurrentDevice::CurrentDevice(const Device& device) {
  int current = device.id;
  if (hip()->hipGetDevice(&current) == 0 && current != device.id && hip()->hipSetDevice(device.id) == 0)
    former_ = current;
}

CurrentDevice::~CurrentDevice() {
  if (former_ >= 0) static_cast<void>(hip()->hipSetDevice(former_));
}

}  // namespace rapt::aot
