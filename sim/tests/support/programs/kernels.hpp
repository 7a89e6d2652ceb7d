// Compiles and loads HIP source, and launches its kernels without the HIP run-time.
#pragma once

#include "sim/device/device.hpp"
#include "sim/memory/memory.hpp"
#include "sim/tests/support/programs/assemble.hpp"

#include <cstring>
#include <new>

namespace rapt::sim::test {

// The keywords of HIP, for stock clang without HIP headers, and a few short names.
extern const char* const hip_prelude;

// Compiles HIP source (after hip_prelude) for one architecture; throws with the compiler's message. `compiler`:
// clang-22 or clang-19. `flags`: in addition to what every device compilation needs.
std::vector<std::byte> compile(Arch arch, const std::string& source, const std::string& flags = "-O3",
                               const std::string& compiler = "clang-22");

template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    data_ = static_cast<T*>(Memory::process().allocate(count * sizeof(T), 256, MemoryKind::device, 0));
    if (!data_) throw std::bad_alloc();
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    std::memcpy(data_, values.data(), values.size() * sizeof(T));
    Memory::process().mark_written(reinterpret_cast<std::uint64_t>(data_), values.size() * sizeof(T));
  }
  ~Buffer() { Memory::process().release(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  T& operator[](std::size_t n) const { return data_[n]; }
  std::size_t size() const { return count_; }

 private:
  T* data_;
  std::size_t count_;
};

class Module {
 public:
  Module(Arch arch, const std::vector<std::byte>& object) : object_(CodeObject::load(object, arch, 0)) {}
  Module(Arch arch, const std::string& source, const std::string& flags = "-O3",
         const std::string& compiler = "clang-22")
      : Module(arch, compile(arch, source, flags, compiler)) {}
  const Kernel& kernel(std::string_view name) const;
  // Launches from here on are counted there.
  Module& profile(Profiler& profiler) {
    profiler_ = &profiler;
    return *this;
  }
  // Launches from here on are timed.
  Module& time(TimeRequest request) {
    time_ = request;
    return *this;
  }

  // Arguments as the kernel's parameters, by value; pointers as pointers.
  template <typename... A>
  LaunchResult launch(std::string_view name, std::array<std::uint32_t, 3> groups,
                      std::array<std::uint32_t, 3> group_size, std::uint32_t dynamic_lds, const A&... arguments) const {
    std::vector<std::byte> bytes;
    (append(bytes, arguments), ...);
    Launch launch;
    launch.object = object_.get();
    launch.kernel = &kernel(name);
    launch.groups = groups;
    launch.group_size = group_size;
    launch.arguments = bytes;
    launch.dynamic_lds = dynamic_lds;
    return run(launch, 0, {profiler_, nullptr}, time_);
  }

 private:
  template <typename T>
  static void append(std::vector<std::byte>& bytes, const T& value) {
    const std::size_t at = (bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  std::unique_ptr<CodeObject> object_;
  Profiler* profiler_ = nullptr;
  TimeRequest time_;
};

}  // namespace rapt::sim::test
