// The hip backend as the engine sees it. Throws Error (RAPT_DEVICE_ERROR) where there is no HIP or a call of it fails,
// RAPT_UNSUPPORTED where the device has no archive or no variant takes the call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/modules.hpp"

namespace rapt::gpu {

// The variant that runs a call, and where its code is kept.
struct Plan {
  Modules* modules = nullptr;
  size_t variant = 0;
};

// `variant` "" takes what the tuning table says, and remembers it; otherwise the variant of this name.
Plan plan(const Call& call, rapt_op op, std::string_view variant);

struct VariantReason {
  std::string name, reason;
  bool chosen = false;
};
struct Explained {
  std::vector<VariantReason> variants;  // all of the device's archive, and why each is chosen or not
  std::string refusal;                  // why none is chosen
};
Explained explain(const Call& call, rapt_op op, std::string_view variant);

// Loads what plan() takes for the call, or every variant of a device's archive.
void preload(const Call& call, rapt_op op);
void preload(rapt_device device);

struct Launch {
  Stream stream = nullptr;
  char* workspace = nullptr;  // device memory
  size_t workspace_size = 0;
};
size_t workspace_bytes(const ForwardCall& call);  // for cu_seqlens that lie in host memory
void forward(const ForwardCall& call, const Plan& plan, const Launch& launch);

}  // namespace rapt::gpu
