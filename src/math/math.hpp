// The math backend: attention by its definition, one row at a time, with plain loops and no blocking. It is the oracle.
// On fp64 tensors it computes in float64. On other types it is the "plain formula in the tensors' own precision" of the
// correctness rule in docs/architecture.md (rounded operands, float32 sums, P and dS rounded to the tensors' type).
// Takes every option; memory per task is O(seqlen_k), times the head dims in the backward pass.
#pragma once

#include "problem/call.hpp"

namespace rapt::math {

// Bytes of 64-byte aligned workspace that forward() or backward() uses at this concurrency.
size_t workspace_bytes(const ForwardCall& call, int32_t concurrency);
size_t workspace_bytes(const BackwardCall& call, int32_t concurrency);

void forward(const ForwardCall& call, const rapt_executor& executor, char* workspace);
void backward(const BackwardCall& call, const rapt_executor& executor, char* workspace);

}  // namespace rapt::math
