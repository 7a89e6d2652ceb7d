// A counter in memory that tells other workgroups that stores of the copy engine are done.
// PTX ISA, "Parallel Synchronization and Communication Instructions": red, fence.proxy.async; "Data Movement and
// Conversion Instructions": ld.acquire, st.release.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

struct Counter {
  int* value;

  // What this thread has stored, and waited for, becomes visible before.
  DEVICE_MEMBER void add() const {
    fence();
    asm volatile("fence.acq_rel.gpu;\nred.release.gpu.global.add.s32 [%0], 1;" ::"l"(value) : "memory");
  }
  // The same, where no other thread changes the counter meanwhile.
  DEVICE_MEMBER void set(int to) const {
    fence();
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(value), "r"(to) : "memory");
  }
  // What comes afterwards sees the stores of all who added.
  DEVICE_MEMBER void wait_for(int count) const {
    int now;
    do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(now) : "l"(value) : "memory");
    while (now < count);
    fence();
  }

 private:
  // Between the copy engine's accesses and others.
  DEVICE void fence() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
};

}  // namespace rapt::nvidia
