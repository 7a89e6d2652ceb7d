// hipGetDeviceProperties in both layouts. Values that are not in kernels/architectures.hpp are the ones that ROCm
// reports for every architecture.
#include "sim/hip/abi/device.hpp"
#include "sim/hip/device_properties.hpp"
#include "sim/hip/module/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>

namespace rapt::sim::hip {

namespace {

constexpr int int_max = std::numeric_limits<int>::max();

void copy_text(char (&to)[256], std::string_view text) {
  const std::size_t size = std::min(text.size(), sizeof(to) - 1);
  std::memcpy(to, text.data(), size);
  to[size] = 0;
}

// The fields that both layouts have.
template <typename P>
P common(const Device& device) {
  const Properties& from = device.properties;
  P p{};
  copy_text(p.name, from.product);
  copy_text(p.gcnArchName, from.target);
  p.totalGlobalMem = from.memory_bytes;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = from.lds_bytes_per_group;
  p.regsPerBlock = 65536;
  p.warpSize = static_cast<int>(from.lanes);
  p.maxThreadsPerBlock = static_cast<int>(from.max_group_size);
  std::fill(std::begin(p.maxThreadsDim), std::end(p.maxThreadsDim), p.maxThreadsPerBlock);
  p.maxGridSize[0] = int_max;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.clockRate = static_cast<int>(from.clock_khz);
  p.memoryClockRate = static_cast<int>(from.memory_clock_khz);
  p.memoryBusWidth = static_cast<int>(from.memory_bus_bits);
  p.totalConstMem = p.memPitch = int_max;
  const Version version = arch_version(from.arch);
  p.major = version.major;
  p.minor = version.minor;
  p.multiProcessorCount = static_cast<int>(multiprocessors(from));
  p.l2CacheSize = static_cast<int>(from.l2_bytes);
  p.maxThreadsPerMultiProcessor = static_cast<int>(from.waves_per_simd * from.simds_per_unit * from.lanes *
                                                   (from.compute_units / multiprocessors(from)));
  p.clockInstructionRate = static_cast<int>(from.wall_clock_khz);
  p.arch = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0};
  p.concurrentKernels = p.canMapHostMemory = p.cooperativeLaunch = p.cooperativeMultiDeviceLaunch = 1;
  p.cooperativeMultiDeviceUnmatchedFunc = p.cooperativeMultiDeviceUnmatchedGridDim = 1;
  p.cooperativeMultiDeviceUnmatchedBlockDim = p.cooperativeMultiDeviceUnmatchedSharedMem = 1;
  p.pciBusID = device.id + 1;
  p.integrated = from.integrated ? 1 : 0;
  p.maxTexture1DLinear = int_max;
  p.maxTexture1D = p.maxTexture2D[0] = p.maxTexture2D[1] = 16384;
  p.maxTexture3D[0] = p.maxTexture3D[1] = 16384;
  p.maxTexture3D[2] = 8192;
  p.textureAlignment = p.texturePitchAlignment = 256;
  p.isLargeBar = p.managedMemory = p.concurrentManagedAccess = 1;
  return p;
}

}  // namespace

// The last two digits are hexadecimal (AMDGPUUsage, "Processors"): gfx90a is 9.0.10.
Version arch_version(Arch arch) {
  Version version{};
  const auto digits = name(arch).substr(3);
  const char* const end = digits.data() + digits.size();
  std::from_chars(digits.data(), end - 2, version.major);
  std::from_chars(end - 2, end - 1, version.minor, 16);
  std::from_chars(end - 1, end, version.stepping, 16);
  return version;
}

PropertiesR0600 properties_r0600(const Device& device) {
  auto p = common<PropertiesR0600>(device);
  char uuid[17];
  std::snprintf(uuid, sizeof(uuid), "%08x%08x", device.properties.pci_device_id, static_cast<unsigned>(device.id));
  std::memcpy(p.uuid.bytes, uuid, sizeof(p.uuid.bytes));
  p.sharedMemPerBlockOptin = p.sharedMemPerBlock;
  p.sharedMemPerMultiprocessor = p.sharedMemPerBlock * static_cast<std::size_t>(p.multiProcessorCount);
  p.regsPerMultiprocessor = p.regsPerBlock;
  p.maxBlocksPerMultiProcessor = p.maxThreadsPerMultiProcessor / p.maxThreadsPerBlock;
  p.surfaceAlignment = 256;
  p.maxTexture1DMipmap = int_max;
  p.asyncEngineCount = 8;
  p.deviceOverlap = p.streamPrioritiesSupported = p.hostRegisterSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = p.memoryPoolsSupported = p.hostNativeAtomicSupported = 1;
  p.persistingL2CacheMaxSize = p.l2CacheSize;
  p.unifiedAddressing = p.canUseHostPointerForRegisteredMem = 1;
  return p;
}

PropertiesR0000 properties_r0000(const Device& device) {
  auto p = common<PropertiesR0000>(device);
  const Version version = arch_version(device.arch);
  p.gcnArch = version.major * 100 + version.minor * 10 + version.stepping;
  return p;
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

// The device whose properties meet all requested ones; 0 requests nothing.
template <typename P>
Error choose(const char* function, int* chosen, const P* wanted, P (*properties_of)(const Device&)) {
  return api(function, [&] {
    need_pointer(chosen);
    need_pointer(wanted);
    for (const auto& device : Runtime::get().devices()) {
      const P p = properties_of(*device);
      const bool meets = p.major >= wanted->major && (p.major > wanted->major || p.minor >= wanted->minor) &&
                         p.totalGlobalMem >= wanted->totalGlobalMem &&
                         p.sharedMemPerBlock >= wanted->sharedMemPerBlock &&
                         p.maxThreadsPerBlock >= wanted->maxThreadsPerBlock && p.warpSize >= wanted->warpSize &&
                         p.multiProcessorCount >= wanted->multiProcessorCount;
      if (!meets) continue;
      *chosen = device->id;
      return Error::success;
    }
    *chosen = 0;
    return Error::success;
  });
}

Error get_r0000(const char* function, PropertiesR0000* p, int device) {
  return api(function, [&] {
    need_pointer(p);
    *p = properties_r0000(Runtime::get().device(device));
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipGetDeviceProperties(PropertiesR0000* p, int device) { return get_r0000(__func__, p, device); }
RAPT_HIP Error hipGetDevicePropertiesR0000(PropertiesR0000* p, int device) { return get_r0000(__func__, p, device); }
RAPT_HIP Error hipGetDevicePropertiesR0600(PropertiesR0600* p, int device) {
  return api(__func__, [&] {
    need_pointer(p);
    *p = properties_r0600(Runtime::get().device(device));
    return Error::success;
  });
}
RAPT_HIP Error hipChooseDevice(int* device, const PropertiesR0000* p) {
  return choose(__func__, device, p, properties_r0000);
}
RAPT_HIP Error hipChooseDeviceR0000(int* device, const PropertiesR0000* p) {
  return choose(__func__, device, p, properties_r0000);
}
RAPT_HIP Error hipChooseDeviceR0600(int* device, const PropertiesR0600* p) {
  return choose(__func__, device, p, properties_r0600);
}
