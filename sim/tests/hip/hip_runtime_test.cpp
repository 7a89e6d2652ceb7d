// Modules, launches, streams, events and device errors through each of the three HIP libraries.
#include <gtest/gtest.h>

#include "sim/tests/support/programs/hip_runtime.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

namespace rapt::sim::test {
namespace {

using namespace hip;

// Not in the child, which has another environment.
[[maybe_unused]] const int configured =
    std::getenv("RAPT_SIM_CHILD") != nullptr ? 0 : setenv("RAPT_SIM_ARCH", "gfx942,gfx1100", 1);

TEST_P(HipRuntime, ModulesFromFilesAndMemory) {
  const std::string path = temporary_folder() + "/module.hipfb";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bundle().data()), static_cast<std::streamsize>(bundle().size()));
  void *module = nullptr, *found = nullptr;
  EXPECT_EQ(hip("hipModuleLoad", &module, path.c_str()), 0);
  EXPECT_EQ(hip("hipModuleGetFunction", &found, module, "add"), 0);
  EXPECT_EQ(hip("hipModuleGetFunction", &found, module, "missing"), 500);
  EXPECT_EQ(hip("hipModuleGetFunction", &found, module, ""), invalid_value);
  EXPECT_EQ(hip("hipModuleUnload", module), 0);
  EXPECT_EQ(hip("hipModuleUnload", module), invalid_handle);
  EXPECT_EQ(hip("hipModuleGetFunction", &found, module, "add"), invalid_handle);
  EXPECT_EQ(hip("hipModuleLoad", &module, "/nowhere/at/all"), 301);
  EXPECT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>("this is no code object at all")), 200);
  EXPECT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>(nullptr)), invalid_value);
  const auto other = compile(Arch::gfx90a, hip_runtime_source);
  EXPECT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>(other.data())), 209);
  for (const bool zstd : {false, true}) {
    const auto compressed = compress_bundle(bundle(), 2, zstd);
    EXPECT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>(compressed.data())), 0);
    EXPECT_EQ(hip("hipModuleUnload", module), 0);
  }
}

TEST_P(HipRuntime, GlobalsCanBeReadAndWritten) {
  void* pointer = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(hip("hipModuleGetGlobal", &pointer, &size, module_, "offset"), 0);
  EXPECT_EQ(size, 4U);
  EXPECT_EQ(read(static_cast<int*>(pointer), 1)[0], 100);
  const int value = 7;
  EXPECT_EQ(hip("hipMemcpyHtoD", pointer, &value, std::size_t{4}), 0);
  EXPECT_EQ(read(static_cast<int*>(pointer), 1)[0], 7);
  EXPECT_EQ(hip("hipModuleGetGlobal", &pointer, &size, module_, "missing"), 500);
  EXPECT_EQ(hip("hipFree", pointer), invalid_value);
}

TEST_P(HipRuntime, DeviceErrorsStay) {
  void* null = nullptr;
  void* arguments[] = {&null};
  EXPECT_EQ(launch(function("wild"), 1, 64, arguments), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 700);
  EXPECT_EQ(last_message("hipGetErrorName"), "hipErrorIllegalAddress");
  EXPECT_EQ(hip("hipDeviceSynchronize"), 700);
  EXPECT_EQ(launch(function("none"), 1, 64, nullptr), 700);
  EXPECT_EQ(hip("hipStreamSynchronize", static_cast<void*>(nullptr)), 700);
  int* memory = allocate<int>(4);
  EXPECT_EQ(hip("hipMemset", memory, 0, std::size_t{16}), 700);
  EXPECT_EQ(hip("hipFree", memory), 0);
  EXPECT_EQ(hip("hipDeviceReset"), 0);
  EXPECT_EQ(launch(function("none"), 1, 64, nullptr), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 0);

  EXPECT_EQ(launch(function("trapped"), 1, 64, nullptr), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 719);
  EXPECT_EQ(hip("hipDeviceReset"), 0);

  // Past the end of an allocation, and freed memory.
  int* small = allocate<int>(64);
  void* inside = small + 32;
  arguments[0] = &inside;
  EXPECT_EQ(launch(function("wild"), 1, 64, arguments), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 700);
  EXPECT_EQ(hip("hipDeviceReset"), 0);
  arguments[0] = &small;
  EXPECT_EQ(hip("hipFree", small), 0);
  EXPECT_EQ(launch(function("wild"), 1, 64, arguments), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 700);
  EXPECT_EQ(hip("hipDeviceReset"), 0);
}

// What a host function of the test waits for, and what it sets.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int> passed{0};
  static void pass(void* data) {
    auto* gate = static_cast<Gate*>(data);
    while (!gate->open) std::this_thread::yield();
    gate->passed++;
  }
};

TEST_P(HipRuntime, StreamsRunInOrderAndBesideOneAnother) {
  void *first = nullptr, *second = nullptr;
  EXPECT_EQ(hip("hipStreamCreateWithFlags", &first, 1U), 0);
  EXPECT_EQ(hip("hipStreamCreateWithFlags", &second, 1U), 0);
  Gate gate, free;
  free.open = true;
  EXPECT_EQ(hip("hipLaunchHostFunc", first, &Gate::pass, static_cast<void*>(&gate)), 0);
  EXPECT_EQ(hip("hipLaunchHostFunc", second, &Gate::pass, static_cast<void*>(&free)), 0);
  EXPECT_EQ(hip("hipStreamSynchronize", second), 0);  // the first does not delay it
  EXPECT_EQ(free.passed, 1);
  EXPECT_EQ(gate.passed, 0);
  EXPECT_EQ(hip("hipStreamQuery", first), 600);
  // The legacy default stream waits for blocking streams only.
  EXPECT_EQ(hip("hipStreamSynchronize", static_cast<void*>(nullptr)), 0);
  gate.open = true;
  EXPECT_EQ(hip("hipStreamSynchronize", first), 0);
  EXPECT_EQ(hip("hipStreamQuery", first), 0);
  EXPECT_EQ(hip("hipStreamDestroy", first), 0);
  EXPECT_EQ(hip("hipStreamDestroy", first), invalid_handle);
  EXPECT_EQ(hip("hipStreamSynchronize", first), invalid_handle);
  EXPECT_EQ(hip("hipStreamDestroy", second), 0);
}

TEST_P(HipRuntime, TheDefaultStreamWaitsForBlockingStreamsAndTheyForIt) {
  void* stream = nullptr;
  EXPECT_EQ(hip("hipStreamCreate", &stream), 0);
  Gate gate;
  std::atomic<int> seen{-1};
  struct Check {
    Gate* gate;
    std::atomic<int>* seen;
  } check{&gate, &seen};
  using Host = void(void*);
  Host* look = [](void* data) {
    auto* c = static_cast<Check*>(data);
    *c->seen = c->gate->passed.load();
  };
  EXPECT_EQ(hip("hipLaunchHostFunc", stream, &Gate::pass, static_cast<void*>(&gate)), 0);
  EXPECT_EQ(hip("hipLaunchHostFunc", static_cast<void*>(nullptr), look, static_cast<void*>(&check)), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(seen, -1);
  gate.open = true;
  EXPECT_EQ(hip("hipStreamSynchronize", static_cast<void*>(nullptr)), 0);
  EXPECT_EQ(seen, 1);

  gate.open = false;
  seen = -1;
  EXPECT_EQ(hip("hipLaunchHostFunc", static_cast<void*>(nullptr), &Gate::pass, static_cast<void*>(&gate)), 0);
  EXPECT_EQ(hip("hipLaunchHostFunc", stream, look, static_cast<void*>(&check)), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(seen, -1);
  gate.open = true;
  EXPECT_EQ(hip("hipStreamSynchronize", stream), 0);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(hip("hipStreamDestroy", stream), 0);
}

TEST_P(HipRuntime, EventsOrderStreamsAndTakeTime) {
  void *first = nullptr, *second = nullptr, *event = nullptr, *start = nullptr, *stop = nullptr;
  hip("hipStreamCreateWithFlags", &first, 1U);
  hip("hipStreamCreateWithFlags", &second, 1U);
  EXPECT_EQ(hip("hipEventCreate", &event), 0);
  EXPECT_EQ(hip("hipEventQuery", event), 0);  // never recorded
  Gate gate;
  int order = 0;
  hip("hipLaunchHostFunc", first, &Gate::pass, static_cast<void*>(&gate));
  EXPECT_EQ(hip("hipEventRecord", event, first), 0);
  EXPECT_EQ(hip("hipStreamWaitEvent", second, event, 0U), 0);
  using Host = void(void*);
  Host* set = [](void* data) { *static_cast<int*>(data) = 1; };
  hip("hipLaunchHostFunc", second, set, static_cast<void*>(&order));
  EXPECT_EQ(hip("hipEventQuery", event), 600);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(hip("hipStreamQuery", second), 600);
  gate.open = true;
  EXPECT_EQ(hip("hipEventSynchronize", event), 0);
  EXPECT_EQ(hip("hipStreamSynchronize", second), 0);
  EXPECT_EQ(order, 1);

  hip("hipEventCreate", &start);
  hip("hipEventCreate", &stop);
  float once = -1, twice = -1;
  EXPECT_EQ(hip("hipEventElapsedTime", &once, start, stop), invalid_handle);
  hip("hipEventRecord", start, first);
  launch(function("none"), 4, 64, nullptr, nullptr, first);
  hip("hipEventRecord", stop, first);
  EXPECT_EQ(hip("hipStreamSynchronize", first), 0);
  EXPECT_EQ(hip("hipEventElapsedTime", &once, start, stop), 0);
  EXPECT_GT(once, 0.0F);
  hip("hipEventRecord", start, first);
  launch(function("none"), 4, 64, nullptr, nullptr, first);
  launch(function("none"), 4, 64, nullptr, nullptr, first);
  hip("hipEventRecord", stop, first);
  hip("hipStreamSynchronize", first);
  EXPECT_EQ(hip("hipEventElapsedTime", &twice, start, stop), 0);
  EXPECT_NEAR(twice, 2 * once, 1e-3F * once);  // the model's clock, not the host's
  for (void* e : {event, start, stop}) EXPECT_EQ(hip("hipEventDestroy", e), 0);
  EXPECT_NE(hip("hipEventRecord", event, first), 0);
  EXPECT_EQ(hip("hipEventCreateWithFlags", &event, 2U), 0);
  hip("hipEventRecord", event, first);
  hip("hipEventSynchronize", event);
  EXPECT_EQ(hip("hipEventElapsedTime", &once, event, event), invalid_handle);
  hip("hipEventDestroy", event);
  hip("hipStreamDestroy", first);
  hip("hipStreamDestroy", second);
}

TEST_P(HipRuntime, ValuesInMemoryOrderStreams) {
  void* stream = nullptr;
  hip("hipStreamCreateWithFlags", &stream, 1U);
  void* memory = nullptr;
  EXPECT_EQ(hip("hipExtMallocWithFlags", &memory, std::size_t{8}, 2U), 0);
  hip("hipMemset", memory, 0, std::size_t{8});
  EXPECT_EQ(hip("hipStreamWaitValue32", stream, memory, 5U, 0U, 0xffffffffU), 0);
  EXPECT_EQ(hip("hipStreamWriteValue64", stream, memory, std::uint64_t{9}, 0U), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(hip("hipStreamQuery", stream), 600);
  EXPECT_EQ(hip("hipStreamWriteValue32", reinterpret_cast<void*>(2), memory, 6U, 0U), 0);
  EXPECT_EQ(hip("hipStreamSynchronize", stream), 0);
  std::uint64_t value = 0;
  hip("hipMemcpy", &value, memory, std::size_t{8}, 2);
  EXPECT_EQ(value, 9U);
  EXPECT_EQ(hip("hipStreamWaitValue32", stream, static_cast<void*>(&value), 5U, 0U, 0xffffffffU), invalid_value);
  hip("hipFree", memory);
  hip("hipStreamDestroy", stream);
}

TEST_P(HipRuntime, LastErrorsAreKeptAsTheReleaseKeepsThem) {
  hip("hipGetLastError");
  EXPECT_EQ(hip("hipFree", static_cast<void*>(this)), invalid_value);
  EXPECT_EQ(hip("hipPeekAtLastError"), invalid_value);
  int count = 0;
  EXPECT_EQ(hip("hipGetDeviceCount", &count), 0);
  EXPECT_EQ(hip("hipPeekAtLastError"), hip.major < 7 ? 0 : invalid_value);
  hip("hipGetLastError");
  EXPECT_EQ(hip("hipPeekAtLastError"), 0);
  using Text = const char*(int);
  EXPECT_STREQ(hip.function<Text>("hipGetErrorName")(209), "hipErrorNoBinaryForGpu");
  EXPECT_STREQ(hip.function<Text>("hipGetErrorString")(2), "out of memory");
  EXPECT_STREQ(hip.function<Text>("hipGetErrorName")(123456), "hipErrorUnknown");
}

TEST_P(HipRuntime, FunctionsAreFoundByName) {
  void* found = nullptr;
  int status = -1;
  EXPECT_EQ(hip("hipGetProcAddress", "hipMalloc", &found, 60000000, std::uint64_t{0}, &status), 0);
  EXPECT_EQ(found, dlsym(hip.handle(), "hipMalloc"));
  EXPECT_EQ(hip("hipGetProcAddress", "hipGetDeviceProperties", &found, 60000000, std::uint64_t{0}, &status), 0);
  EXPECT_EQ(found, dlsym(hip.handle(), "hipGetDevicePropertiesR0600"));
  EXPECT_EQ(hip("hipGetProcAddress", "hipNothing", &found, 60000000, std::uint64_t{0}, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(found, nullptr);
}

TEST_P(HipRuntime, ContextsAreDevices) {
  void *context = nullptr, *popped = nullptr;
  EXPECT_EQ(hip("hipDevicePrimaryCtxRetain", &context, 1), 0);
  EXPECT_EQ(hip("hipCtxPushCurrent", context), 0);
  int device = -1;
  EXPECT_EQ(hip("hipCtxGetDevice", &device), 0);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(hip("hipCtxPopCurrent", &popped), 0);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(hip("hipCtxSetCurrent", static_cast<void*>(this)), 201);
}

INSTANTIATE_TEST_SUITE_P(, HipRuntime, testing::Values(5, 6, 7), library_name);

// In a separate process, because the environment is read once.
TEST(HipEnvironment, AnUnknownArchitectureIsNamedWithTheKnownOnes) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string output = shell("RAPT_SIM_CHILD=1 RAPT_SIM_ARCH=gfx942,gfx9999 RAPT_SIM_LOG=stderr " + self +
                                   " --gtest_filter=HipChild.* 2>&1");
  EXPECT_NE(output.find("'gfx9999'"), std::string::npos) << output;
  EXPECT_NE(output.find("gfx1201"), std::string::npos) << output;
  EXPECT_NE(output.find("1 test"), std::string::npos) << output;
}

TEST(HipChild, FindsNoDevice) {
  if (std::getenv("RAPT_SIM_CHILD") == nullptr) GTEST_SKIP() << "runs as a child of the test before";
  const HipLibrary hip(7);
  int count = 5;
  EXPECT_EQ(hip("hipGetDeviceCount", &count), 100);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(hip("hipInit", 0U), 100);
  void* pointer = nullptr;
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{4}), 100);
}

}  // namespace
}  // namespace rapt::sim::test
