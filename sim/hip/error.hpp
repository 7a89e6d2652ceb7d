// How HIP's functions report errors.
#pragma once

#include "sim/hip/abi/types.hpp"

#include <concepts>
#include <stdexcept>
#include <string>
#include <utility>

namespace rapt::sim::hip {

// Ends a HIP function with its error; the message is for RAPT_SIM_LOG.
struct Failure : std::runtime_error {
  Failure(Error error_, const std::string& what) : std::runtime_error(what), error(error_) {}
  Error error;
};

inline void need(bool condition, Error error, const char* message) {
  if (!condition) throw Failure(error, message);
}
inline void need_pointer(const void* pointer) { need(pointer != nullptr, Error::invalid_value, "null pointer"); }

const char* error_name(Error error);
const char* error_text(Error error);

// Makes `error` what hipGetLastError returns.
void set_last_error(Error error);
// Translates the exception that is being handled, and logs it.
Error current_failure(const char* function);
// Creates the devices; no_device if there are none.
Error start();

// The body of a HIP function: returns its error, or throws.
template <std::invocable Body>
Error api(const char* function, Body&& body) {
  Error error = start();
  if (error == Error::success) {
    try {
      error = std::forward<Body>(body)();
    } catch (...) {
      error = current_failure(function);
    }
  }
  set_last_error(error);
  return error;
}

}  // namespace rapt::sim::hip
