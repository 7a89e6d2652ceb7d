// A counter in memory that tells other workgroups that stores of the copy engine are done.
// PTX ISA, "Parallel Synchronization and Communication Instructions": red, fence.proxy.async; "Data Movement and
// Conversion Instructions": ld.acquire, st.release.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

struct Counter {
  int* value;

  // True in the one thread that changes the counter from `from` to `to`.
  DEVICE_MEMBER bool take(int from, int to) const { return atomicCAS(value, from, to) == from; }
  // What this thread has stored, and waited for, becomes visible before. No other thread changes the counter meanwhile.
  DEVICE_MEMBER void set(int to) const {
    fence();
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(value), "r"(to) : "memory");
  }
  // If so, what comes afterwards sees the stores of who has set the counter.
  DEVICE_MEMBER bool is_at_least(int count) const {
    int now;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(now) : "l"(value) : "memory");
    fence();
    return now >= count;
  }
  DEVICE_MEMBER void wait_for(int count) const {
    while (!is_at_least(count)) continue;
  }

 private:
  // Between the copy engine's accesses and others.
  DEVICE void fence() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
};

}  // namespace rapt::nvidia
