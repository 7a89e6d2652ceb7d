#include "sim/hip/module/launch.hpp"

#include "sim/hip/log.hpp"

#include <cstring>
#include <limits>

namespace rapt::sim::hip {

namespace {

std::size_t explicit_size(const Kernel& kernel) {
  std::size_t size = 0;
  for (const Argument& argument : kernel.arguments)
    if (is_explicit(argument)) size = std::max<std::size_t>(size, std::size_t{argument.offset} + argument.size);
  return size;
}

std::vector<std::byte> from_pointers(const Kernel& kernel, void** arguments) {
  std::vector<std::byte> bytes(explicit_size(kernel));
  std::size_t index = 0;
  for (const Argument& argument : kernel.arguments) {
    if (!is_explicit(argument)) continue;
    const void* from = arguments[index++];
    need(from != nullptr, Error::invalid_value, "an argument's pointer is null");
    std::memcpy(bytes.data() + argument.offset, from, argument.size);
  }
  return bytes;
}

std::vector<std::byte> from_buffer(const Kernel& kernel, void** extra) {
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  for (std::size_t i = 0; reinterpret_cast<std::uintptr_t>(extra[i]) != extra_end; i += 2) {
    need(i < 4, Error::invalid_value, "`extra` has no end");
    const auto marker = reinterpret_cast<std::uintptr_t>(extra[i]);
    need(marker == extra_pointer || marker == extra_size, Error::invalid_value, "`extra` has an unknown marker");
    if (marker == extra_pointer) buffer = extra[i + 1];
    else size = static_cast<const std::size_t*>(extra[i + 1]);
  }
  need(size != nullptr && (buffer != nullptr || *size == 0), Error::invalid_value, "`extra` has no buffer or no size");
  // ROCm accepts a buffer that is longer (one structure for several kernels) or shorter than the kernel's arguments.
  const std::size_t taken = kernel.arguments.empty() ? kernel.descriptor.kernarg_size : explicit_size(kernel);
  if (*size < taken)
    log("hipModuleLaunchKernel: `extra` has " + std::to_string(*size) + " bytes, and the arguments of " + kernel.name +
        " take " + std::to_string(taken) + ": the others read as zero");
  const auto* begin = static_cast<const std::byte*>(buffer);
  return {begin, begin + std::min<std::size_t>(*size, kernel.descriptor.kernarg_size)};
}

std::vector<std::byte> pack(const Kernel& kernel, void** arguments, void** extra) {
  need(arguments == nullptr || extra == nullptr, Error::invalid_value, "both kernelParams and extra");
  if (extra != nullptr) return from_buffer(kernel, extra);
  need(!kernel.arguments.empty() || kernel.descriptor.kernarg_size == 0, Error::invalid_value,
       "the code object does not describe the kernel's arguments: they can only be passed by `extra`");
  if (explicit_size(kernel) == 0) return {};
  need(arguments != nullptr, Error::invalid_value, "the kernel has arguments, and none are given");
  return from_pointers(kernel, arguments);
}

// Errors in the order in which ROCm finds them.
void check(const Function& function, const LaunchShape& shape) {
  const Kernel& kernel = function.kernel();
  const Device& device = Runtime::get().device(function.device);
  const auto& [grid, block, dynamic_lds] = shape;
  need(grid.x != 0 && grid.y != 0 && grid.z != 0, Error::invalid_value, "an empty grid");
  need(block.x != 0 && block.y != 0 && block.z != 0, Error::invalid_value, "an empty workgroup");
  const std::uint32_t grids[3] = {grid.x, grid.y, grid.z}, blocks[3] = {block.x, block.y, block.z};
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    need(std::uint64_t{grids[i]} * blocks[i] <= std::numeric_limits<std::uint32_t>::max(), Error::invalid_value,
         "more than 2^32 - 1 work-items in one dimension");
    threads *= blocks[i];
    need(threads <= device.properties.max_group_size, Error::invalid_value, "too many work-items in a workgroup");
  }
  const std::size_t lds = device.properties.lds_bytes_per_group;
  need(dynamic_lds <= lds, Error::invalid_value, "more LDS than the device has");
  need(threads <= kernel.max_flat_workgroup_size, Error::launch_failure,
       "the workgroup is larger than the kernel was compiled for");
  for (int i = 0; i < 3; i++)
    need(kernel.required_workgroup_size[i] == 0 || kernel.required_workgroup_size[i] == blocks[i],
         Error::launch_failure, "the kernel was compiled for another size of workgroups");
  need(dynamic_lds + kernel.descriptor.group_segment_fixed_size <= lds, Error::launch_out_of_resources,
       "more LDS than the device has");
}

}  // namespace

KernelWork make_launch(const std::shared_ptr<Function>& function, const LaunchShape& shape, void** arguments,
                       void** extra) {
  check(*function, shape);
  KernelWork work{function, shape.grid, shape.block};
  work.dynamic_lds = static_cast<std::uint32_t>(shape.dynamic_lds);
  work.arguments = pack(function->kernel(), arguments, extra);
  return work;
}

KernelWork make_ragged_launch(const std::shared_ptr<Function>& function, Dim3 items, Dim3 block,
                              std::size_t dynamic_lds, void** arguments, void** extra) {
  need(items.x != 0 && items.y != 0 && items.z != 0, Error::invalid_value, "an empty grid");
  need(block.x != 0 && block.y != 0 && block.z != 0, Error::invalid_configuration, "an empty workgroup");
  block = {std::min(block.x, items.x), std::min(block.y, items.y), std::min(block.z, items.z)};
  const std::uint32_t last[3] = {items.x % block.x, items.y % block.y, items.z % block.z};
  need(!function->kernel().uniform_workgroups || (last[0] == 0 && last[1] == 0 && last[2] == 0), Error::invalid_value,
       "the kernel was compiled for grids without a ragged end");
  // A ragged grid may have as many work-items as a whole one, so its number of whole workgroups is checked.
  const auto groups = [](std::uint32_t n, std::uint32_t size) { return n / size + (n % size != 0 ? 1 : 0); };
  const Dim3 grid{groups(items.x, block.x), groups(items.y, block.y), groups(items.z, block.z)};
  const Dim3 whole{std::max(items.x / block.x, 1U), std::max(items.y / block.y, 1U), std::max(items.z / block.z, 1U)};
  KernelWork work = make_launch(function, {whole, block, dynamic_lds}, arguments, extra);
  work.grid = grid;
  std::copy(std::begin(last), std::end(last), std::begin(work.last_block));
  return work;
}

void check_cooperative(const KernelWork& work, const Device& device) {
  const unsigned fit =
      groups_per_unit(*work.function, device, work.block.x * work.block.y * work.block.z, work.dynamic_lds);
  const auto groups = std::uint64_t{work.grid.x} * work.grid.y * work.grid.z;
  need(groups <= std::uint64_t{fit} * multiprocessors(device.properties), Error::cooperative_launch_too_large,
       "more workgroups than can run at once");
}

}  // namespace rapt::sim::hip
