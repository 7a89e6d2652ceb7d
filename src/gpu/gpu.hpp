// The engine's interface to a GPU's kernels. Throws Error: RAPT_DEVICE_ERROR if there is no driver or one of its calls
// fails, RAPT_UNSUPPORTED if the device has no archive.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/choose.hpp"
#include "problem/call.hpp"
#include "rapt/candidate.hpp"

namespace rapt::gpu {

// The pass that runs the problem, or why none does. `named`: the kernel that must be in the pass; "" if the tuning
// table decides.
std::shared_ptr<const Choice> choose(const Problem& problem, rapt_op op, rapt_device device, std::string_view named);

// The decision of choose(), in words: a line for the backend itself, "hip", and one for each kernel, "hip.<kernel>".
// The line that `named` asks for is chosen.
std::vector<Candidate> explain(const Problem& problem, rapt_op op, rapt_device device, std::string_view named);

// Loads the kernels that choose() takes for the problem, or every kernel of a device's archive.
void preload(const Problem& problem, rapt_op op, rapt_device device);
void preload(rapt_device device);

struct Launch {
  Stream stream = nullptr;
  char* workspace = nullptr;  // device memory
  size_t workspace_size = 0;
};

// Runs a pass, after the checks that need the driver. Sets `call` to the addresses of the lengths that kernels read.
void launch(const Pass& pass, ForwardCall& call, const Launch& launch);
void launch(const Pass& pass, BackwardCall& call, const Launch& launch);

}  // namespace rapt::gpu
