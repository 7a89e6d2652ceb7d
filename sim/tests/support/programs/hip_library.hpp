// A HIP library, opened as programs do that were not linked against it.
#pragma once

#include "sim/hip/abi/device.hpp"
#include "sim/hip/abi/graph.hpp"
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>

namespace rapt::sim::test {

class HipLibrary {
 public:
  explicit HipLibrary(int major_) : major(major_) {
    const std::string file = "libamdhip64.so." + std::to_string(major);
    library_ = dlopen((std::string(RAPT_SIM_LIBRARY_FOLDER "/") + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  const int major;

  // The arguments must have the function's types: sizes std::size_t, flags unsigned.
  template <typename... A>
  int operator()(const char* name, A... arguments) const {
    void* symbol = dlsym(library_, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("no function ") + name);
    return reinterpret_cast<int (*)(A...)>(symbol)(arguments...);
  }
  template <typename R>
  R* function(const char* name) const {
    return reinterpret_cast<R*>(dlsym(library_, name));
  }
  void* handle() const { return library_; }

 private:
  void* library_;
};

// One for each test of a library's major version; the test's RAPT_SIM_ARCH names the devices.
class OnEachLibrary : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { hip("hipSetDevice", 0); }
  // Each library keeps separate state, and no test leaves anything in it.
  void TearDown() override {
    hip("hipSetDevice", 0);
    EXPECT_EQ(hip("hipDeviceSynchronize"), 0);
    hip("hipGetLastError");
  }
  static const HipLibrary& library(int major) {
    static const HipLibrary five(5), six(6), seven(7);
    return major == 5 ? five : major == 6 ? six : seven;
  }
  const HipLibrary& hip = library(GetParam());

  template <typename T>
  T* allocate(std::size_t count) {
    void* pointer = nullptr;
    EXPECT_EQ(hip("hipMalloc", &pointer, count * sizeof(T)), 0);
    return static_cast<T*>(pointer);
  }
};

inline std::string library_name(const testing::TestParamInfo<int>& info) { return "Rocm" + std::to_string(info.param); }

}  // namespace rapt::sim::test
