// Runs the kernels of a pass, after the checks that need the driver.
#include <algorithm>
#include <cstring>

#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "gpu/kernels.hpp"
#include "gpu/lengths.hpp"
#include "gpu/unused_rows.hpp"
#include "gpu/workspace.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

namespace {

void launch_kernel(Kernels& kernels, const PassKernel& kernel, Arguments& arguments, Stream stream) {
  const Device& device = kernels.shelf.device;
  const Variant& v = *kernel.variant;
  // AMD's C++ kernels declare their shared memory; other kernels are given it.
  const bool given = device.id.type == RAPT_CUDA || v.by_triton();
  const LaunchShape shape{.grid = {kernel.workgroups / kernel.grid_rows, kernel.grid_rows},
                          .block = {static_cast<uint32_t>(v.threads)},
                          .dynamic_shared_memory = given ? static_cast<uint32_t>(v.shared_memory) : 0,
                          .overlaps = kernel.overlaps,
                          .fields_are_arguments = v.by_triton()};
  const auto bytes = static_cast<size_t>(v.argument_size);
  static_assert(sizeof arguments >= sizeof(rapt_forward_args) + archive::kTritonArguments);
  static_assert(sizeof arguments >= sizeof(rapt_backward_args) + archive::kTritonArguments);
  if (v.by_triton())
    std::memset(reinterpret_cast<char*>(&arguments) + bytes - archive::kTritonArguments, 0, archive::kTritonArguments);
  const Function function = kernels.function(v, stream);
  const Status status = device.driver->launch(function, shape, &arguments, bytes, stream);
  if (status != Status::success)
    device.driver->fail(
        status, cat("launching ", v.name, " on ", device.text(), " (", uint64_t{kernel.workgroups}, " workgroups of ",
                    v.threads, " threads, ", v.shared_memory, " bytes of shared memory)"));
}

template <class SomeCall>
void run(const Pass& pass, SomeCall& call, const Launch& launch) {
  Kernels& kernels = Kernels::of(call.device);
  const Device& device = kernels.shelf.device;
  const bool nothing = std::ranges::all_of(pass.kernels, [](const PassKernel& k) { return k.workgroups == 0; });
  if (nothing && call.cu_seqlens_q == nullptr) return;
  const DeviceScope scope(*device.driver, device.id.id);
  check_pointers(call, device);
  if (are_checked(call)) check_device_lengths(call, device, launch.stream);
  for (const PassKernel& k : pass.kernels) kernels.function(*k.variant, launch.stream);  // before memory is allocated
  clear_unused_rows(call, pass, device, launch.stream);
  Workspace workspace(pass.workspace.bytes, launch, device);
  copy_lengths(call, workspace.data(), device, launch.stream);
  Arguments arguments;
  for (const PassKernel& k : pass.kernels) {
    fill(arguments, call, pass, k, device, workspace.data());
    if (k.workgroups > 0) launch_kernel(kernels, k, arguments, launch.stream);
  }
  workspace.free();
}

}  // namespace

void launch(const Pass& pass, ForwardCall& call, const Launch& launch) { run(pass, call, launch); }
void launch(const Pass& pass, BackwardCall& call, const Launch& launch) { run(pass, call, launch); }

}  // namespace rapt::gpu
