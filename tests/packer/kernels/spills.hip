// Keeps 96 values alive in a kernel that is given 64 registers.
#include "device.hpp"

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(kThreads, kThreads), amdgpu_num_vgpr(64))) void
RAPT_SYMBOL(float* data) {
  const unsigned thread = __builtin_amdgcn_workitem_id_x();
  float value[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) value[i] = data[thread + i * kThreads];
  asm volatile("" ::: "memory");
#pragma unroll
  for (int i = 0; i < 96; ++i) data[thread + i * kThreads] = value[95 - i] * value[i];
}
