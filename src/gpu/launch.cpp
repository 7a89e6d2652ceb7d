// Runs the kernels of a pass, after the checks that need the driver.
#include <algorithm>
#include <array>
#include <cstring>

#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "gpu/kernels.hpp"
#include "gpu/lengths.hpp"
#include "gpu/tensor_maps.hpp"
#include "gpu/workspace.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

namespace {

void launch_kernel(const Kernels& kernels, const PassKernel& kernel, Function function, const void* arguments,
                   Stream stream) {
  const Device& device = kernels.device;
  const Variant& v = kernels.list()[kernel.index];
  // AMD's C++ kernels declare their shared memory; other kernels are given it.
  const bool given = device.id.type == RAPT_CUDA || v.by_triton();
  const LaunchShape shape{.grid = {kernel.workgroups},
                          .block = {static_cast<uint32_t>(v.threads)},
                          .dynamic_shared_memory = given ? static_cast<uint32_t>(v.shared_memory) : 0,
                          .fields_are_arguments = v.by_triton()};
  const auto bytes = static_cast<size_t>(v.argument_size);
  constexpr size_t kLongest =
      std::max({sizeof(rapt_forward_args), sizeof(rapt_split_args), sizeof(rapt_backward_args)});
  std::array<std::byte, kLongest + archive::kTritonArguments> longer{};
  if (v.by_triton()) arguments = std::memcpy(longer.data(), arguments, bytes - archive::kTritonArguments);
  if (const Status status = device.driver->launch(function, shape, arguments, bytes, stream); status != Status::success)
    device.driver->fail(
        status, cat("launching ", v.name, " on ", device.text(), " (", uint64_t{kernel.workgroups}, " workgroups of ",
                    v.threads, " threads, ", v.shared_memory, " bytes of shared memory)"));
}

// `arguments_for(kernel, workspace)` returns the address of a kernel's arguments.
template <class SomeCall, class ArgumentsFor>
void run(Kernels& kernels, const Pass& pass, SomeCall& call, const Launch& launch, ArgumentsFor arguments_for) {
  const Device& device = kernels.device;
  if (pass.kernels[0].workgroups == 0 && direction_of(pass.kind) == RAPT_FORWARD) return;
  const DeviceScope scope(*device.driver, device.id.id);
  check_pointers(call, device);
  if (call.check_lengths) check_device_lengths(call, device, launch.stream);
  std::array<Function, std::tuple_size_v<decltype(pass.kernels)>> functions = {};
  for (size_t i = 0; i < pass.count; ++i) functions[i] = kernels.loader.function(pass.kernels[i].index, launch.stream);
  Workspace workspace(pass.workspace.bytes, launch, device);
  copy_lengths(call, workspace.data(), device, launch.stream);
  for (size_t i = 0; i < pass.count; ++i)
    if (pass.kernels[i].workgroups > 0)
      launch_kernel(kernels, pass.kernels[i], functions[i], arguments_for(pass.kernels[i], workspace.data()),
                    launch.stream);
  workspace.free();
}

}  // namespace

void launch(const Pass& pass, ForwardCall& call, const Launch& launch) {
  Kernels& kernels = Kernels::of(call.device);
  const Variant& lead = kernels.list()[pass.lead];
  if (lead.known->hopper) {
    rapt_hopper_forward_scores_args arguments;
    run(kernels, pass, call, launch, [&](const PassKernel& kernel, char*) {
      arguments = hopper_forward_args(call, kernel, lead, kernels.device);
      return &arguments;
    });
  } else if (pass.kind == PassKind::forward) {
    rapt_forward_args arguments;
    run(kernels, pass, call, launch, [&](const PassKernel& kernel, char*) {
      arguments = forward_args(call, kernel, lead, kernels.device);
      return &arguments;
    });
  } else {
    rapt_split_args arguments;
    run(kernels, pass, call, launch, [&](const PassKernel& kernel, char* workspace) {
      if (kernel.stage == Stage::split) arguments = split_args(call, pass, lead, kernels.device, workspace);
      return &arguments;
    });
  }
}

void launch(const Pass& pass, BackwardCall call, const Launch& launch) {
  Kernels& kernels = Kernels::of(call.device);
  const Variant& lead = kernels.list()[pass.lead];
  rapt_hopper_backward_args arguments;  // other kernels take its beginning
  bool filled = false;
  run(kernels, pass, call, launch, [&](const PassKernel& kernel, char* workspace) {
    if (!std::exchange(filled, true)) {
      arguments.backward = backward_args(call, pass, kernels.device, workspace);
      if (lead.known->hopper) add_maps(arguments, call, pass, lead, kernels.device, workspace);
    }
    set_stage(call, kernel, kernels.device, arguments.backward);
    return &arguments;
  });
}

}  // namespace rapt::gpu
