// libamdhip64, opened at run time on first use: Rapt neither links ROCm nor needs it to build.
#pragma once

#include <string>

#include "base/text.hpp"
#include "gpu/driver/hip/abi.hpp"

namespace rapt::gpu {

class Hip {
 public:
  // Opens the library that RAPT_HIP_LIBRARY names. By default it takes libamdhip64.so.7, .6, .5 or .so: the library
  // that the process has loaded, or else the first that opens. Throws Error, with what was tried, if none opens or it
  // lacks a function. It stays open until the process ends.
  Hip();

  const std::string& path() const { return path_; }
  bool simulator() const { return rapt_sim_name != nullptr; }
  const char* time_model() const { return rapt_sim_time_model != nullptr ? rapt_sim_time_model() : ""; }
  std::string runtime() const;  // "ROCm, HIP 7.1.25424", or that it is the simulator

  // Throws Error with HIP's own name and text of the failure, after `what` was being done: pieces of a sentence.
  template <class... Pieces>
  void check(HipError error, const Pieces&... what) const {
    if (error != kHipSuccess) fail(error, cat(what...));
  }

  [[noreturn]] void fail(HipError error, const std::string& what) const;
  std::string describe(HipError error) const;  // its name and text

  // HIP keeps a thread's last failure for the next hipGetLastError: clear one that is reported or expected.
  void forget_error() const { static_cast<void>(hipGetLastError()); }

// NOLINTNEXTLINE(bugprone-macro-parentheses): they are a type, a name and a list
#define RAPT_DECLARE(result, name, arguments) result(*name) arguments = nullptr;
  RAPT_HIP_FUNCTIONS(RAPT_DECLARE, RAPT_DECLARE)
#undef RAPT_DECLARE

 private:
  std::string path_;
};

}  // namespace rapt::gpu
