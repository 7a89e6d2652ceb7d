// The two ways a command fails: the user's input, or a call that the library refuses.
#pragma once

#include <stdexcept>
#include <string>

#include "rapt/rapt.h"

namespace rapt::cli {

class InputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class LibraryError : public std::runtime_error {
 public:
  LibraryError(rapt_status status, const std::string& message) : std::runtime_error(message), status(status) {}
  rapt_status status;
};

inline void check(rapt_status status) {
  if (status != RAPT_OK) throw LibraryError(status, rapt_last_error());
}

}  // namespace rapt::cli
