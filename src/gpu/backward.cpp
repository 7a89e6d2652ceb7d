// Launches the kernels of a backward pass, after the checks that need the driver.
#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "gpu/lengths.hpp"
#include "gpu/workspace.hpp"

namespace rapt::gpu {

namespace {

// Of q, in all heads.
size_t rows_of(const Problem& problem) {
  const bool packed = problem.device_lengths || !problem.varlen.empty();
  return static_cast<size_t>(problem.heads_q * (packed ? problem.total_q : problem.batch * problem.seqlen_q));
}

}  // namespace

size_t statistics_bytes(const Problem& problem) { return rows_of(problem) * sizeof(rapt_abi_row_statistics); }

size_t dq_sum_bytes(const Problem& problem, int32_t dims) {
  // Kernels add zeros to rows that do not exist: the rest of a step of up to 128, then of a group of 16.
  const size_t rows = rows_of(problem) + 128 + 16;
  return rows * static_cast<size_t>(dims) * sizeof(float);
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
  rapt_backward_args arguments = backward_args(call, device);
  char* const sums = workspace.data() + lengths_bytes(call);
  if (plan.dq_sum_dims != 0) arguments.dq_sum = {reinterpret_cast<float*>(sums), plan.dq_sum_dims};
  arguments.statistics.data = reinterpret_cast<rapt_abi_row_statistics*>(sums + dq_sum_bytes(call, plan.dq_sum_dims));
  for (size_t i = 0; i < plan.stage_count; ++i) {
    if (plan.stages[i].workgroups == 0) continue;
    set_stage(call, plan.stages[i], device, arguments);
    launch_stage(plan, i, functions[i], &arguments, launch.stream);
  }
  workspace.free();
}

}  // namespace rapt::gpu
