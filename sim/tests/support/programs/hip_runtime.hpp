// A module of small kernels, loaded through each of the three HIP libraries.
#pragma once

#include "sim/tests/support/programs/bundles.hpp"
#include "sim/tests/support/programs/hip_library.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {

inline constexpr const char* hip_runtime_source = R"(
  __device__ int offset = 100;
  extern "C" __global__ void add(int* out, const int* in, int n, short step) {
    const uint i = BID * __builtin_amdgcn_workgroup_size_x() + TID;
    if (i < (uint)n) out[i] = in[i] + step + offset;
  }
  extern "C" __global__ void none() {}
  extern "C" __global__ void wild(int* p) { p[TID] = 1; }
  extern "C" __global__ void trapped() { __builtin_trap(); }
  extern "C" __global__ void shared(int* out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[64];
    fixed[TID] = TID;
    dynamic[TID] = 2 * TID;
    SYNC();
    out[TID] = fixed[63 - TID] + dynamic[TID];
  }
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void small(int* out) { out[TID] = 1; }
  extern "C" __global__ void ids(int* out) {
    // As ROCm's device library has it: whole groups, their size, the size of a rest.
    const auto* hidden = (const __attribute__((address_space(4))) uint*)__builtin_amdgcn_implicitarg_ptr();
    const auto* sizes = (const __attribute__((address_space(4))) ushort*)hidden;
    out[BID * 64 + TID] = BID < hidden[0] ? sizes[6] : sizes[9];
  })";

inline const std::vector<std::byte>& bundle() {
  static const auto bytes = compile_bundle({"gfx942", "gfx1100"}, hip_runtime_source, "-O1");
  return bytes;
}

inline constexpr int invalid_value = 1, invalid_handle = 400;

class HipRuntime : public OnEachLibrary {
 protected:
  void SetUp() override {
    OnEachLibrary::SetUp();
    ASSERT_EQ(hip("hipModuleLoadData", &module_, static_cast<const void*>(bundle().data())), 0);
  }
  void TearDown() override {
    EXPECT_EQ(hip("hipModuleUnload", module_), 0);
    OnEachLibrary::TearDown();
  }

  void* function(const char* name) {
    void* found = nullptr;
    EXPECT_EQ(hip("hipModuleGetFunction", &found, module_, name), 0);
    return found;
  }
  int launch(void* f, unsigned groups, unsigned size, void** arguments, void** extra = nullptr, void* stream = nullptr,
             unsigned lds = 0) {
    return hip("hipModuleLaunchKernel", f, groups, 1U, 1U, size, 1U, 1U, lds, stream, arguments, extra);
  }
  std::vector<int> read(const int* from, std::size_t count) {
    std::vector<int> values(count);
    EXPECT_EQ(hip("hipMemcpy", values.data(), from, count * sizeof(int), 2), 0);
    return values;
  }
  std::string last_message(const char* name) {
    using Text = const char*(int);
    return hip.function<Text>(name)(hip("hipGetLastError"));
  }

  void* module_ = nullptr;
};

}  // namespace rapt::sim::test
