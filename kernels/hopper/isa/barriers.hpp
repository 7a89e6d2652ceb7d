// Barriers: mbarrier, on which threads wait for copies and for one another, and named barriers of some of a workgroup's
// threads. PTX ISA, "Parallel Synchronization and Communication Instructions": mbarrier, bar.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

// A barrier in shared memory. A phase ends when all arrivals have come, and all bytes that were announced; phases
// count 0, 1, 2, ..., and a thread knows only their parity.
struct Barrier {
  static constexpr int kBytes = 8;
  uint32_t address;

  DEVICE_MEMBER void init(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals) : "memory");
  }
  DEVICE_MEMBER void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  }
  // Without a branch, at which a warp's other lanes would wait.
  DEVICE_MEMBER void arrive_if(bool condition) const {
    asm volatile(
        "{\n.reg .pred arrives;\nsetp.ne.b32 arrives, %1, 0;\n"
        "@arrives mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(address),
        "r"(static_cast<int>(condition))
        : "memory");
  }
  // Arrives, and announces bytes that copies will bring.
  DEVICE_MEMBER void arrive_expecting(int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
  }
  // Waits until the last phase of this parity has ended. A new barrier's phase of parity 1 has ended.
  DEVICE_MEMBER void wait(uint32_t parity) const {
    asm volatile(
        "{\n.reg .pred done;\nagain:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(address),
        "r"(parity)
        : "memory");
  }
};

// Makes initialised barriers visible to the copies of other threads.
DEVICE void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Two sets of warps, `threads` in all: one set waits until the other has arrived.
struct NamedBarrier {
  int id, threads;

  DEVICE_MEMBER void wait() const { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
  DEVICE_MEMBER void arrive() const { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
};

}  // namespace rapt::nvidia
