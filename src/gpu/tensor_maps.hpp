// The arguments of kernels that read their tensors by maps (kernels/hopper).
#pragma once

#include "gpu/choose.hpp"
#include "kernels/hopper/arguments.h"
#include "problem/call.hpp"

namespace rapt::gpu {

// Why the problem's tensors cannot be described by maps, or the kernels that read them lack something; "" if they can.
std::string hopper_refusal(const Variant& v, const Needs& n);

rapt_hopper_forward_scores_args hopper_forward_args(const ForwardCall& call, const PassKernel& kernel,
                                                    const Device& device);

// Rows of dq for which the backward pass has a number where it adds in a fixed order.
inline constexpr int64_t kRowsAdded = 32;

// Rows that the backward pass has statistics of: of all heads.
int64_t hopper_rows(const Needs& n);

// What the kernels of the backward pass read beside a.backward, which is filled.
void add_maps(rapt_hopper_backward_scores_args& all, const BackwardCall& call, const Pass& pass, const Device& device,
              char* workspace);

// In which order a kernel of the pass `apart` computes its tiles.
void set_turns(rapt_hopper_backward_args& a, const BackwardCall& call, const PassKernel& kernel, const Device& device);

}  // namespace rapt::gpu
