// The errors that users see if CUDA's driver is absent, too old, incomplete or refuses. Each case is a separate
// process, because a process opens one driver. tests/gpu/CMakeLists.txt sets FAKE_CUDA and RAPT_CUDA_LIBRARY for the
// case that it runs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>

#include "driver_case.hpp"
#include "gpu/driver/driver.hpp"
#include "kernels/abi.h"
#include "tests/packer/made_up.hpp"

namespace {

constexpr rapt_device kGpu = {RAPT_CUDA, 0};

class Cuda : public test::DriverCase {
 protected:
  Cuda() : DriverCase(kGpu, "sm_90.rapt", rapt::archive::good_nvidia_archive()) {}

  // A variable of the fake library.
  template <class T>
  static T& fake(const char* name) {
    void* const library = dlopen(std::getenv("RAPT_CUDA_LIBRARY"), RTLD_NOW);
    return *static_cast<T*>(dlsym(library, name));
  }
};

TEST_F(Cuda, Absent) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"cuda:0", "libcuda.so.1", "RAPT_CUDA_LIBRARY"});
  refused(RAPT_DEVICE_ERROR, [] { rapt::device_count(RAPT_CUDA); }, {"libcuda.so.1"});
}

TEST_F(Cuda, NamedAbsent) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"RAPT_CUDA_LIBRARY", "/nowhere/libcuda.so"});
}

TEST_F(Cuda, LacksFunction) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"fake_cuda_lacking", "lacks cuLaunchKernelEx"});
}

TEST_F(Cuda, TooOld) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"fake_cuda", "CUDA 12.4", "need 13.0", "580"});
}

TEST_F(Cuda, Turing) {
  refused(RAPT_UNSUPPORTED, [&] { forward(); }, {"no kernels for sm_75", "cuda:0", "sm_80"});
}

TEST_F(Cuda, InitialisationFails) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"fake_cuda", "CUDA_ERROR_LAUNCH_FAILED"});
}

TEST_F(Cuda, NoDevice) {
  EXPECT_EQ(rapt::device_count(RAPT_CUDA), 0);
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"cuda:0 does not exist", "finds no device"});
}

TEST_F(Cuda, Good) {
  EXPECT_EQ(rapt::device_count(RAPT_CUDA), 1);
  const rapt_device_info info = rapt::describe(kGpu);
  EXPECT_STREQ(info.name, "Fake");
  EXPECT_STREQ(info.arch, "sm_90");
  EXPECT_STREQ(info.target, "sm_90");
  EXPECT_STREQ(info.runtime, "CUDA driver 13.1");
  EXPECT_EQ(info.compute_units, 132);
  EXPECT_EQ(info.simulator, 0);
  forward();
  EXPECT_EQ(fake<unsigned>("fake_cuda_grid"), 1u);
  EXPECT_EQ(fake<unsigned>("fake_cuda_block"), 128u);
  EXPECT_EQ(fake<unsigned>("fake_cuda_shared"), 36864u);
  EXPECT_EQ(fake<unsigned>("fake_cuda_attributes"), 0u);
  EXPECT_EQ(fake<int>("fake_cuda_most_shared"), 232448 - 1000);
  const rapt::Archive archive("", "sm_90");  // owns what the kernel points to
  const rapt_kernel kernel = archive.kernel(0);
  EXPECT_STREQ(kernel.vendor, "nvidia");
  EXPECT_EQ(kernel.amd, nullptr);
  ASSERT_NE(kernel.nvidia, nullptr);
  EXPECT_EQ(kernel.nvidia->occupancy, 4);
  refused(RAPT_INVALID_ARGUMENT, [] { rapt::describe({RAPT_CUDA, 1}); }, {"cuda:1 does not exist", "cuda:0"});
}

// The thread's context stays as it was: none, or another library's.
TEST_F(Cuda, TheCallersContextComesBack) {
  forward();
  void* const library = dlopen(std::getenv("RAPT_CUDA_LIBRARY"), RTLD_NOW);
  const auto get = reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxGetCurrent"));
  const auto set = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
  void* current = &current;
  ASSERT_EQ(get(&current), 0);
  EXPECT_EQ(current, nullptr);
  int other = 0;
  ASSERT_EQ(set(&other), 0);
  forward();
  ASSERT_EQ(get(&current), 0);
  EXPECT_EQ(current, &other);
}

TEST_F(Cuda, HipBesideIt) {
  EXPECT_STREQ(rapt::describe({RAPT_ROCM, 0}).arch, "gfx942");
  EXPECT_STREQ(rapt::describe(kGpu).arch, "sm_90");
  forward();
}

TEST_F(Cuda, AttributesOfLaunches) {
  using rapt::gpu::Status;
  rapt::gpu::Driver& driver = rapt::gpu::driver_of(RAPT_CUDA);
  EXPECT_EQ(driver.launch(nullptr, {.grid = {4}, .cluster = {2}, .block = {32}}, nullptr, 0, nullptr), Status::success);
  EXPECT_EQ(fake<unsigned>("fake_cuda_attributes"), 1u);
  const rapt::gpu::LaunchShape both{.grid = {4}, .cluster = {2}, .block = {32}, .overlaps = true};
  EXPECT_EQ(driver.launch(nullptr, both, nullptr, 0, nullptr), Status::success);
  EXPECT_EQ(fake<unsigned>("fake_cuda_attributes"), 2u);
}

// Sizes and strides begin with the columns', whose stride is not given.
TEST_F(Cuda, TensorMaps) {
  rapt::gpu::Driver& driver = rapt::gpu::driver_of(RAPT_CUDA);
  const rapt::gpu::TensorLayout layout = {.data = &driver,
                                          .bf16 = true,
                                          .batch = 2,
                                          .heads = 3,
                                          .rows = 5,
                                          .columns = 72,
                                          .batch_stride = 4096,
                                          .head_stride = 256,
                                          .row_stride = 1024,
                                          .box_rows = 192};
  rapt_abi_tensor_map map = {};
  ASSERT_EQ(driver.encode_tensor_map(&map, layout), rapt::gpu::Status::success);
  const uint64_t expected[] = {reinterpret_cast<uintptr_t>(&driver), 9, 4, 72, 5, 3, 2, 1024, 256, 4096, 64, 192, 3};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(map.words[i], expected[i]) << i;
}

// If a function that returns a status fails, the error has CUDA's name for it, and the next call works.
TEST_F(Cuda, EachFailureIsReturned) {
  using rapt::gpu::Status;
  rapt::gpu::Driver& driver = rapt::gpu::driver_of(RAPT_CUDA);
  auto& failing = fake<const char*>("fake_cuda_mode");
  char host[8] = "";
  void *data = nullptr, *streamed = nullptr, *module = nullptr, *function = nullptr, *event = nullptr;
  intptr_t before = 0;
  bool capturing = false;
  float milliseconds = 0;
  rapt::gpu::MemoryPlace place;
  rapt_abi_tensor_map map = {};
  struct Case {
    const char* function;
    std::function<Status()> call;
  };
  const Case cases[] = {
      {"cuDevicePrimaryCtxRetain", [&] { return driver.enter(0, before); }},
      {"cuCtxGetCurrent", [&] { return driver.enter(0, before); }},
      {"cuCtxSynchronize", [&] { return driver.synchronize_device(); }},
      {"cuMemAlloc_v2", [&] { return driver.allocate(&data, 8); }},
      {"cuMemPoolCreate", [&] { return driver.allocate_async(&streamed, 8, nullptr); }},
      {"cuMemFreeAsync", [&] { return driver.free_async(streamed, nullptr); }},
      {"cuMemAllocFromPoolAsync", [&] { return driver.allocate_async(&streamed, 8, nullptr); }},
      {"cuMemcpy", [&] { return driver.copy(data, host, 8); }},
      {"cuMemcpyAsync", [&] { return driver.copy_async(data, host, 8, nullptr); }},
      {"cuMemsetD8Async", [&] { return driver.clear_async(data, 8, 8, 1, nullptr); }},
      {"cuMemsetD2D8Async", [&] { return driver.clear_async(data, 8, 4, 1, nullptr); }},
      {"cuPointerGetAttributes", [&] { return driver.locate(data, place); }},
      {"cuMemFree_v2", [&] { return driver.free(data); }},
      {"cuStreamSynchronize", [&] { return driver.synchronize_stream(nullptr); }},
      {"cuStreamIsCapturing", [&] { return driver.is_capturing(nullptr, capturing); }},
      {"cuModuleLoadData", [&] { return driver.load_module(&module, ""); }},
      {"cuModuleGetFunction", [&] { return driver.find_function(&function, module, "f"); }},
      {"cuCtxGetDevice", [&] { return driver.find_function(&function, module, "f"); }},
      {"cuDeviceGetAttribute", [&] { return driver.find_function(&function, module, "f"); }},
      {"cuFuncGetAttribute", [&] { return driver.find_function(&function, module, "f"); }},
      {"cuFuncSetAttribute", [&] { return driver.find_function(&function, module, "f"); }},
      {"cuLaunchKernelEx", [&] { return driver.launch(function, {}, nullptr, 0, nullptr); }},
      {"cuTensorMapEncodeTiled", [&] { return driver.encode_tensor_map(&map, {}); }},
      {"cuEventCreate", [&] { return driver.create_event(&event); }},
      {"cuEventRecord", [&] { return driver.record_event(event, nullptr); }},
      {"cuEventSynchronize", [&] { return driver.synchronize_event(event); }},
      {"cuEventElapsedTime", [&] { return driver.elapsed(event, event, milliseconds); }},
      {"cuEventDestroy_v2", [&] { return driver.destroy_event(event); }},
  };
  for (const auto& [name, call] : cases) {
    failing = name;
    const std::string failure = driver.describe(call());
    EXPECT_NE(failure.find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << name << ": " << failure;
    failing = nullptr;
    EXPECT_EQ(call(), Status::success) << name;
  }
  EXPECT_EQ(driver.free_async(streamed, nullptr), Status::success);
  EXPECT_EQ(milliseconds, 2.5F);
}

TEST_F(Cuda, LaunchFails) {
  refused(
      RAPT_DEVICE_ERROR, [&] { forward(); },
      {"launching forward.d64.bf16", "cuda:0", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure", "threads"});
}

TEST_F(Cuda, LoadFails) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); },
          {"loading forward.d64.bf16", "sm_90.rapt", "CUDA_ERROR_INVALID_IMAGE"});
}

TEST_F(Cuda, Capturing) {
  refused(RAPT_INVALID_ARGUMENT, [&] { forward(); }, {"not loaded on cuda:0", "rapt_preload"});
}

TEST_F(Cuda, HostMemory) {
  refused(RAPT_INVALID_ARGUMENT, [&] { forward(); }, {"q is at", "host memory that cuda:0 cannot read"});
}

TEST_F(Cuda, OutOfMemory) {
  refused(RAPT_OUT_OF_MEMORY, [] { rapt::DeviceMemory(kGpu, 12345); }, {"12345 bytes", "cuda:0"});
}

TEST_F(Cuda, NewerThanTheArchive) {
  EXPECT_STREQ(rapt::describe(kGpu).target, "sm_103");
  refused(RAPT_UNSUPPORTED, [&] { forward(); }, {"sm_100.rapt", "there is one for sm_90"});
}

TEST_F(Cuda, NoVariant) {
  refused(RAPT_UNSUPPORTED, [&] { forward(128); }, {"d128", "sm_90.rapt", "head dims up to"});
}

}  // namespace
