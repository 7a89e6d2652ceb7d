#include "cli/core/environment.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace rapt::cli {

namespace {

// python/rapt/torch/status.py shows the same variables.
constexpr const char* kChoice[] = {
    "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
    "TORCH_ROCM_AOTRITON_PREFER_DEFAULT",
    "TORCH_ROCM_FA_PREFER_CK",
    "FLASH_ATTENTION_TRITON_AMD_ENABLE",
    "PYTORCH_ROCM_ARCH",
    "HSA_OVERRIDE_GFX_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "RAPT_KERNEL_PATH",
    "RAPT_TUNING",
};

struct Slow {
  const char *name, *what;
};
constexpr Slow kSlow[] = {
    {"AMD_SERIALIZE_KERNEL", "kernels wait for each other"},
    {"HIP_LAUNCH_BLOCKING", "each launch waits for its kernel"},
    {"CUDA_LAUNCH_BLOCKING", "each launch waits for its kernel"},
    {"RAPT_CHECK", "calls with lengths in device memory wait for them"},
};

// HIP's releases are numbered like ROCm's: "ROCm, HIP 7.1.25424" is of ROCm 7.1.
bool older_than(const char* runtime, int major, int minor) {
  int found_major = 0, found_minor = 0;
  if (std::sscanf(runtime, "ROCm, HIP %d.%d", &found_major, &found_minor) != 2) return false;
  return found_major < major || (found_major == major && found_minor < minor);
}

}  // namespace

std::vector<Variable> environment_variables() {
  std::vector<Variable> found;
  const auto add = [&](const char* name) {
    if (const char* value = std::getenv(name)) found.push_back({name, value});
  };
  for (const char* name : kChoice) add(name);
  for (const Slow& slow : kSlow) add(slow.name);
  return found;
}

std::vector<std::string> environment_warnings() {
  std::vector<std::string> found;
  for (const auto& [name, what] : kSlow) {
    const char* given = std::getenv(name);
    const std::string_view value = given ? given : "";
    if (value.empty() || value == "0") continue;
    found.push_back(fmt::format("{} is {}: {}, so times on a GPU are too long", name, value, what));
  }
  return found;
}

std::vector<std::string> rocm_warnings(const rapt_device_info& info) {
  std::vector<std::string> found;
  if (!std::string_view(info.arch).starts_with("gfx")) return found;
  if (std::string_view(info.arch) == "gfx1151" && older_than(info.runtime, 7, 2))
    found.push_back(
        fmt::format("{} counts the registers of {} wrongly, which can crash programs (ROCm/TheRock#2991): install ROCm "
                    "7.2 or newer",
                    info.runtime, info.arch));
  if (const char* given = std::getenv("HSA_OVERRIDE_GFX_VERSION"); given && *given != 0)
    found.push_back(
        fmt::format("HSA_OVERRIDE_GFX_VERSION is {}, so ROCm gives every GPU that name: unset it, Rapt has "
                    "kernels of their own for all of RDNA 3, 3.5 and 4",
                    given));
  return found;
}

void print_environment(const std::string& indent) {
  for (const auto& [name, value] : environment_variables()) fmt::print("{}{}: {}\n", indent, name, value);
  for (const std::string& text : environment_warnings()) fmt::print("{}warning: {}\n", indent, text);
}

}  // namespace rapt::cli
