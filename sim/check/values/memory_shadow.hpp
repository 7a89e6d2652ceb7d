// The undefined memory of a workgroup: LDS is marked per bit, all other memory per byte, in the maps of its
// allocations.
#pragma once

#include "sim/machine/memory/flat_access.hpp"

#include <vector>

namespace rapt::sim {

class MemoryShadow {
 public:
  explicit MemoryShadow(const Workgroup& group) : group_(group), lds_(group.lds.size() + longest, 0xff) {
    std::fill(lds_.end() - longest, lds_.end(), static_cast<unsigned char>(0));
  }

  bool all_defined(const Access& access) const;
  // The undefined bits of up to four bytes.
  std::uint32_t bits(Space space, std::uint64_t address, unsigned bytes) const;

  // Defined values are stored. The store itself marks global memory.
  void define(const Access& access);
  // Up to four bytes are stored; these of their bits are undefined.
  void set_bits(Space space, std::uint64_t address, unsigned bytes, std::uint32_t undefined);

 private:
  static constexpr unsigned longest = 16;  // bytes of one lane

  // Nothing is undefined, and nothing is recorded, past the end of the LDS.
  std::size_t lds_offset(std::uint64_t address) const {
    return std::min<std::uint64_t>(address - reinterpret_cast<std::uint64_t>(group_.lds.data()), group_.lds.size());
  }
  bool lds_holds(std::uint64_t address, unsigned bytes) const {
    return lds_offset(address) + bytes <= group_.lds.size();
  }

  const Workgroup& group_;
  std::vector<unsigned char> lds_;  // the undefined bits, followed by `longest` defined bytes
};

}  // namespace rapt::sim
