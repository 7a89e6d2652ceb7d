// A HIP library without a GPU: every call that the driver makes, answered as FAKE_HIP says. It computes nothing; what a
// working one does is tested on the simulator. FAKE_LACKS leaves one function out.
#include <cstdlib>
#include <cstring>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

thread_local int t_device = 0;

bool mode(const char* name) {
  const char* is = std::getenv("FAKE_HIP");
  return is && std::strcmp(is, name) == 0;
}

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kLaunchFailure = 719, kInvalidImage = 200,
              kNotSupported = 801;

}  // namespace

FAKE const char* hipGetErrorName(int error) {
  return error == kLaunchFailure  ? "hipErrorLaunchFailure"
         : error == kInvalidImage ? "hipErrorInvalidImage"
         : error == kNotSupported ? "hipErrorNotSupported"
                                  : "hipErrorOther";
}
FAKE const char* hipGetErrorString(int error) {
  return error == kLaunchFailure ? "unspecified launch failure" : "text";
}
FAKE int hipGetLastError() { return 0; }
FAKE int hipRuntimeGetVersion(int* version) { return *version = 60300042, 0; }
FAKE int hipGetDeviceCount(int* count) {
  *count = mode("no_device") ? 0 : 1;
  return mode("no_device") ? kNoDevice : 0;
}
FAKE int hipGetDevice(int* device) { return *device = t_device, 0; }
FAKE int hipSetDevice(int device) { return t_device = device, 0; }
FAKE int hipDeviceGetName(char* name, int, int) { return std::strcpy(name, "Fake"), 0; }
FAKE int hipDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute >= 10000) return kInvalidValue;  // a release that does not know them
  return *value = attribute == 63 ? 228 : 0, 0;
}
FAKE int hipDeviceTotalMem(size_t* bytes, int) { return *bytes = 1 << 20, 0; }
FAKE int hipDeviceSynchronize() { return 0; }
FAKE int hipPointerGetAttributes(void* attributes, const void* pointer) {
  struct {
    int type, device;
    const void *device_pointer, *host_pointer;
    int managed;
    unsigned flags;
  } found = {2, 0, pointer, nullptr, 0, 0};
  return std::memcpy(attributes, &found, sizeof found), 0;
}
FAKE int hipMalloc(void** data, size_t bytes) {
  if (mode("out_of_memory")) return kOutOfMemory;
  return *data = std::malloc(bytes), 0;
}
FAKE int hipFree(void* data) { return std::free(data), 0; }
FAKE int hipMemcpy(void* to, const void* from, size_t bytes, int) { return std::memcpy(to, from, bytes), 0; }
FAKE int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  return std::memcpy(to, from, bytes), 0;
}
FAKE int hipStreamSynchronize(void*) { return 0; }
FAKE int hipStreamIsCapturing(void*, int* capturing) { return *capturing = 0, 0; }
FAKE int hipModuleGetFunction(void** function, void* module, const char*) { return *function = module, 0; }
FAKE int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                               void**, void**) {
  return mode("launch_fails") ? kLaunchFailure : 0;
}
FAKE int hipEventCreate(void** event) { return *event = std::malloc(1), 0; }
FAKE int hipEventDestroy(void* event) { return std::free(event), 0; }
FAKE int hipEventRecord(void*, void*) { return 0; }
FAKE int hipEventSynchronize(void*) { return 0; }
FAKE int hipEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 2.5F, 0; }
FAKE int hipGetDeviceProperties(void* properties, int) {  // the layout of ROCm 5
  const char* arch = mode("other_arch") ? "gfx1030" : mode("no_arch") ? "" : "gfx942:sramecc+:xnack-";
  return std::strcpy(static_cast<char*>(properties) + 396, arch), 0;
}
#ifndef FAKE_LACKS
FAKE int hipModuleLoadData(void** module, const void*) {
  static int loaded;
  if (mode("load_fails")) return kInvalidImage;
  return *module = &loaded, 0;
}
#endif
