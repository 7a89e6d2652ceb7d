// Not attention: a small kernel with a forward kernel's arguments, some LDS and few registers.
#include "device.hpp"

RAPT_TEST_KERNEL(rapt_forward_args args) {
  __shared__ float tile[RAPT_HEAD_DIM * RAPT_BLOCK_K];
  const unsigned thread = __builtin_amdgcn_workitem_id_x();
  const float* in = static_cast<const float*>(args.k.data);
  for (unsigned i = thread; i < RAPT_HEAD_DIM * RAPT_BLOCK_K; i += kThreads) tile[i] = in[i] * args.problem.scale;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  static_cast<float*>(args.out.data)[thread] = tile[kThreads - 1 - thread];
}
