// What HIP says about kernels.
#include "sim/hip/device_properties.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/module/launch.hpp"

using namespace rapt::sim;
using namespace rapt::sim::hip;

namespace {

int room_for_lds(const Function& function, const Device& device) {
  return static_cast<int>(device.properties.lds_bytes_per_group) -
         static_cast<int>(function.kernel().descriptor.group_segment_fixed_size);
}

int max_dynamic_lds(const Function& function, const Device& device) {
  const int set = function.max_dynamic_lds;
  return set < 0 ? room_for_lds(function, device) : set;
}

int registers(const Function& function) { return static_cast<int>(function.kernel().vgpr_count); }

int binary_version(Arch arch) {
  const Version version = arch_version(arch);
  return version.major * 10 + version.minor;
}

void set_attribute(Function& function, const Device& device, int attribute, int value) {
  switch (attribute) {
    case function_max_dynamic_shared_size_bytes:
      need(value >= 0 && value <= room_for_lds(function, device), Error::invalid_value, "more LDS than there is");
      function.max_dynamic_lds = value;
      return;
    case function_preferred_shared_memory_carveout:
      need(value >= -1 && value <= 100, Error::invalid_value, "not a percentage");
      return;
    default: throw Failure(Error::invalid_value, "an attribute that cannot be set");
  }
}

bool known_cache_config(int config) { return config >= 0 && config <= 3; }
bool known_bank_config(int config) { return config >= 0 && config <= 2; }

}  // namespace

RAPT_HIP Error hipFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle handle) {
  return api(__func__, [&] {
    need_pointer(value);
    const auto function = find_function(handle);
    const Kernel& kernel = function->kernel();
    const Device& device = Runtime::get().device(function->device);
    switch (attribute) {
      case function_max_threads_per_block: *value = static_cast<int>(kernel.max_flat_workgroup_size); break;
      case function_shared_size_bytes: *value = static_cast<int>(kernel.descriptor.group_segment_fixed_size); break;
      case function_local_size_bytes: *value = static_cast<int>(kernel.descriptor.private_segment_fixed_size); break;
      case function_num_regs: *value = registers(*function); break;
      case function_ptx_version:
      case function_binary_version: *value = binary_version(device.arch); break;
      case function_max_dynamic_shared_size_bytes: *value = max_dynamic_lds(*function, device); break;
      case function_const_size_bytes:
      case function_cache_mode_ca:
      case function_preferred_shared_memory_carveout: *value = 0; break;
      default: return Error::invalid_value;
    }
    return Error::success;
  });
}

RAPT_HIP Error hipFuncGetAttributes(FunctionAttributes* attributes, const void* host) {
  return api(__func__, [&] {
    need_pointer(attributes);
    Device& device = current_device();
    const auto function = find_host_function(host, device);
    const Kernel& kernel = function->kernel();
    *attributes = {};
    attributes->binary_version = attributes->ptx_version = binary_version(device.arch);
    attributes->local_size_bytes = kernel.descriptor.private_segment_fixed_size;
    attributes->shared_size_bytes = kernel.descriptor.group_segment_fixed_size;
    attributes->max_dynamic_shared_size_bytes = max_dynamic_lds(*function, device);
    attributes->max_threads_per_block = static_cast<int>(kernel.max_flat_workgroup_size);
    attributes->num_regs = registers(*function);
    return Error::success;
  });
}

RAPT_HIP Error hipFuncSetAttribute(const void* host, int attribute, int value) {
  return api(__func__, [&] {
    Device& device = current_device();
    // ROCm also accepts a function of a module here.
    auto function = host != nullptr ? handles<Function>().find(const_cast<void*>(host)) : nullptr;
    if (!function) function = find_host_function(host, device);
    set_attribute(*function, device, attribute, value);
    return Error::success;
  });
}

RAPT_HIP Error hipFuncSetCacheConfig(const void* host, int config) {
  return api(__func__, [&] {
    need(host != nullptr, Error::invalid_device_function, "null pointer");
    return known_cache_config(config) ? Error::success : Error::invalid_value;
  });
}

RAPT_HIP Error hipFuncSetSharedMemConfig(const void* host, int config) {
  return api(__func__, [&] {
    need(host != nullptr, Error::invalid_device_function, "null pointer");
    return known_bank_config(config) ? Error::success : Error::invalid_value;
  });
}

RAPT_HIP Error hipGetFuncBySymbol(FunctionHandle* function, const void* host) {
  return api(__func__, [&] {
    need_pointer(function);
    *function = find_host_function(host, current_device()).get();
    return Error::success;
  });
}

RAPT_HIP const char* hipKernelNameRef(FunctionHandle handle) {
  const auto function = handles<Function>().find(handle);
  return function ? function->kernel().name.c_str() : nullptr;
}

RAPT_HIP const char* hipKernelNameRefByPtr(const void* host, StreamHandle) {
  const char* name = nullptr;
  api(__func__, [&] {
    name = find_host_function(host, current_device())->kernel().name.c_str();
    return Error::success;
  });
  return name;
}
