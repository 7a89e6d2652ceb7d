// Devices over the C boundary: the list, their memory, and preloading kernels.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "api/guard.hpp"
#include "api/op.hpp"
#include "base/versioned.hpp"
#include "gpu/device.hpp"
#include "gpu/gpu.hpp"
#include "gpu/memory.hpp"
#include "kernels/siblings.hpp"
#include "problem/c_problem.hpp"
#include "problem/tensor.hpp"

namespace rapt {

namespace {

// True for a GPU, false for the host; throws for anything else.
bool on_gpu(rapt_device device) {
  if (device.type == RAPT_ROCM || device.type == RAPT_CUDA) return true;
  if (device.type == RAPT_CPU && device.id == 0) return false;
  throw Error(RAPT_INVALID_ARGUMENT, cat("device is ", device_text(device), ", must be cpu, hip or cuda"));
}

rapt_device_info no_details() {
  rapt_device_info info = {};
  info.name = info.arch = info.target = info.runtime = info.library = info.time_model = info.archive = "";
  return info;
}

rapt_device_info describe_host() {
  rapt_device_info info = no_details();
  info.name = "the host";
  info.compute_units = static_cast<int32_t>(std::max(std::thread::hardware_concurrency(), 1u));
  return info;
}

rapt_device_info describe_gpu(rapt_device device) {
  const gpu::Device& d = gpu::device(device);
  rapt_device_info info = no_details();
  info.name = d.name.c_str();
  info.arch = d.arch.c_str();
  info.archive = code_of(d.arch).data();  // a literal, or d.arch itself: both end with a 0
  info.target = d.target.c_str();
  info.runtime = d.driver->runtime().c_str();
  info.library = d.driver->library().c_str();
  info.memory = d.memory;
  info.compute_units = d.compute_units;
  d.driver->add_details(info);
  return info;
}

void* allocate_on_host(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = bytes > SIZE_MAX - 63 ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (data == nullptr) throw Error(RAPT_OUT_OF_MEMORY, cat("the host has no memory for ", uint64_t{bytes}, " bytes"));
  return data;
}

}  // namespace

}  // namespace rapt

using namespace rapt;

extern "C" {

rapt_status rapt_device_count(rapt_device_type type, int32_t* count) {
  return guarded([&] {
    require(count, "count");
    *count = 0;
    *count = on_gpu({type, 0}) ? gpu::device_count(type) : 1;
  });
}

rapt_status rapt_describe_device(rapt_device device, rapt_device_info* info) {
  return guarded([&] {
    require(info, "info");
    write_versioned("info", info, on_gpu(device) ? describe_gpu(device) : describe_host());
  });
}

rapt_status rapt_device_alloc(rapt_device device, size_t bytes, void** data) {
  return guarded([&] {
    require(data, "data");
    *data = on_gpu(device) ? gpu::allocate(device, bytes) : allocate_on_host(bytes);
  });
}

rapt_status rapt_device_free(rapt_device device, void* data) {
  return guarded([&] {
    if (on_gpu(device)) gpu::release(device, data);
    else std::free(data);
  });
}

rapt_status rapt_device_copy(rapt_device to_device, void* to, rapt_device from_device, const void* from, size_t bytes) {
  return guarded([&] {
    const bool to_gpu = on_gpu(to_device), from_gpu = on_gpu(from_device);
    if (bytes == 0) return;
    require(to, "to");
    require(from, "from");
    if (to_gpu || from_gpu) gpu::copy(to_gpu ? to_device : from_device, to, from, bytes);
    else std::memcpy(to, from, bytes);
  });
}

rapt_status rapt_device_synchronize(rapt_device device) {
  return guarded([&] {
    if (on_gpu(device)) gpu::synchronize(device);
  });
}

rapt_status rapt_preload(rapt_device device, const rapt_problem* problem, rapt_op op) {
  return guarded([&] {
    if (!on_gpu(device)) return;
    if (problem == nullptr) return gpu::preload(device);
    gpu::preload(from_c(*problem), checked_op(op), device);
  });
}
}
