// Device memory of a prepared launch. It costs address space, not time: pages come when they are touched, and large
// random operands repeat one block of a few MiB.
#pragma once

#include "sim/validate/launch/numbers.hpp"

#include <vector>

namespace rapt::sim::validate {

class DeviceBuffer {
 public:
  static DeviceBuffer unwritten(std::size_t bytes);  // NaNs, as memory that nobody has written yet
  static DeviceBuffer zeros(std::size_t bytes);
  static DeviceBuffer random(Number number, std::size_t count, std::uint64_t seed);
  template <typename T>
  static DeviceBuffer of(const std::vector<T>& values) {
    return copy_of(std::as_bytes(std::span(values)));
  }

  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  std::byte* data() const { return data_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }
  double value(Number number, std::size_t index) const { return value_at(number, data_, index); }

 private:
  explicit DeviceBuffer(std::size_t bytes);
  static DeviceBuffer copy_of(std::span<const std::byte> bytes);
  void mark_written() const;

  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace rapt::sim::validate
