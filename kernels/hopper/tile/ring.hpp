// Buffers that some threads fill and others read, in turn: the n-th fill goes to buffer n % Stages. Each buffer has two
// barriers: `full` ends a phase when the fill is complete, `empty` when every reader has given it back. Mostly one
// thread fills a buffer, by copies.
#pragma once

#include "kernels/hopper/isa/barriers.hpp"

namespace rapt::nvidia {

template <int Stages>
struct Ring {
  static constexpr int kBytes = 2 * Stages * Barrier::kBytes;
  uint32_t barriers;  // an address

  DEVICE uint32_t stage(uint32_t n) { return n % Stages; }
  DEVICE_MEMBER Barrier full(uint32_t n) const { return {barriers + stage(n) * Barrier::kBytes}; }
  DEVICE_MEMBER Barrier empty(uint32_t n) const { return {barriers + (Stages + stage(n)) * Barrier::kBytes}; }

  DEVICE_MEMBER void init(int readers, int writers = 1) const {
#pragma unroll
    for (int i = 0; i < Stages; ++i) {
      full(i).init(writers);
      empty(i).init(readers);
    }
  }
  // Who fills waits for the readers of the buffer's last fill. Before the first fill there are none.
  DEVICE_MEMBER void wait_until_empty(uint32_t n) const { empty(n).wait(parity(n) ^ 1); }
  DEVICE_MEMBER void wait_until_full(uint32_t n) const { full(n).wait(parity(n)); }
  DEVICE_MEMBER void give_back(uint32_t n, bool leads) const { empty(n).arrive_if(leads); }  // a thread of each reader
  DEVICE uint32_t parity(uint32_t n) { return n / Stages % 2; }
};

}  // namespace rapt::nvidia
