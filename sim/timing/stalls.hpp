// Why a wave's instruction was not issued at the first moment at which the wave could have.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rapt::sim::timing {

enum class Stall : std::uint8_t {
  matrix,         // the SIMD's matrix unit is busy
  vector,         // its vector unit is busy
  product,        // a product's result is not there yet
  result,         // another instruction's result is not there yet (RDNA)
  lds,            // s_waitcnt: data of the LDS, or its queue is full
  scalar_memory,  // s_waitcnt: scalar loads
  memory,         // s_waitcnt: vector memory, or its queue is full
  barrier,        // other waves have not arrived
  fetch,          // the instruction is not there: after a taken branch, or not in the instruction cache
  issue           // another wave's instruction went first
};
inline constexpr unsigned stall_count = 10;

inline std::string_view name(Stall stall) {
  static constexpr std::array<std::string_view, stall_count> names{
      "matrix busy",   "vector busy", "product",           "result", "LDS", "scalar memory",
      "vector memory", "barrier",     "instruction fetch", "issue"};
  return names[static_cast<unsigned>(stall)];
}

// The clocks of one static instruction, all timed waves together.
struct SlotTime {
  std::uint64_t issued = 0, taken = 0;  // taken: its wave went on elsewhere than at the next instruction
  std::uint64_t own = 0;                // until its wave's next instruction could issue
  std::array<std::uint64_t, stall_count> stalled{};
  std::uint64_t clocks() const;  // of all causes, its own too
  SlotTime& operator+=(const SlotTime& other);
};

}  // namespace rapt::sim::timing
