// Functions by name.
#include "sim/hip/error.hpp"
#include "sim/hip/version.hpp"

#include <dlfcn.h>

#include <cstring>

using namespace rapt::sim::hip;

namespace {

enum Found : int { found, not_found, version_not_sufficient };
constexpr unsigned long long per_thread_stream = 2;

// Names refer to the newest layout, as macros in HIP's headers do.
std::string real_name(const char* name, int wanted, unsigned long long flags, void* library) {
  std::string text = name;
  const bool renamed = text == "hipGetDeviceProperties" || text == "hipChooseDevice";
  if (renamed && wanted / 10000000 >= 6) text += "R0600";
  if ((flags & per_thread_stream) != 0 && dlsym(library, (text + "_spt").c_str()) != nullptr) text += "_spt";
  return text;
}

Error look_up(const char* function, const char* name, void** pointer, int wanted, unsigned long long flags,
              int* status) {
  return api(function, [&] {
    need_pointer(name);
    need_pointer(pointer);
    *pointer = nullptr;
    Dl_info self{};
    need(dladdr(reinterpret_cast<void*>(&look_up), &self) != 0, Error::unknown, "the library does not find itself");
    void* library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    need(library != nullptr, Error::unknown, "the library does not find itself");
    if (std::strncmp(name, "hip", 3) == 0) *pointer = dlsym(library, real_name(name, wanted, flags, library).c_str());
    dlclose(library);
    if (status != nullptr) *status = *pointer != nullptr ? found : not_found;
    return *pointer != nullptr || status != nullptr ? Error::success : Error::invalid_value;
  });
}

}  // namespace

RAPT_HIP Error hipGetProcAddress(const char* name, void** pointer, int wanted, std::uint64_t flags, int* status) {
  return look_up(__func__, name, pointer, wanted, flags, status);
}

RAPT_HIP Error hipGetDriverEntryPoint(const char* name, void** pointer, unsigned long long flags, int* status) {
  return look_up(__func__, name, pointer, version, flags, status);
}

RAPT_HIP Error hipGetDriverEntryPoint_spt(const char* name, void** pointer, unsigned long long flags, int* status) {
  return look_up(__func__, name, pointer, version, flags | per_thread_stream, status);
}
