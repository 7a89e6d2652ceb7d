#pragma once

#include <sstream>

#include "rapt/rapt.hpp"

namespace rapt::python {

// Becomes a ValueError.
template <class... Parts>
[[noreturn]] void invalid(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(RAPT_INVALID_ARGUMENT, message.str());
}

}  // namespace rapt::python
