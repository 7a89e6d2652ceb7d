// What an instruction does to the counters of outstanding memory operations: which it raises and which it waits for.
// Sources: the ISA documents' chapters on s_waitcnt and data dependencies; LLVM's SIInsertWaitcnts and AMDGPUBaseInfo.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/isa/effects.hpp"

#include <array>
#include <string_view>

namespace rapt::sim {

// The counters, with common names for all architectures.
enum class Counter : std::uint8_t {
  load,   // vmcnt (gfx9: stores too), loadcnt
  lds,    // lgkmcnt (scalar memory and messages too, before gfx12), dscnt
  store,  // vscnt, storecnt
  scalar  // kmcnt
};
inline constexpr unsigned counter_count = 4;
std::string_view counter_name(Arch arch, Counter counter);

// Operations of one queue end in the order in which they began. Operations of different queues, and of `none`, end in
// any order.
enum class Queue : std::uint8_t { memory, lds, message, barrier, none };
inline constexpr unsigned queue_count = 5;

struct WaitFacts {
  static constexpr std::uint8_t no_wait = 255;
  static constexpr std::uint8_t uncounted = 255;

  bool waits = false;
  bool ends_barriers = false;  // s_barrier_wait: SCC of s_barrier_signal_isfirst
  bool to_lds = false;         // a load that writes LDS, not registers
  bool counted = false;        // increments a counter
  std::array<std::uint8_t, counter_count> at_most = {no_wait, no_wait, no_wait, no_wait};
  // gfx11's s_waitcnt_vscnt and the like add an SGPR to their number (RDNA3 ISA, S_WAITCNT_VSCNT).
  std::uint8_t added_sgpr = sreg::null;
  std::array<std::uint8_t, counter_count> queue = {uncounted, uncounted, uncounted, uncounted};
};

WaitFacts wait_facts(const Instruction& instruction, const Effects& effects, Arch arch);

}  // namespace rapt::sim
