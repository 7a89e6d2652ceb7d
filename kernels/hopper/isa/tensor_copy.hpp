// Copies of boxes of a tensor by the copy engine (TMA). What lies beyond the tensor's edges arrives as zeros.
// PTX ISA, "Data Movement and Conversion Instructions": cp.async.bulk.tensor, prefetch.
#pragma once

#include "kernels/abi.h"
#include "kernels/hopper/isa/barriers.hpp"

namespace rapt::nvidia {

using TensorMap = const rapt_abi_tensor_map;

// Fetches a map, which the first copy would wait for.
DEVICE void prefetch_map(TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

struct Coordinates {
  int column, row, head, batch;
};

// Starts the copy of the box that begins there. One thread does; `arrival` must expect the box's bytes.
DEVICE void copy_box(uint32_t to, TensorMap& map, Barrier arrival, const Coordinates& from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(arrival.address), "r"(from.column), "r"(from.row), "r"(from.head), "r"(from.batch)
      : "memory");
}

}  // namespace rapt::nvidia
