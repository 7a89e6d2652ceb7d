// Failures: a code for the caller, which PyTorch ignores, and a sentence for the user.
#pragma once

#include "aotriton/abi/types.hpp"
#include "rapt/rapt.h"

namespace rapt::aot {

// Keeps the sentence for report() and returns the error.
[[gnu::format(printf, 2, 3)]] aotriton::Error fail(aotriton::Error error, const char* format, ...);

// The same with Rapt's own sentence; kSuccess for RAPT_OK.
aotriton::Error from_rapt(rapt_status status);

// Prints this thread's last failure, if it is the first of the process, as one line on stderr. With RAPT_STRICT=1, the
// process ends. `consequence` is a sentence.
void report(const char* function, const char* consequence);

}  // namespace rapt::aot
