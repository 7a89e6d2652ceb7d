#include "gpu/device.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "problem/error.hpp"

namespace rapt::gpu {

namespace {

std::string target_of(const Hip& hip, int32_t id) {
  // R0600 is asked first: where both exist, the other is there for old programs alone.
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

// An attribute that older releases do not know, or `otherwise`.
int32_t attribute_or(const Hip& hip, int attribute, int32_t id, int32_t otherwise) {
  int value = 0;
  if (hip.hipDeviceGetAttribute(&value, attribute, id) == kHipSuccess && value > 0) return value;
  hip.forget_error();
  return otherwise;
}

// Dies of MI300 and MI350 where the release does not say: a device may be a part of the card.
int32_t xcds_of(const std::string& arch, int32_t compute_units) {
  const int32_t units_each = arch == "gfx942" ? 38 : arch == "gfx950" ? 32 : 0;
  return units_each == 0 ? 1 : std::clamp((compute_units + units_each / 2) / units_each, 1, 8);
}

Device ask(const Hip& hip, int32_t id) {
  Device d;
  d.id = id;
  d.target = target_of(hip, id);
  d.arch = arch_of(d.target);
  char name[256] = "";
  hip.check(hip.hipDeviceGetName(name, sizeof name, id), "asking for the name of hip:", id);
  d.name = name;
  size_t bytes = 0;
  hip.check(hip.hipDeviceTotalMem(&bytes, id), "asking for the memory of hip:", id);
  d.memory = bytes;
  int units = 0;
  hip.check(hip.hipDeviceGetAttribute(&units, kHipAttributeMultiprocessorCount, id),
            "asking for the compute units of hip:", id);
  const bool pairs = d.arch.starts_with("gfx1");  // RDNA's multiprocessors are pairs of compute units
  d.compute_units = attribute_or(hip, kHipAttributePhysicalMultiprocessorCount, id, pairs ? 2 * units : units);
  d.xcds = attribute_or(hip, kHipAttributeNumberOfXccs, id, xcds_of(d.arch, d.compute_units));
  d.reads_host_memory = attribute_or(hip, kHipAttributePageableMemoryAccess, id, 0) != 0;
  return d;
}

const Hip& opened_for(int32_t id) {
  try {
    return Hip::get();
  } catch (const Error& e) {
    throw Error(e.status(), cat("hip:", id, " cannot be used: ", e.what()));
  }
}

struct Devices {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Device>> asked;  // by id; null until then
};

Devices& devices() {
  static Devices& all = *new Devices;
  return all;
}

}  // namespace

std::string arch_of(const std::string& target) { return target.substr(0, target.find(':')); }

int32_t device_count() {
  const Hip& hip = Hip::get();
  int count = 0;
  const HipError error = hip.hipGetDeviceCount(&count);
  if (error == kHipErrorNoDevice) {
    hip.forget_error();
    return 0;
  }
  hip.check(error, "counting HIP's devices");
  return count;
}

const Device& device(int32_t id) {
  const Hip& hip = opened_for(id);
  Devices& all = devices();
  const std::lock_guard lock(all.mutex);
  if (id >= 0 && static_cast<size_t>(id) < all.asked.size() && all.asked[id]) return *all.asked[id];
  const int32_t count = device_count();
  if (count == 0)
    throw Error(RAPT_DEVICE_ERROR,
                cat("hip:", id, " does not exist: the HIP library ", hip.path(), " is there, but finds no device"));
  if (id < 0 || id >= count)
    throw Error(RAPT_INVALID_ARGUMENT, cat("hip:", id, " does not exist, HIP has ", count, " device",
                                           count == 1 ? ": hip:0" : cat("s: hip:0 to hip:", count - 1)));
  all.asked.resize(static_cast<size_t>(count));
  all.asked[id] = std::make_unique<const Device>(ask(hip, id));
  return *all.asked[id];
}

}  // namespace rapt::gpu
