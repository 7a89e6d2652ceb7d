// A HIP library without a GPU: it answers every call of the driver as FAKE_HIP says, and computes nothing. Working
// calls are tested on the simulator. FAKE_LACKS leaves one function out.
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rapt::gpu {
struct HipPointerAttributes;  // the driver's: clang's sanitizer compares a function's type with that of its pointer
}

#define FAKE extern "C" __attribute__((visibility("default")))

// The failure or difference that a test may set between calls.
extern "C" {
__attribute__((visibility("default"))) const char* fake_hip_mode = std::getenv("FAKE_HIP");
}

namespace {

thread_local int t_device = 0, t_last = 0;

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kLaunchFailure = 719, kInvalidImage = 200,
              kNotSupported = 801;

bool mode(const char* name) { return fake_hip_mode && std::strcmp(fake_hip_mode, name) == 0; }

int failed(int error) { return t_last = error; }

// The status of the function of this name: a failure if the mode is its name.
int result(const char* name) { return mode(name) ? failed(kLaunchFailure) : 0; }

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
FAKE int hipGetLastError() { return std::exchange(t_last, 0); }
FAKE int hipRuntimeGetVersion(int* version) { return *version = 60300042, 0; }
FAKE int hipGetDeviceCount(int* count) {
  *count = mode("no_device") ? 0 : 1;
  return mode("no_device") ? kNoDevice : 0;
}
FAKE int hipGetDevice(int* device) { return *device = t_device, result("hipGetDevice"); }
FAKE int hipSetDevice(int device) { return result("hipSetDevice") ? t_last : (t_device = device, 0); }
FAKE int hipDeviceGetName(char* name, int, int) { return std::strcpy(name, "Fake"), 0; }
FAKE int hipDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute >= 10000) return kInvalidValue;  // a release that does not know them
  return *value = attribute == 63 ? 228 : 0, 0;
}
FAKE int hipDeviceTotalMem(size_t* bytes, int) { return *bytes = 1 << 20, 0; }
FAKE int hipDeviceSynchronize() { return result("hipDeviceSynchronize"); }
FAKE int hipPointerGetAttributes(rapt::gpu::HipPointerAttributes* attributes, const void* pointer) {
  struct {
    int type, device;
    const void *device_pointer, *host_pointer;
    int managed;
    unsigned flags;
  } found = {2, 0, pointer, nullptr, 0, 0};
  return std::memcpy(attributes, &found, sizeof found), result("hipPointerGetAttributes");
}
// As HIP's own memory is.
static void* aligned(size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }

FAKE int hipMalloc(void** data, size_t bytes) {
  if (mode("out_of_memory")) return failed(kOutOfMemory);
  return result("hipMalloc") ? t_last : (*data = aligned(bytes), 0);
}
FAKE int hipFree(void* data) { return result("hipFree") ? t_last : (std::free(data), 0); }
FAKE int hipMemcpy(void* to, const void* from, size_t bytes, int) {
  return result("hipMemcpy") ? t_last : (std::memcpy(to, from, bytes), 0);
}
FAKE int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  return result("hipMemcpyAsync") ? t_last : (std::memcpy(to, from, bytes), 0);
}
FAKE int hipMemsetAsync(void* to, int value, size_t bytes, void*) {
  return result("hipMemsetAsync") ? t_last : (std::memset(to, value, bytes), 0);
}
FAKE int hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t rows, void*) {
  for (size_t row = 0; row < rows; ++row) std::memset(static_cast<char*>(to) + row * pitch, value, width);
  return result("hipMemset2DAsync") ? t_last : 0;
}
FAKE int hipMallocAsync(void** data, size_t bytes, void*) {
  return result("hipMallocAsync") ? t_last : (*data = aligned(bytes), 0);
}
FAKE int hipFreeAsync(void* data, void*) { return result("hipFreeAsync") ? t_last : (std::free(data), 0); }
FAKE int hipStreamGetDevice(void*, int* device) { return *device = 0; }
FAKE int hipStreamSynchronize(void*) { return result("hipStreamSynchronize"); }
FAKE int hipStreamIsCapturing(void*, int* capturing) { return *capturing = 0, result("hipStreamIsCapturing"); }
FAKE int hipModuleGetFunction(void** function, void* module, const char*) {
  return *function = module, result("hipModuleGetFunction");
}
FAKE int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                               void**, void**) {
  return result("hipModuleLaunchKernel");
}
FAKE int hipEventCreate(void** event) { return result("hipEventCreate") ? t_last : (*event = std::malloc(1), 0); }
FAKE int hipEventDestroy(void* event) { return result("hipEventDestroy") ? t_last : (std::free(event), 0); }
FAKE int hipEventRecord(void*, void*) { return result("hipEventRecord"); }
FAKE int hipEventSynchronize(void*) { return result("hipEventSynchronize"); }
FAKE int hipEventElapsedTime(float* milliseconds, void*, void*) {
  return *milliseconds = 2.5F, result("hipEventElapsedTime");
}
FAKE int hipGetDeviceProperties(void* properties, int) {  // the layout of ROCm 5
  const char* arch = mode("other_arch")   ? "gfx1030"
                     : mode("strix_halo") ? "gfx1151"
                     : mode("no_arch")    ? ""
                                          : "gfx942:sramecc+:xnack-";
  return std::strcpy(static_cast<char*>(properties) + 396, arch), 0;
}
#ifndef FAKE_LACKS
FAKE int hipModuleLoadData(void** module, const void*) {
  static int loaded;
  if (mode("load_fails")) return failed(kInvalidImage);
  return *module = &loaded, result("hipModuleLoadData");
}
#endif
