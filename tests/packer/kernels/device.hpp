// Shared by the test kernels: HIP's keywords without its headers.
#pragma once

#include "kernels/abi.h"

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

#if defined(__GFX11__) || defined(__GFX12__)
constexpr int kThreads = RAPT_WAVES * 32;
#else
constexpr int kThreads = RAPT_WAVES * 64;
#endif

#define RAPT_TEST_KERNEL \
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(kThreads, kThreads))) void RAPT_SYMBOL
