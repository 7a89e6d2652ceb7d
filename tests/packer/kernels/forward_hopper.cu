// Multiplies as the kernels of kernels/hopper do, but badly. RAPT_BLOCK_K 64: registers of products are used while
// these run, so the compiler makes them wait for one another. 80: single lanes may leave the loop, so the compiler
// computes descriptors lane by lane. Otherwise: exponentials come after the wait.
#include "kernels/hopper/arguments.h"
#include "kernels/hopper/isa/wgmma.hpp"

using namespace rapt::nvidia;

DEVICE float sum_of(const Accumulators<8>& s) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) sum += rapt::nvidia::exp2(s[i][e]);
  return sum;
}

DEVICE void multiply_in_a_loop(uint32_t address, float* to) {
#pragma unroll 1
  for (int step = 0; *to != 0; ++step) {
    const MatrixDescriptor rows = MatrixDescriptor::at(address + static_cast<uint32_t>(step % 2 * 8192), 0);
    Accumulators<8> s;
    products_begin();
#pragma unroll
    for (int i = 0; i < 4; ++i) multiply_rows(s, rows + 32 * i, rows + 32 * i, i > 0, bf16());
    products_end();
    wait_for_products<0>();
    keep(s);
    *to = sum_of(s);
  }
}

extern "C" __global__ void __launch_bounds__(RAPT_WAVES * 32, 1)
    RAPT_SYMBOL(const __grid_constant__ rapt_hopper_forward_scores_args a) {
  extern __shared__ __align__(1024) char memory[];
  float* const to = a.all.forward.lse.data + thread_id();
  if (RAPT_BLOCK_K == 80) return multiply_in_a_loop(shared_address(memory), to);
  const MatrixDescriptor rows = MatrixDescriptor::at(shared_address(memory), 0);
  Accumulators<8> s;
  products_begin();
  multiply_rows(s, rows, rows, false, bf16());
  if (RAPT_BLOCK_K == 64) s[0][0] += 1;
  multiply_rows(s, rows, rows, true, bf16());
  products_end();
  wait_for_products<0>();
  keep(s);
  *to = sum_of(s);
}
