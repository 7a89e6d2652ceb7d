// Copies of bytes that lie in a row, by the copy engine. Addresses and sizes are multiples of 16.
// PTX ISA, "Data Movement and Conversion Instructions": cp.async.bulk, cp.reduce.async.bulk, fence.proxy.async.
#pragma once

#include "kernels/hopper/isa/barriers.hpp"

namespace rapt::nvidia {

// Starts a copy to shared memory. One thread does; `arrival` must expect the bytes.
DEVICE void copy_bytes(uint32_t to, const void* from, int bytes, Barrier arrival) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(arrival.address)
               : "memory");
}

// Starts to store bytes of shared memory, or to add its floats to global ones.
DEVICE void store_bytes(uint32_t from, void* to, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
}
DEVICE void add_floats(uint32_t from, float* to, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}

// The stores that this thread has started since the last call are one batch.
DEVICE void stores_end() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until this thread's stores have read shared memory.
DEVICE void wait_for_reads() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// Waits until they are done.
DEVICE void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// What this thread has written to shared memory becomes visible to the copy engine and to products.
DEVICE void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace rapt::nvidia
