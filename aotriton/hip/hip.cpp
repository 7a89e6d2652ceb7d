#include "aotriton/hip/hip.hpp"

#include <dlfcn.h>

#include <cstring>

#include "aotriton/base/failure.hpp"

namespace rapt::aot {

namespace {

// Releases of ROCm before 5.5 lack one function.
template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr || std::strcmp(name, "hipStreamGetDevice") == 0;
}

}  // namespace

Hip::Hip(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  complete = true;
#define RAPT_AOT_FIND(name, arguments) complete &= find(library, #name, name);
  RAPT_AOT_HIP_FUNCTIONS(RAPT_AOT_FIND)
#undef RAPT_AOT_FIND
}

aotriton::Error Hip::check(HipResult result, const char* what) const {
  if (result == 0) return aotriton::kSuccess;
  static_cast<void>(hipGetLastError());  // or the caller's next check would find it
  return fail(static_cast<aotriton::Error>(result), "%s failed with HIP error %d", what, result);
}

bool Hip::capturing(HipStream stream) const {
  int status = 0;
  return hipStreamIsCapturing(stream, &status) == 0 && status != 0;
}

}  // namespace rapt::aot
