// Thrown where the user's input is at fault. The library's refusals are rapt::Error.
#pragma once

#include <stdexcept>

namespace rapt::cli {

class InputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace rapt::cli
