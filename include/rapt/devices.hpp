// GPUs: devices, their memory, and kernel archives. Included by rapt.hpp.
#pragma once

#include "rapt/rapt.hpp"

namespace rapt {
inline namespace api {

inline constexpr rapt_device kHost = {RAPT_CPU, 0};

// The GPUs that the run-time library lists; throws if it cannot be opened.
inline int32_t device_count(rapt_device_type type) {
  int32_t count = 0;
  check(rapt_device_count(type, &count));
  return count;
}

inline rapt_device_info describe(rapt_device device) {
  rapt_device_info info = RAPT_INIT(rapt_device_info);
  check(rapt_describe_device(device, &info));
  return info;
}

inline void synchronize(rapt_device device) { check(rapt_device_synchronize(device)); }

// A point in the work of a GPU's default stream.
class Event {
 public:
  explicit Event(rapt_device device) { check(rapt_event_create(device, &event_)); }
  ~Event() { rapt_event_destroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { check(rapt_event_record(event_)); }
  // The device's milliseconds from then to this event, for which it waits.
  double since(const Event& from) const {
    double milliseconds = 0;
    check(rapt_event_elapsed(from.event_, event_, &milliseconds));
    return milliseconds;
  }

 private:
  rapt_event* event_ = nullptr;
};

// Loads the problem's kernel before it is called, or without a problem all kernels of the device.
inline void preload(rapt_device device) { check(rapt_preload(device, nullptr, RAPT_FORWARD)); }
inline void preload(rapt_device device, const Problem& problem, rapt_op op = RAPT_FORWARD) {
  const rapt_problem c = problem.c();
  check(rapt_preload(device, &c, op));
}

// Device memory, freed by the destructor.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(rapt_device device, size_t bytes) : device_(device), bytes_(bytes) {
    check(rapt_device_alloc(device, bytes, &data_));
  }
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() { rapt_device_free(device_, data_); }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  rapt_device device() const { return device_; }
  void copy_from_host(const void* from) { check(rapt_device_copy(device_, data_, kHost, from, bytes_)); }
  void copy_to_host(void* to) const { check(rapt_device_copy(kHost, to, device_, data_, bytes_)); }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  rapt_device device_ = kHost;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// The kernels compiled for one GPU architecture. rapt_kernel's strings are valid as long as the archive.
class Archive {
 public:
  // Opens a file, or the architecture's file in a folder or (place "") where find() looks.
  explicit Archive(const std::string& place, const std::string& arch = "") {
    check(rapt_archive_open(place.empty() ? nullptr : place.c_str(), arch.empty() ? nullptr : arch.c_str(), &archive_));
  }
  ~Archive() { rapt_archive_close(archive_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // The archives in RAPT_KERNEL_PATH and next to the library.
  static std::vector<std::string> find() {
    std::vector<std::string> paths;
    for (size_t i = 0; const char* path = rapt_archive_found(i); ++i) paths.emplace_back(path);
    return paths;
  }

  std::string path() const { return rapt_archive_path(archive_); }
  std::string arch() const { return rapt_archive_arch(archive_); }
  std::string compiler() const { return rapt_archive_compiler(archive_); }
  size_t size() const { return rapt_archive_count(archive_); }
  rapt_kernel kernel(size_t index) const {
    rapt_kernel kernel = RAPT_INIT(rapt_kernel);
    check(rapt_archive_kernel(archive_, index, &kernel));
    return kernel;
  }
  std::vector<char> code(size_t index) const {
    std::vector<char> code(kernel(index).size);
    check(rapt_archive_code(archive_, index, code.data(), code.size()));
    return code;
  }

 private:
  rapt_archive* archive_ = nullptr;
};

}  // namespace api
}  // namespace rapt
