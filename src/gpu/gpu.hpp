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

struct Request {
  const Problem& problem;
  rapt_op op;
  rapt_device device;
  std::string_view kernel;  // must be in the pass; "" if the tuning table decides
};

// The pass that runs the problem; null, and why in `refusal`, if none does. The table's choice is remembered, because
// choosing takes longer than a launch.
std::shared_ptr<const Pass> choose(const Request& request, std::string& refusal);

// The answer of choose(), in words.
struct Explained {
  std::string kernels, reason;  // of the pass: "backward_dq... + backward_dkv...", and why it runs; "" if there is none
  std::vector<Candidate> variants;  // every kernel of the archive, and why the pass lacks it
};
// `pass` is null if there is none, for the reason `refusal`.
Explained explain(const Request& request, const Pass* pass, std::string_view refusal);

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
void launch(const Pass& pass, BackwardCall call, const Launch& launch);

}  // namespace rapt::gpu
