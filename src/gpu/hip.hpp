// libamdhip64, opened at run time on first use: nothing of ROCm is linked or needed to build.
#pragma once

#include <string>

#include "gpu/hip_abi.hpp"
#include "problem/text.hpp"

namespace rapt::gpu {

class Hip {
 public:
  // The library that RAPT_HIP_LIBRARY names, or of libamdhip64.so.7, .6, .5 and .so the one that the process has
  // already, or else the first that opens. Throws Error where none does, with what was tried, or where it lacks a
  // function. It stays open until the process ends.
  static const Hip& get();

  const std::string& path() const { return path_; }
  bool simulator() const { return rapt_sim_name != nullptr; }
  std::string runtime() const;  // "ROCm 7.1.25424", or that it is the simulator

  // Throws Error with HIP's own name and text of the failure, after `what` was being done: pieces of a sentence.
  template <class... Pieces>
  void check(HipError error, const Pieces&... what) const {
    if (error != kHipSuccess) fail(error, cat(what...));
  }

  // As check(), for a sentence that is written only where needed: this is on the path of every call.
  [[noreturn]] void fail(HipError error, const std::string& what) const;

  // HIP keeps a thread's last failure for whoever asks next: one that is expected is forgotten here.
  void forget_error() const { static_cast<void>(hipGetLastError()); }

// NOLINTNEXTLINE(bugprone-macro-parentheses): they are a type, a name and a list
#define RAPT_DECLARE(result, name, arguments) result(*name) arguments = nullptr;
  RAPT_HIP_FUNCTIONS(RAPT_DECLARE, RAPT_DECLARE)
#undef RAPT_DECLARE

 private:
  Hip();
  std::string path_;
};

// Makes a device the calling thread's current one, and the one before it again at the end.
class DeviceScope {
 public:
  DeviceScope(const Hip& hip, int32_t device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const Hip& hip_;
  int before_ = 0, device_;
};

}  // namespace rapt::gpu
