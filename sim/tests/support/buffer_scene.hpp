// A wave with a buffer in memory and its descriptor in registers.
#pragma once

#include "sim/tests/support/memory_wave.hpp"

namespace rapt::sim::test {

// 4096 bytes that hold the numbers of their dwords; the descriptor in s[4:7].
struct BufferScene {
  explicit BufferScene(Target t) : target(t), wave(t), memory(4096) {
    for (std::uint32_t n = 0; n < 1024; ++n) memory.at<std::uint32_t>(n) = n;
    wave.set_raw_buffer(4, memory.address(), 4096);
  }
  bool gfx9() const { return is_cdna(target.arch); }
  std::string load(const std::string& gfx9_name, const std::string& gfx11_name) const {
    return "buffer_load_" + (gfx9() ? gfx9_name : gfx11_name);
  }
  std::string none() const { return contains(gfx12, target.arch) ? "null" : "0"; }
  // Descriptor fields by name, in the architecture's layout.
  void structured(std::uint32_t stride, std::uint32_t records, bool swizzled, std::uint32_t index_stride_log2 = 3,
                  bool add_tid = false, std::uint32_t oob = 0) {
    wave.s(5) = (wave.s(5) & 0xffff) | stride << 16 | (swizzled ? gfx9() ? 0x80000000 : 0x40000000 : 0);
    wave.s(6) = records;
    wave.s(7) = (gfx9() ? 0xfac : 0xfac | oob << 28) | (index_stride_log2 - 3) << 21 | std::uint32_t{add_tid} << 23;
  }

  Target target;
  MemoryWave wave;
  Block memory;
};

}  // namespace rapt::sim::test
