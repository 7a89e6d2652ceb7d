// The arguments of kernels, from a validated call.
#pragma once

#include "gpu/device.hpp"
#include "gpu/gpu.hpp"
#include "kernels/abi.h"
#include "kernels/hopper/arguments.h"
#include "problem/call.hpp"

namespace rapt::gpu {

// The longest ones have room for the pointers that Triton's kernels take after theirs.
union Arguments {
  rapt_forward_args forward;
  rapt_hopper_forward_scores_args hopper_forward;
  rapt_split_args split;
  rapt_hopper_backward_scores_args backward;  // other kernels take its beginning
};

// Fills what a kernel of the pass takes. Called for each kernel in turn, with the same arguments: later ones of a pass
// share them.
void fill(Arguments& a, const ForwardCall& call, const Pass& pass, const PassKernel& kernel, const Device& device,
          char* workspace);
void fill(Arguments& a, const BackwardCall& call, const Pass& pass, const PassKernel& kernel, const Device& device,
          char* workspace);

rapt_abi_cache cache_args(const Call& call);  // of a KV cache
rapt_forward_args forward_args(const ForwardCall& call, const PassKernel& kernel, const Device& device);

// Throws Error if a tensor is in memory that the device cannot reach: host memory that its driver does not know, or
// another device's. Checked in every call, because memory may be freed and reused between calls.
void check_pointers(const ForwardCall& call, const Device& device);
void check_pointers(const BackwardCall& call, const Device& device);
void check_workspace(const void* workspace, const Device& device);

}  // namespace rapt::gpu
