#include "gpu/driver/hip/properties.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "kernels/siblings.hpp"

namespace rapt::gpu {

namespace {

std::string target_of(const Hip& hip, int32_t id) {
  // R0600 comes first: if both exist, the other function is for old programs.
  const bool since6 = hip.hipGetDevicePropertiesR0600 != nullptr;
  const auto properties = std::make_unique<char[]>(kHipPropertiesBytes);
  std::memset(properties.get(), 0, kHipPropertiesBytes);
  hip.check((since6 ? hip.hipGetDevicePropertiesR0600 : hip.hipGetDeviceProperties)(properties.get(), id),
            "asking for the properties of hip:", id);
  const char* target = properties.get() + (since6 ? kGcnArchNameR0600 : kGcnArchNameR0000);
  const std::string text(target, strnlen(target, kGcnArchNameBytes));
  if (!text.starts_with("gfx"))
    throw Error(RAPT_DEVICE_ERROR, cat("the HIP library ", hip.path(), " says that hip:", id,
                                       " has the architecture \"", text, "\", expected gfx..."));
  return text;
}

// An attribute that older releases lack, or `otherwise`.
int32_t attribute_or(const Hip& hip, int attribute, int32_t id, int32_t otherwise) {
  int value = 0;
  if (hip.hipDeviceGetAttribute(&value, attribute, id) == kHipSuccess && value > 0) return value;
  hip.forget_error();
  return otherwise;
}

// The number of dies if the release does not report it: a device may be a part of the card.
int32_t xcds_of(const Architecture* known, int32_t compute_units) {
  if (known == nullptr) return 1;
  const auto units_each = static_cast<int32_t>(known->compute_units_per_xcd);
  return std::clamp((compute_units + units_each / 2) / units_each, 1, 8);
}

}  // namespace

DeviceProperties hip_properties(const Hip& hip, int32_t id) {
  DeviceProperties d;
  d.target = target_of(hip, id);
  d.arch = d.target.substr(0, d.target.find(':'));
  char name[256] = "";
  hip.check(hip.hipDeviceGetName(name, sizeof name, id), "asking for the name of hip:", id);
  d.name = name;
  size_t bytes = 0;
  hip.check(hip.hipDeviceTotalMem(&bytes, id), "asking for the memory of hip:", id);
  d.memory = bytes;
  int units = 0;
  hip.check(hip.hipDeviceGetAttribute(&units, kHipAttributeMultiprocessorCount, id),
            "asking for the compute units of hip:", id);
  const Architecture* const known = find_gpu(d.arch);
  const int each = known ? static_cast<int>(known->units_per_multiprocessor) : 1;
  d.compute_units = attribute_or(hip, kHipAttributePhysicalMultiprocessorCount, id, each * units);
  d.multiprocessors = units;
  if (known) d.simds = each * static_cast<int>(known->simds_per_unit);
  d.xcds = attribute_or(hip, kHipAttributeNumberOfXccs, id, xcds_of(known, d.compute_units));
  if (known) d.shared_cache_bytes = known->shared_cache_bytes;
  d.reads_host_memory = attribute_or(hip, kHipAttributePageableMemoryAccess, id, 0) != 0;
  return d;
}

}  // namespace rapt::gpu
