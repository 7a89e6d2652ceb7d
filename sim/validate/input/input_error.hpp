#pragma once

#include <stdexcept>

namespace rapt::sim::validate {

// What an input file, a row of it or a code object has wrong; the message names it.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace rapt::sim::validate
