#include "gpu/driver/cuda/library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.hpp"

namespace rapt::gpu {

namespace {

constexpr int kOldest = 13000;  // no older driver loads code that nvcc 13 compiles

std::string version_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

void* open_libcuda(std::string& path) {
  const char* wish = std::getenv("RAPT_CUDA_LIBRARY");
  path = wish && *wish ? wish : "libcuda.so.1";
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* given = dlerror();
  const std::string why = given ? given : "no reason given";
  if (wish && *wish)
    throw Error(RAPT_DEVICE_ERROR, cat("RAPT_CUDA_LIBRARY names a library that cannot be opened: ", why));
  throw Error(RAPT_DEVICE_ERROR, cat("libcuda cannot be opened, is NVIDIA's driver installed? Tried ", why,
                                     ". RAPT_CUDA_LIBRARY can name it"));
}

}  // namespace

Cuda::Cuda() {
  void* const handle = open_libcuda(path_);
  std::string missing;
// NOLINTBEGIN(bugprone-macro-parentheses): they are a type, a name and a list
#define RAPT_REQUIRED(result, name, arguments)                        \
  name = reinterpret_cast<result(*) arguments>(dlsym(handle, #name)); \
  if (!name) missing += missing.empty() ? #name : ", " #name;
  // NOLINTEND(bugprone-macro-parentheses)
  RAPT_CUDA_FUNCTIONS(RAPT_REQUIRED)
#undef RAPT_REQUIRED
  Dl_info info;
  if (cuInit && dladdr(reinterpret_cast<void*>(cuInit), &info) != 0 && info.dli_fname) path_ = info.dli_fname;
  int version = 0;
  if (cuDriverGetVersion) static_cast<void>(cuDriverGetVersion(&version));  // works before cuInit
  runtime_ = cat("CUDA driver ", version_text(version));
  if (version < kOldest)
    throw Error(RAPT_DEVICE_ERROR, cat(path_, " is a driver for CUDA ", version_text(version), ", Rapt's kernels need ",
                                       version_text(kOldest), ": install NVIDIA's driver 580 or newer"));
  if (!missing.empty()) throw Error(RAPT_DEVICE_ERROR, cat("the CUDA library ", path_, " lacks ", missing));
  const CudaError error = cuInit(0);
  has_device_ = error == kCudaSuccess;
  if (!has_device_ && error != kCudaErrorNoDevice) fail(error, cat("initialising ", path_));
}

std::string Cuda::describe(CudaError error) const {
  const char *name = nullptr, *text = nullptr;
  static_cast<void>(cuGetErrorName(error, &name));
  static_cast<void>(cuGetErrorString(error, &text));
  return cat(name ? name : cat("CUDA error ", error), " (", text ? text : "CUDA has no text for it", ")");
}

void Cuda::fail(CudaError error, const std::string& what) const {
  throw Error(RAPT_DEVICE_ERROR, cat(what, " failed: ", describe(error)));
}

}  // namespace rapt::gpu
