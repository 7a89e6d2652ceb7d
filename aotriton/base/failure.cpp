#include "aotriton/base/failure.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rapt::aot {

namespace {

thread_local char sentence[1024];

}  // namespace

aotriton::Error fail(aotriton::Error error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  for (char* c = sentence; *c; ++c)
    if (*c == '\n') *c = ' ';
  return error;
}

aotriton::Error from_rapt(rapt_status status) {
  using namespace aotriton;
  if (status == RAPT_OK) return kSuccess;
  const Error error = status == RAPT_INVALID_ARGUMENT ? kInvalidValue
                      : status == RAPT_UNSUPPORTED    ? kNotSupported
                      : status == RAPT_OUT_OF_MEMORY  ? kOutOfMemory
                                                      : kUnknown;
  return fail(error, "%s", rapt_last_error());
}

void report(const char* function, const char* consequence) {
  static std::atomic<bool> reported = false;
  if (!reported.exchange(true))
    std::fprintf(stderr, "Rapt, in place of AOTriton: %s failed: %s. %s Later failures are not printed.\n", function,
                 sentence, consequence);
  const char* strict = std::getenv("RAPT_STRICT");
  if (strict != nullptr && std::strcmp(strict, "1") == 0) std::abort();
}

}  // namespace rapt::aot
