// The argument block of AMD's hand-written kernels: every argument, a pointer or four bytes, has sixteen bytes.
#pragma once

#include "sim/loader/code_object.hpp"
#include "sim/validate/launch/device_buffer.hpp"

namespace rapt::sim::validate {

class Arguments {
 public:
  Arguments& pointer(const DeviceBuffer& buffer) { return put(buffer.address(), 8); }
  Arguments& null() { return put(0, 8); }
  Arguments& number(std::uint32_t value) { return put(value, 4); }
  Arguments& number(float value);

  std::span<const std::byte> bytes() const { return bytes_; }
  // InputError unless the kernel's metadata has a segment of `segment` bytes, and an argument at the place of each one
  // here that is within it.
  void check(const Kernel& kernel, std::uint32_t segment) const;

 private:
  Arguments& put(std::uint64_t value, unsigned size);

  std::vector<std::byte> bytes_;
  std::vector<unsigned> sizes_;
};

}  // namespace rapt::sim::validate
