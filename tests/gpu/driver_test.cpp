// The errors that users see if HIP is absent, incomplete or refuses. Each case is a separate process, because a process
// opens one HIP library. tests/gpu/CMakeLists.txt sets FAKE_HIP and RAPT_HIP_LIBRARY for the case that it runs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "driver_case.hpp"
#include "gpu/driver/driver.hpp"
#include "tests/packer/made_up.hpp"

namespace {

constexpr rapt_device kGpu = {RAPT_ROCM, 0};

class Driver : public test::DriverCase {
 protected:
  Driver() : DriverCase(kGpu, "gfx942.rapt", rapt::archive::good_archive()) {}
};

TEST_F(Driver, Absent) {
  const std::initializer_list<const char*> says = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                                   "libamdhip64.so:", "RAPT_HIP_LIBRARY"};
  refused(RAPT_DEVICE_ERROR, [] { rapt::device_count(RAPT_ROCM); }, says);
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, says);
  const rapt::Explanation e =
      rapt::explain(rapt::Problem::parse("b1 hq1 hk1 sq1 sk1 d64 bf16"), RAPT_FORWARD, {}, kGpu);
  EXPECT_EQ(e.chosen(), nullptr);
  const auto hip =
      std::find_if(e.candidates.begin(), e.candidates.end(), [](const auto& c) { return c.backend == "hip"; });
  ASSERT_NE(hip, e.candidates.end());
  EXPECT_NE(hip->reason.find("libamdhip64.so.7"), std::string::npos) << hip->reason;
}

TEST_F(Driver, NamedAbsent) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"RAPT_HIP_LIBRARY", "/nowhere/libamdhip64.so"});
}

TEST_F(Driver, LacksFunction) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"fake_hip_lacking", "lacks hipModuleLoadData:"});
}

TEST_F(Driver, NoDevice) {
  EXPECT_EQ(rapt::device_count(RAPT_ROCM), 0);
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"hip:0 does not exist", "finds no device"});
}

TEST_F(Driver, Good) {
  EXPECT_EQ(rapt::device_count(RAPT_ROCM), 1);
  const rapt_device_info info = rapt::describe(kGpu);
  EXPECT_STREQ(info.name, "Fake");
  EXPECT_STREQ(info.arch, "gfx942");
  EXPECT_STREQ(info.target, "gfx942:sramecc+:xnack-");
  EXPECT_STREQ(info.runtime, "ROCm, HIP 6.3.42");
  EXPECT_EQ(info.compute_units, 228);
  EXPECT_EQ(info.simulator, 0);
  forward();
  refused(RAPT_INVALID_ARGUMENT, [] { rapt::describe({RAPT_ROCM, 1}); }, {"hip:1 does not exist", "hip:0"});
}

TEST_F(Driver, EventsAndClusters) {
  using rapt::gpu::Status;
  rapt::gpu::Driver& driver = rapt::gpu::driver_of(RAPT_ROCM);
  EXPECT_EQ(&driver, &rapt::gpu::driver_of(RAPT_ROCM));
  rapt::gpu::Event event = nullptr;
  float milliseconds = 0;
  ASSERT_EQ(driver.create_event(&event), Status::success);
  EXPECT_EQ(driver.record_event(event, nullptr), Status::success);
  EXPECT_EQ(driver.synchronize_event(event), Status::success);
  EXPECT_EQ(driver.elapsed(event, event, milliseconds), Status::success);
  EXPECT_EQ(milliseconds, 2.5F);
  EXPECT_EQ(driver.destroy_event(event), Status::success);
  const Status refused = driver.launch(nullptr, {.cluster = {2}}, nullptr, 0, nullptr);
  EXPECT_NE(driver.describe(refused).find("hipErrorNotSupported"), std::string::npos) << driver.describe(refused);
  EXPECT_EQ(driver.launch(nullptr, {}, nullptr, 0, nullptr), Status::success);
}

// If a function that returns a status fails, the error has HIP's name for it, HIP forgets it, nothing is left behind,
// and the next call works.
TEST_F(Driver, EachFailureIsReturnedAndForgotten) {
  using rapt::gpu::Status;
  rapt::gpu::Driver& driver = rapt::gpu::driver_of(RAPT_ROCM);
  void* const library = dlopen(std::getenv("RAPT_HIP_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  auto& failing = *static_cast<const char**>(dlsym(library, "fake_hip_mode"));
  const auto last_error = reinterpret_cast<int (*)()>(dlsym(library, "hipGetLastError"));
  char host[8] = "";
  void *data = nullptr, *streamed = nullptr, *module = nullptr, *function = nullptr, *event = nullptr;
  intptr_t before = 0;
  bool capturing = false;
  float milliseconds = 0;
  rapt::gpu::MemoryPlace place;
  struct Case {
    const char* function;
    std::function<Status()> call;
  };
  const Case cases[] = {
      {"hipGetDevice", [&] { return driver.enter(0, before); }},
      {"hipSetDevice", [&] { return driver.enter(1, before); }},
      {"hipDeviceSynchronize", [&] { return driver.synchronize_device(); }},
      {"hipMalloc", [&] { return driver.allocate(&data, 8); }},
      {"hipMallocAsync", [&] { return driver.allocate_async(&streamed, 8, nullptr); }},
      {"hipMemcpy", [&] { return driver.copy(data, host, 8); }},
      {"hipMemcpyAsync", [&] { return driver.copy_async(data, host, 8, nullptr); }},
      {"hipMemsetAsync", [&] { return driver.clear_async(data, 8, 8, 1, nullptr); }},
      {"hipMemset2DAsync", [&] { return driver.clear_async(data, 8, 4, 1, nullptr); }},
      {"hipPointerGetAttributes", [&] { return driver.locate(data, place); }},
      {"hipFree", [&] { return driver.free(data); }},
      {"hipFreeAsync", [&] { return driver.free_async(streamed, nullptr); }},
      {"hipStreamSynchronize", [&] { return driver.synchronize_stream(nullptr); }},
      {"hipStreamIsCapturing", [&] { return driver.is_capturing(nullptr, capturing); }},
      {"hipModuleLoadData", [&] { return driver.load_module(&module, ""); }},
      {"hipModuleGetFunction", [&] { return driver.find_function(&function, module, "f"); }},
      {"hipModuleLaunchKernel", [&] { return driver.launch(function, {}, nullptr, 0, nullptr); }},
      {"hipEventCreate", [&] { return driver.create_event(&event); }},
      {"hipEventRecord", [&] { return driver.record_event(event, nullptr); }},
      {"hipEventSynchronize", [&] { return driver.synchronize_event(event); }},
      {"hipEventElapsedTime", [&] { return driver.elapsed(event, event, milliseconds); }},
      {"hipEventDestroy", [&] { return driver.destroy_event(event); }},
  };
  for (const auto& [name, call] : cases) {
    failing = name;
    const std::string failure = driver.describe(call());
    EXPECT_NE(failure.find("hipErrorLaunchFailure"), std::string::npos) << name << ": " << failure;
    failing = nullptr;
    EXPECT_EQ(last_error(), 0) << name;
    EXPECT_EQ(call(), Status::success) << name;
  }
}

TEST_F(Driver, LaunchFails) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); },
          {"launching forward.d64.bf16", "hip:0", "hipErrorLaunchFailure", "unspecified launch failure", "threads"});
}

TEST_F(Driver, LoadFails) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"loading forward.d64.bf16", "gfx942.rapt", "hipErrorInvalidImage"});
}

TEST_F(Driver, OutOfMemory) {
  refused(RAPT_OUT_OF_MEMORY, [] { rapt::DeviceMemory(kGpu, 12345); }, {"12345 bytes", "hip:0"});
}

TEST_F(Driver, OtherArch) {
  refused(RAPT_UNSUPPORTED, [&] { forward(); }, {"gfx1030", "gfx942"});
}

TEST_F(Driver, NoArch) {
  refused(RAPT_DEVICE_ERROR, [&] { forward(); }, {"architecture \"\"", "gfx"});
}

TEST_F(Driver, DamagedArchive) {
  std::filesystem::resize_file(archive_, 100);
  refused(RAPT_INVALID_ARGUMENT, [&] { forward(); }, {"gfx942.rapt", "truncated"});
}

TEST_F(Driver, MissingArchive) {
  std::filesystem::remove(archive_);
  refused(RAPT_UNSUPPORTED, [&] { forward(); }, {"gfx942", folder_.c_str()});
}

TEST_F(Driver, ForeignArchive) {
  std::ofstream(archive_, std::ios::binary) << "PK this is no archive of kernels, but something else";
  refused(RAPT_INVALID_ARGUMENT, [&] { forward(); }, {"gfx942.rapt", "not a kernel archive"});
}

TEST_F(Driver, BadTuning) {  // RAPT_TUNING names a file of this test
  std::ofstream(std::getenv("RAPT_TUNING")) << "# mine\nforward dtype=bf61 use=forward.smallest by=me\n";
  refused(RAPT_INVALID_ARGUMENT, [&] { forward(); }, {"line 2", "bf61"});
  std::filesystem::remove(std::getenv("RAPT_TUNING"));
}

TEST_F(Driver, NoVariant) {
  refused(RAPT_UNSUPPORTED, [&] { forward(512); }, {"d512", "gfx942.rapt", "head dims up to"});
}

TEST_F(Driver, HostIsADevice) {
  EXPECT_EQ(rapt::device_count(RAPT_CPU), 1);
  EXPECT_GE(rapt::describe(rapt::kHost).compute_units, 1);
  rapt::DeviceMemory memory(rapt::kHost, 3);
  memory.copy_from_host("ab");
  char back[3] = "";
  memory.copy_to_host(back);
  EXPECT_STREQ(back, "ab");
  EXPECT_EQ(rapt_device_free(rapt::kHost, nullptr), RAPT_OK);
  EXPECT_EQ(rapt_device_count(RAPT_CPU, nullptr), RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(rapt_describe_device(rapt::kHost, nullptr), RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(rapt_device_copy(rapt::kHost, nullptr, rapt::kHost, back, 1), RAPT_INVALID_ARGUMENT);
  void* data = nullptr;
  EXPECT_EQ(rapt_device_alloc({RAPT_CPU, 7}, 1, &data), RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(rapt_device_alloc(rapt::kHost, SIZE_MAX, &data), RAPT_OUT_OF_MEMORY);
  EXPECT_EQ(rapt_preload(rapt::kHost, nullptr, RAPT_FORWARD), RAPT_OK);
}

}  // namespace
