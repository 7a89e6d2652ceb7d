// Launches a forward kernel, after the checks that need the driver.
#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "gpu/lengths.hpp"
#include "gpu/workspace.hpp"

namespace rapt::gpu {

void forward(ForwardCall& call, const Plan& plan, const Launch& launch) {
  Modules& modules = *plan.modules;
  const Device& device = modules.device();
  if (plan.stages[0].workgroups == 0) return;
  const DeviceScope scope(*device.driver, device.id.id);
  check_pointers(call, device);
  if (call.check_lengths) check_device_lengths(call, device, launch.stream);
  const Function function = modules.function(plan.stages[0].variant, launch.stream);
  Workspace workspace(plan.workspace, launch, device);
  copy_lengths(call, workspace.data(), device, launch.stream);
  const rapt_forward_args arguments = forward_args(call, plan, device);
  launch_stage(plan, 0, function, &arguments, launch.stream);
  workspace.free();
}

}  // namespace rapt::gpu
