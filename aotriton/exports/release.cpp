#include "aotriton/exports/release.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace rapt::aot {

namespace {

int find_release() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&release), &info) == 0 || info.dli_fname == nullptr) return 0;
  constexpr const char* kBeforeMinor = ".so.0.";
  const char* const at = std::strstr(info.dli_fname, kBeforeMinor);
  return at != nullptr ? std::atoi(at + std::strlen(kBeforeMinor)) : 0;
}

}  // namespace

int release() {
  static const int found = find_release();
  return found;
}

LseForm lse_form_of(int release) { return {.log2 = release <= 10, .padded = release <= 11}; }

}  // namespace rapt::aot
