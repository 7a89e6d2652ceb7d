// Statuses of the C ABI as exceptions. Included by rapt.hpp.
#pragma once

#include <stdexcept>
#include <string>

#include "rapt/rapt.h"

namespace rapt {
inline namespace api {

// Thrown by every function of these headers; what() names the argument, its value and what is allowed.
class Error : public std::runtime_error {
 public:
  Error(rapt_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  rapt_status status() const { return status_; }

 private:
  rapt_status status_;
};

inline void check(rapt_status status) {
  if (status != RAPT_OK) throw Error(status, rapt_last_error());
}

}  // namespace api
}  // namespace rapt
