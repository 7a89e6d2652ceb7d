// A CUDA driver without a GPU: it answers every call of Rapt's driver as FAKE_CUDA says, and computes nothing.
// FAKE_LACKS leaves one function out.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace rapt::gpu {
struct CudaLaunchConfig;  // the driver's: clang's sanitizer compares a function's type with that of its pointer
struct CudaPoolProperties;
}  // namespace rapt::gpu

#define FAKE extern "C" __attribute__((visibility("default")))

// The failure or difference that a test may set between calls, and the arguments of the last launch.
extern "C" {
__attribute__((visibility("default"))) const char* fake_cuda_mode = std::getenv("FAKE_CUDA");
__attribute__((visibility("default"))) unsigned fake_cuda_grid, fake_cuda_block, fake_cuda_shared, fake_cuda_attributes;
__attribute__((visibility("default"))) int fake_cuda_most_shared;
}

namespace {

using Address = uint64_t;

int primary_context;
thread_local void* t_context = nullptr;

constexpr int kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200, kLaunchFailed = 719;

bool mode(const char* name) { return fake_cuda_mode && std::strcmp(fake_cuda_mode, name) == 0; }

// The status of the function of this name: a failure if the mode is its name.
int result(const char* name) { return mode(name) ? kLaunchFailed : 0; }

int allocate(Address* data, size_t bytes) { return *data = reinterpret_cast<Address>(std::malloc(bytes)), 0; }
int copy(Address to, Address from, size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0;
}

}  // namespace

FAKE int cuGetErrorName(int error, const char** name) {
  *name = error == kLaunchFailed   ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == kInvalidImage ? "CUDA_ERROR_INVALID_IMAGE"
                                   : nullptr;
  return 0;
}
FAKE int cuGetErrorString(int error, const char** text) {
  return *text = error == kLaunchFailed ? "unspecified launch failure" : nullptr, 0;
}
FAKE int cuInit(unsigned) { return mode("no_device") ? kNoDevice : result("cuInit"); }
FAKE int cuDriverGetVersion(int* version) { return *version = mode("old") ? 12040 : 13010, 0; }
FAKE int cuDeviceGetCount(int* count) { return *count = 1, result("cuDeviceGetCount"); }
FAKE int cuDeviceGetName(char* name, int, int) { return std::strcpy(name, "Fake"), 0; }
FAKE int cuDeviceGetAttribute(int* value, int attribute, int) {
  const bool newer = mode("newer"), turing = mode("turing");
  *value = attribute == 16   ? 132
           : attribute == 75 ? (newer    ? 10
                                : turing ? 7
                                         : 9)
           : attribute == 76 ? (newer    ? 3
                                : turing ? 5
                                         : 0)
           : attribute == 97 ? 232448
                             : 0;
  return result("cuDeviceGetAttribute");
}
FAKE int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = 1 << 20, 0; }
FAKE int cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = &primary_context, result("cuDevicePrimaryCtxRetain");
}
FAKE int cuCtxGetCurrent(void** context) { return *context = t_context, result("cuCtxGetCurrent"); }
FAKE int cuCtxSetCurrent(void* context) { return result("cuCtxSetCurrent") ? kLaunchFailed : (t_context = context, 0); }
FAKE int cuCtxGetDevice(int* device) { return *device = 0, result("cuCtxGetDevice"); }
FAKE int cuCtxSynchronize() { return result("cuCtxSynchronize"); }
FAKE int cuMemAlloc_v2(Address* data, size_t bytes) {
  if (mode("out_of_memory")) return kOutOfMemory;
  return result("cuMemAlloc_v2") ? kLaunchFailed : allocate(data, bytes);
}
FAKE int cuMemFree_v2(Address data) {
  return result("cuMemFree_v2") ? kLaunchFailed : (std::free(reinterpret_cast<void*>(data)), 0);
}
FAKE int cuMemPoolCreate(void** pool, const rapt::gpu::CudaPoolProperties*) {
  return *pool = &primary_context, result("cuMemPoolCreate");
}
FAKE int cuMemPoolSetAttribute(void*, int, void*) { return 0; }
FAKE int cuMemAllocFromPoolAsync(Address* data, size_t bytes, void*, void*) {
  return result("cuMemAllocFromPoolAsync") ? kLaunchFailed : allocate(data, bytes);
}
FAKE int cuMemFreeAsync(Address data, void*) {
  return result("cuMemFreeAsync") ? kLaunchFailed : (std::free(reinterpret_cast<void*>(data)), 0);
}
FAKE int cuMemcpy(Address to, Address from, size_t bytes) {
  return result("cuMemcpy") ? kLaunchFailed : copy(to, from, bytes);
}
FAKE int cuMemcpyAsync(Address to, Address from, size_t bytes, void*) {
  return result("cuMemcpyAsync") ? kLaunchFailed : copy(to, from, bytes);
}
FAKE int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void*) {
  return result("cuMemsetD8Async") ? kLaunchFailed : (std::memset(reinterpret_cast<void*>(to), value, bytes), 0);
}
FAKE int cuMemsetD2D8Async(Address to, size_t pitch, unsigned char value, size_t width, size_t rows, void*) {
  for (size_t row = 0; row < rows; ++row) std::memset(reinterpret_cast<char*>(to) + row * pitch, value, width);
  return result("cuMemsetD2D8Async") ? kLaunchFailed : 0;
}
FAKE int cuPointerGetAttributes(unsigned count, const int* asked, void** answers, Address) {
  for (unsigned i = 0; i < count; ++i) {
    const int answer = asked[i] != 2 ? 0 : mode("host_memory") ? 0 : 2;  // the type of memory, of device 0, not managed
    std::memcpy(answers[i], &answer, sizeof answer);
  }
  return result("cuPointerGetAttributes");
}
FAKE int cuStreamSynchronize(void*) { return result("cuStreamSynchronize"); }
FAKE int cuStreamIsCapturing(void*, int* capturing) {
  return *capturing = mode("capturing"), result("cuStreamIsCapturing");
}
FAKE int cuModuleLoadData(void** module, const void*) {
  static int loaded;
  if (mode("load_fails")) return kInvalidImage;
  return *module = &loaded, result("cuModuleLoadData");
}
FAKE int cuModuleGetFunction(void** function, void* module, const char*) {
  return *function = module, result("cuModuleGetFunction");
}
FAKE int cuFuncGetAttribute(int* value, int, void*) { return *value = 1000, result("cuFuncGetAttribute"); }
FAKE int cuFuncSetAttribute(void*, int, int value) {
  return fake_cuda_most_shared = value, result("cuFuncSetAttribute");
}
FAKE int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const uint64_t* sizes,
                                const uint64_t* strides, const unsigned* box, const unsigned*, int, int swizzle, int,
                                int) {
  const uint64_t words[16] = {reinterpret_cast<Address>(address),
                              static_cast<uint64_t>(type),
                              rank,
                              sizes[0],
                              sizes[1],
                              sizes[2],
                              sizes[3],
                              strides[0],
                              strides[1],
                              strides[2],
                              box[0],
                              box[1],
                              static_cast<uint64_t>(swizzle)};
  return std::memcpy(map, words, sizeof words), result("cuTensorMapEncodeTiled");
}
FAKE int cuEventCreate(void** event, unsigned) {
  return result("cuEventCreate") ? kLaunchFailed : (*event = std::malloc(1), 0);
}
FAKE int cuEventDestroy_v2(void* event) { return result("cuEventDestroy_v2") ? kLaunchFailed : (std::free(event), 0); }
FAKE int cuEventRecord(void*, void*) { return result("cuEventRecord"); }
FAKE int cuEventSynchronize(void*) { return result("cuEventSynchronize"); }
FAKE int cuEventElapsedTime(float* milliseconds, void*, void*) {
  return *milliseconds = 2.5F, result("cuEventElapsedTime");
}
#ifndef FAKE_LACKS
FAKE int cuLaunchKernelEx(const rapt::gpu::CudaLaunchConfig* config, void*, void**, void**) {
  unsigned words[14];  // grid, block, shared memory; the number of attributes is after two pointers
  std::memcpy(words, static_cast<const void*>(config), sizeof words);
  fake_cuda_grid = words[0];
  fake_cuda_block = words[3];
  fake_cuda_shared = words[6];
  fake_cuda_attributes = words[12];
  return result("cuLaunchKernelEx");
}
#endif
