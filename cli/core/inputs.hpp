// A problem's tensors for the command.
#pragma once

#include "cli/core/attention.hpp"
#include "cli/inputs/make.hpp"

namespace rapt::cli {

Attention make_inputs(const Problem& problem, InputKind kind, uint64_t seed, Layout layout = Layout::compact);

int64_t input_bytes(const Problem& problem);  // of q, k, v, out, bias and mask

}  // namespace rapt::cli
