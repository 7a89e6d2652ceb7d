#include "sim/hip/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace rapt::sim::hip {

namespace {

std::FILE* target() {
  static std::FILE* const file = [] {
    const char* where = std::getenv("RAPT_SIM_LOG");
    if (where == nullptr || *where == 0) return static_cast<std::FILE*>(nullptr);
    return std::strcmp(where, "stderr") == 0 ? stderr : std::fopen(where, "a");
  }();
  return file;
}

}  // namespace

void log(const std::string& message) {
  std::FILE* file = target();
  if (file == nullptr) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fprintf(file, "rapt-sim: %s\n", message.c_str());
  std::fflush(file);
}

}  // namespace rapt::sim::hip
