// The engine's interface to a GPU's kernels. Throws Error: RAPT_DEVICE_ERROR if there is no driver or one of its calls
// fails, RAPT_UNSUPPORTED if the device has no archive.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/modules.hpp"
#include "problem/call.hpp"

namespace rapt::gpu {

// One kernel of a plan.
struct Stage {
  size_t variant = 0;  // index in the device's archive
  uint32_t workgroups = 0;
};

// The kernels that run a problem, in order, and the modules that hold their code.
struct Plan {
  static constexpr size_t kMostStages = 4;
  Modules* modules = nullptr;
  std::array<Stage, kMostStages> stages = {};
  size_t stage_count = 0;
};

// Fills `plan` and returns "", or returns why no variant takes the problem. `variant` is a variant's name, or "" for
// the tuning table's choice, which is cached.
std::string make_plan(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant, Plan& plan);

// Every variant of the device's archive, and why the plan takes it or not.
struct VariantReason {
  std::string name, reason;
  bool chosen = false;
};
std::vector<VariantReason> explain(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant);

// Loads the variant that make_plan() chooses for the problem, or every variant of a device's archive.
void preload(const Problem& problem, rapt_op op, rapt_device device);
void preload(rapt_device device);

struct Launch {
  Stream stream = nullptr;
  char* workspace = nullptr;  // device memory
  size_t workspace_size = 0;
};
size_t workspace_bytes(const ForwardCall& call);  // for cu_seqlens in host memory
// Sets `call` to the lengths' addresses that the kernel was launched with.
void forward(ForwardCall& call, const Plan& plan, const Launch& launch);

}  // namespace rapt::gpu
