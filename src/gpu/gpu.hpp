// The kernels of a GPU as the engine sees them. Throws Error (RAPT_DEVICE_ERROR) where there is no driver or a call of
// it fails, RAPT_UNSUPPORTED where the device has no archive.
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
  size_t variant = 0;  // of the device's archive
  uint32_t workgroups = 0;
};

// The kernels that run a problem, one after the other, and where their code is kept.
struct Plan {
  static constexpr size_t kMostStages = 4;
  Modules* modules = nullptr;
  std::array<Stage, kMostStages> stages = {};
  size_t stage_count = 0;
};

// Fills `plan` and returns "", or says why no variant takes the problem. `variant` "" takes what the tuning table says,
// and remembers it; otherwise the variant of this name.
std::string make_plan(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant, Plan& plan);

// Every variant of the device's archive, and why the plan takes it or not.
struct VariantReason {
  std::string name, reason;
  bool chosen = false;
};
std::vector<VariantReason> explain(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant);

// Loads what make_plan() takes for the problem, or every variant of a device's archive.
void preload(const Problem& problem, rapt_op op, rapt_device device);
void preload(rapt_device device);

struct Launch {
  Stream stream = nullptr;
  char* workspace = nullptr;  // device memory
  size_t workspace_size = 0;
};
size_t workspace_bytes(const ForwardCall& call);  // for cu_seqlens that lie in host memory
// Leaves in `call` where the lengths lay while the kernel was launched.
void forward(ForwardCall& call, const Plan& plan, const Launch& launch);

}  // namespace rapt::gpu
