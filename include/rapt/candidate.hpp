// One line of an explanation, which the library and its users share. Included by explain.hpp.
#pragma once

#include <string>

namespace rapt {
inline namespace api {

struct Candidate {
  std::string backend;  // "cpu", "cpu.avx2", "hip.<kernel>"
  std::string kernel;   // that would run, "" if none
  std::string reason;   // why it was chosen, or why not
  bool chosen = false;
};

}  // namespace api
}  // namespace rapt
