// Launches through each of the three HIP libraries: arguments, shapes, refused launches. The check `values` is on.
#include "sim/tests/support/programs/hip_runtime.hpp"

#include <fstream>
#include <numeric>
#include <sstream>

namespace rapt::sim::test {
namespace {

using namespace hip;

const std::string log_file = temporary_folder() + "/launch.log";
[[maybe_unused]] const bool configured =
    setenv("RAPT_SIM_ARCH", "gfx942,gfx1100", 1) == 0 && setenv("RAPT_SIM_LOG", log_file.c_str(), 1) == 0 &&
    setenv("RAPT_SIM_CHECK", "values", 1) == 0 && (Memory::set_tracking(true), true);

TEST_P(HipRuntime, LaunchesWithBothFormsOfArguments) {
  for (const int device : {0, 1}) {
    EXPECT_EQ(hip("hipSetDevice", device), 0);
    std::vector<int> host(300);
    std::iota(host.begin(), host.end(), 0);
    int *in = allocate<int>(300), *out = allocate<int>(300);
    hip("hipMemcpy", in, host.data(), std::size_t{1200}, 1);
    void* f = function("add");
    int n = 300;
    short step = 5;
    void* arguments[] = {&out, &in, &n, &step};
    EXPECT_EQ(launch(f, 3, 128, arguments), 0);
    EXPECT_EQ(hip("hipDeviceSynchronize"), 0);
    EXPECT_EQ(read(out, 300)[299], 299 + 105);

    struct {
      int *out, *in;
      int n;
      short step;
    } packed{out, in, 300, 6};
    std::size_t size = sizeof(packed);
    void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size,
                     reinterpret_cast<void*>(3)};
    EXPECT_EQ(launch(f, 3, 128, nullptr, extra), 0);
    EXPECT_EQ(read(out, 300)[150], 150 + 106);

    size = 4096;  // ROCm reads only the kernel's part
    packed.step = 7;
    EXPECT_EQ(launch(f, 3, 128, nullptr, extra), 0);
    EXPECT_EQ(read(out, 300)[150], 150 + 107);
    extra[2] = nullptr;
    EXPECT_EQ(launch(f, 3, 128, nullptr, extra), invalid_value);
    EXPECT_EQ(launch(f, 3, 128, arguments, extra), invalid_value);
    EXPECT_EQ(launch(f, 3, 128, nullptr, nullptr), invalid_value);
    hip("hipFree", in);
    hip("hipFree", out);
  }
}

std::string logged() {
  std::ostringstream text;
  text << std::ifstream(log_file).rdbuf();
  return text.str();
}

// ROCm accepts a buffer that is shorter than the kernel's arguments. Missing ones read as zero, which the log says, and
// count as never written in the check.
TEST_P(HipRuntime, AShortBufferOfArgumentsIsTaken) {
  int* out = allocate<int>(64);
  struct {
    int *out, *in;
    int n;
    short step;
  } packed{out, nullptr, 0, 6};
  std::size_t size = 20;  // all but `step`
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
  std::ofstream(log_file, std::ios::trunc);
  EXPECT_EQ(launch(function("add"), 1, 64, nullptr, extra), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 0) << "n is 0, so that no work-item needs `step`";
  EXPECT_NE(logged().find("`extra` has 20 bytes, and the arguments of add take 22: the others read as zero"),
            std::string::npos)
      << logged();

  hip("hipMemset", out, 0, std::size_t{256});
  packed.in = out, packed.n = 64;
  EXPECT_EQ(launch(function("add"), 1, 64, nullptr, extra), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 719);
  EXPECT_NE(logged().find("was never written and is stored"), std::string::npos) << logged();
  EXPECT_EQ(hip("hipDeviceReset"), 0);
}

// The same for arguments that are in SGPRs when the kernel begins.
TEST_P(HipRuntime, MissingPreloadedArgumentsAreUndefined) {
  const char* text = R"(
    extern "C" __global__ void put(int* out, unsigned char a, unsigned char b, short value) { out[TID] = a + value; }
    extern "C" __global__ void first(int* out, unsigned char a, unsigned char b, short value) { out[TID] = a; })";
  const auto object = compile_for("gfx942", text, "-O1 -mllvm -amdgpu-kernarg-preload-count=3");
  void *module = nullptr, *put = nullptr, *first = nullptr;
  ASSERT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>(object.data())), 0);
  ASSERT_EQ(hip("hipModuleGetFunction", &put, module, "put"), 0);
  ASSERT_EQ(hip("hipModuleGetFunction", &first, module, "first"), 0);
  struct {
    int* out;
    unsigned char a, b;
    short value;
  } packed{allocate<int>(64), 3, 0, 2};
  std::size_t size = 12;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
  EXPECT_EQ(launch(put, 1, 64, nullptr, extra), 0);
  EXPECT_EQ(read(packed.out, 64)[63], 5);
  size = 10;  // without `value`, in the same SGPR as a and b
  EXPECT_EQ(launch(first, 1, 64, nullptr, extra), 0);
  EXPECT_EQ(read(packed.out, 64)[63], 3);
  std::ofstream(log_file, std::ios::trunc);
  EXPECT_EQ(launch(put, 1, 64, nullptr, extra), 0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 719);
  EXPECT_NE(logged().find("was never written and is stored"), std::string::npos) << logged();
  EXPECT_EQ(hip("hipDeviceReset"), 0);
  EXPECT_EQ(hip("hipModuleUnload", module), 0);
}

TEST_P(HipRuntime, BadLaunchesAreRefused) {
  int* out = allocate<int>(1024);
  void* arguments[] = {&out};
  EXPECT_EQ(launch(function("none"), 1, 64, nullptr), 0);
  EXPECT_EQ(launch(function("none"), 0, 64, nullptr), invalid_value);
  EXPECT_EQ(launch(function("none"), 1, 0, nullptr), invalid_value);
  EXPECT_EQ(launch(function("none"), 1, 1025, nullptr), invalid_value);
  EXPECT_EQ(launch(function("none"), 1U << 30, 1024, nullptr), invalid_value);
  EXPECT_EQ(launch(function("small"), 1, 65, arguments), 719);
  EXPECT_EQ(launch(function("none"), 1, 64, nullptr, nullptr, nullptr, 65537), invalid_value);
  EXPECT_EQ(launch(function("shared"), 1, 64, arguments, nullptr, nullptr, 65536), 701);
  EXPECT_EQ(launch(nullptr, 1, 64, nullptr), invalid_handle);
  EXPECT_EQ(launch(out, 1, 64, nullptr), invalid_handle);
  EXPECT_EQ(launch(function("none"), 1, 64, nullptr, nullptr, this), invalid_handle);
  hip("hipFree", out);
}

TEST_P(HipRuntime, DynamicLdsIsBehindTheStatic) {
  int* out = allocate<int>(64);
  void* arguments[] = {&out};
  EXPECT_EQ(launch(function("shared"), 1, 64, arguments, nullptr, nullptr, 256), 0);
  const auto values = read(out, 64);
  for (int i = 0; i < 64; i++) EXPECT_EQ(values[size_t(i)], 63 - i + 2 * i);
  hip("hipFree", out);
}

TEST_P(HipRuntime, RaggedGridsEndInASmallerGroup) {
  int* out = allocate<int>(200);
  hip("hipMemset", out, 0, std::size_t{800});
  void* arguments[] = {&out};
  const auto ragged = compile_for("gfx942", hip_runtime_source, "-O1 -fno-offload-uniform-block");
  void *module = nullptr, *f = nullptr;
  ASSERT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>(ragged.data())), 0);
  ASSERT_EQ(hip("hipModuleGetFunction", &f, module, "ids"), 0);
  EXPECT_EQ(hip("hipExtModuleLaunchKernel", f, 150U, 1U, 1U, 64U, 1U, 1U, std::size_t{0}, static_cast<void*>(nullptr),
                static_cast<void**>(arguments), static_cast<void**>(nullptr), static_cast<void*>(nullptr),
                static_cast<void*>(nullptr), 0U),
            0);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 0);
  const auto values = read(out, 200);
  EXPECT_EQ(values[0], 64);
  EXPECT_EQ(values[127], 64);
  EXPECT_EQ(values[128], 22);  // the last group knows its own size
  EXPECT_EQ(values[149], 22);
  EXPECT_EQ(values[150], 0);
  hip("hipModuleUnload", module);
  hip("hipFree", out);
}

TEST_P(HipRuntime, FunctionsSayWhatTheyAre) {
  int value = 0;
  EXPECT_EQ(hip("hipFuncGetAttribute", &value, int{function_max_threads_per_block}, function("small")), 0);
  EXPECT_EQ(value, 64);
  EXPECT_EQ(hip("hipFuncGetAttribute", &value, int{function_shared_size_bytes}, function("shared")), 0);
  EXPECT_EQ(value, 256);
  EXPECT_EQ(hip("hipFuncGetAttribute", &value, int{function_num_regs}, function("add")), 0);
  EXPECT_GT(value, 0);
  EXPECT_EQ(hip("hipFuncGetAttribute", &value, 99, function("add")), invalid_value);
  EXPECT_EQ(hip("hipFuncGetAttribute", &value, 0, static_cast<void*>(this)), invalid_handle);
  int groups = 0, size = 0;
  EXPECT_EQ(hip("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", &groups, function("none"), 256, std::size_t{0}),
            0);
  EXPECT_EQ(groups, 8);  // 32 waves of 64 in a compute unit
  EXPECT_EQ(
      hip("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", &groups, function("none"), 256, std::size_t{40000}), 0);
  EXPECT_EQ(groups, 1);
  EXPECT_EQ(hip("hipModuleOccupancyMaxPotentialBlockSize", &groups, &size, function("none"), std::size_t{0}, 0), 0);
  EXPECT_EQ(size, 1024);
  EXPECT_EQ(groups, 2 * 304);
}

// A kernel's fault is reported by the next synchronising call and stays until the device is reset.
INSTANTIATE_TEST_SUITE_P(, HipRuntime, testing::Values(5, 6, 7), library_name);

}  // namespace
}  // namespace rapt::sim::test
