// Launches the kernels of a backward pass, after the checks that need the driver.
#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "gpu/lengths.hpp"
#include "gpu/workspace.hpp"

namespace rapt::gpu {

size_t statistics_bytes(const Problem& problem) {
  const bool packed = problem.device_lengths || !problem.varlen.empty();
  const int64_t rows = packed ? problem.total_q : problem.batch * problem.seqlen_q;
  return static_cast<size_t>(problem.heads_q * rows) * sizeof(rapt_abi_row_statistics);
}

void backward(BackwardCall call, const Plan& plan, const Launch& launch) {
  Modules& modules = *plan.modules;
  const Device& device = modules.device();
  const DeviceScope scope(*device.driver, device.id.id);
  check_pointers(call, device);
  if (call.check_lengths) check_device_lengths(call, device, launch.stream);
  std::array<Function, Plan::kMostStages> functions = {};
  for (size_t i = 0; i < plan.stage_count; ++i) functions[i] = modules.function(plan.stages[i].variant, launch.stream);
  Workspace workspace(plan.workspace, launch, device);
  copy_lengths(call, workspace.data(), device, launch.stream);
  auto* const statistics = reinterpret_cast<rapt_abi_row_statistics*>(workspace.data() + lengths_bytes(call));
  for (size_t i = 0; i < plan.stage_count; ++i) {
    if (plan.stages[i].workgroups == 0) continue;
    const rapt_backward_args arguments = backward_args(call, plan.stages[i], statistics, device);
    launch_stage(plan, i, functions[i], &arguments, launch.stream);
  }
  workspace.free();
}

}  // namespace rapt::gpu
