#include "gpu/driver/hip/library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.hpp"

namespace rapt::gpu {

namespace {

constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};

// dlerror's text usually begins with the requested name.
std::string why_not(const char* name) {
  const char* given = dlerror();
  const std::string text = given ? given : "no reason given";
  return text.find(name) == std::string::npos ? cat(name, ": ", text) : text;
}

void* open_libamdhip(std::string& path) {
  const char* wish = std::getenv("RAPT_HIP_LIBRARY");
  if (wish && *wish) {
    path = wish;
    if (void* handle = dlopen(wish, RTLD_NOW | RTLD_LOCAL)) return handle;
    throw Error(RAPT_DEVICE_ERROR, cat("RAPT_HIP_LIBRARY names a HIP library that cannot be opened: ", why_not(wish)));
  }
  // Prefer a library that the process has loaded, such as PyTorch's: streams and memory belong to it.
  for (const char* name : kLibraries)
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  std::string tried;
  for (const char* name : kLibraries) {
    path = name;
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
    tried += cat(tried.empty() ? "" : "; ", why_not(name));
  }
  throw Error(RAPT_DEVICE_ERROR, cat("no HIP library can be opened, is ROCm's run-time installed? Tried ", tried,
                                     ". RAPT_HIP_LIBRARY can name one"));
}

// The file that was opened, if the linker says so.
std::string file_of(void* symbol, const std::string& otherwise) {
  Dl_info info;
  return dladdr(symbol, &info) != 0 && info.dli_fname ? info.dli_fname : otherwise;
}

}  // namespace

Hip::Hip() {
  void* const handle = open_libamdhip(path_);
  std::string missing;
// NOLINTBEGIN(bugprone-macro-parentheses): they are a type, a name and a list
#define RAPT_OPTIONAL(result, name, arguments) name = reinterpret_cast<result(*) arguments>(dlsym(handle, #name));
#define RAPT_REQUIRED(result, name, arguments) \
  RAPT_OPTIONAL(result, name, arguments)       \
  if (!name) missing += missing.empty() ? #name : ", " #name;
  // NOLINTEND(bugprone-macro-parentheses)
  RAPT_HIP_FUNCTIONS(RAPT_REQUIRED, RAPT_OPTIONAL)
#undef RAPT_REQUIRED
#undef RAPT_OPTIONAL
  if (!hipGetDevicePropertiesR0600 && !hipGetDeviceProperties)
    missing += cat(missing.empty() ? "" : ", ", "hipGetDeviceProperties");
  if (hipGetLastError) path_ = file_of(reinterpret_cast<void*>(hipGetLastError), path_);
  if (missing.empty()) return;
  dlclose(handle);
  throw Error(RAPT_DEVICE_ERROR, cat("the HIP library ", path_, " lacks ", missing, ": ROCm 5.2 or newer is needed"));
}

std::string Hip::runtime() const {
  int version = 0;
  check(hipRuntimeGetVersion(&version), "hipRuntimeGetVersion");
  const std::string number = cat(version / 10000000, ".", version / 100000 % 100, ".", version % 100000);
  return simulator() ? cat(rapt_sim_name(), " (as HIP ", number, ")") : cat("ROCm, HIP ", number);
}

std::string Hip::describe(HipError error) const {
  const char* name = hipGetErrorName(error);
  const char* text = hipGetErrorString(error);
  return cat(name ? name : cat("HIP error ", error), " (", text ? text : "HIP has no text for it", ")");
}

void Hip::fail(HipError error, const std::string& what) const {
  forget_error();
  throw Error(RAPT_DEVICE_ERROR, cat(what, " failed: ", describe(error)));
}

}  // namespace rapt::gpu
