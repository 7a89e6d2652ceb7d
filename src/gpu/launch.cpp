#include <array>
#include <cstring>

#include "gpu/gpu.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

void launch_stage(const Plan& plan, size_t stage, Function function, const void* arguments, Stream stream) {
  const Device& device = plan.modules->device();
  const Variant& v = plan.variant(stage);
  const uint32_t groups = plan.stages[stage].workgroups;
  // AMD's C++ kernels declare their shared memory, others are given it.
  const bool given = device.id.type == RAPT_CUDA || v.by_triton();
  const LaunchShape shape{.grid = {groups},
                          .block = {static_cast<uint32_t>(v.threads)},
                          .dynamic_shared_memory = given ? static_cast<uint32_t>(v.shared_memory) : 0,
                          .fields_are_arguments = v.by_triton()};
  const auto bytes = static_cast<size_t>(v.argument_size);
  std::array<std::byte, sizeof(rapt_backward_args) + archive::kTritonArguments> longer{};
  if (v.by_triton()) arguments = std::memcpy(longer.data(), arguments, bytes - archive::kTritonArguments);
  if (const Status status = device.driver->launch(function, shape, arguments, bytes, stream); status != Status::success)
    device.driver->fail(
        status, cat("launching ", v.name, " on ", device.text(), " (", uint64_t{groups}, " workgroups of ", v.threads,
                    " threads, ", v.shared_memory, " bytes of shared memory)"));
}

}  // namespace rapt::gpu
