// The math backend: attention as its definition reads, one row at a time, with plain loops and no blocking. It is the
// oracle: on fp64 tensors it computes in float64, and on the others it is "the plain formula in the tensors' own
// precision" that DESIGN's correctness rule compares with (rounded operands, float32 sums, P and dS rounded to the
// tensors' type). Takes every option; memory a task is O(seqlen_k), times the head dims in the backward pass.
#pragma once

#include "problem/call.hpp"

namespace rapt::math {

// Bytes of 64-byte aligned workspace that forward() or backward() uses at this concurrency.
size_t workspace_bytes(const ForwardCall& call, int32_t concurrency);
size_t workspace_bytes(const BackwardCall& call, int32_t concurrency);

void forward(const ForwardCall& call, const rapt_executor& executor, char* workspace);
void backward(const BackwardCall& call, const rapt_executor& executor, char* workspace);

}  // namespace rapt::math
