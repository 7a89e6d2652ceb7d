// Whole HIP programs by stock clang, without HIP's headers: fat binaries that the compiler registers, <<<>>> launches,
// variables of the device. They are linked against each of the three libraries, and against one with ROCm's symbol
// versions.
#include "sim/tests/support/programs/bundles.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace rapt::sim::test {
namespace {

// The part of HIP's headers that a program needs.
constexpr const char* prelude = R"(
#include <cstddef>
#include <cstdio>
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __managed__ __attribute__((managed))
struct dim3 { unsigned x, y, z; __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
typedef struct ihipStream_t* hipStream_t;
typedef int hipError_t;
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0, hipStream_t stream = nullptr);
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
extern "C" hipError_t hipMalloc(void**, size_t), hipFree(void*), hipMemcpy(void*, const void*, size_t, int), hipDeviceSynchronize(),
  hipMemcpyToSymbol(const void*, const void*, size_t, size_t, int), hipMemcpyFromSymbol(void*, const void*, size_t, size_t, int),
  hipGetLastError(), hipSetDevice(int), hipGetDeviceCount(int*), hipGetSymbolSize(size_t*, const void*);
)";

constexpr const char* program = R"(
__constant__ float factor;
__device__ int calls;
__managed__ int shared_with_host = 20;
__global__ void scale(const float* in, float* out, int n) {
  const int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n) out[i] = in[i] * factor;
  if (i == 0) { calls++; shared_with_host += 2; }
}
template <typename T> __global__ void reverse(T* data) {
  extern __shared__ unsigned char raw[];
  T* tile = reinterpret_cast<T*>(raw);
  const int i = __builtin_amdgcn_workitem_id_x();
  tile[i] = data[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  data[i] = tile[127 - i];
}
#define CHECK(call) do { const int e = (call); if (e != 0) { std::printf("%s: %d\n", #call, e); return 1; } } while (0)
int run(int device) {
  CHECK(hipSetDevice(device));
  const int n = 1000;
  float in[n], out[n], *a, *b, f = 2.5f;
  for (int i = 0; i < n; i++) in[i] = i;
  CHECK(hipMalloc((void**)&a, sizeof in));
  CHECK(hipMalloc((void**)&b, sizeof in));
  CHECK(hipMemcpy(a, in, sizeof in, 1));
  CHECK(hipMemcpyToSymbol(&factor, &f, sizeof f, 0, 1));
  size_t size = 0;
  CHECK(hipGetSymbolSize(&size, &calls));
  if (size != 4) { std::printf("size %zu\n", size); return 1; }
  const int before = shared_with_host;
  scale<<<dim3(4), dim3(256)>>>(a, b, n);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(out, b, sizeof out, 2));
  for (int i = 0; i < n; i++) if (out[i] != 2.5f * i) { std::printf("out[%d] = %f\n", i, out[i]); return 1; }
  int counted = 0;
  CHECK(hipMemcpyFromSymbol(&counted, &calls, sizeof counted, 0, 2));
  if (counted != 1 || shared_with_host != before + 2) { std::printf("%d %d\n", counted, shared_with_host); return 1; }
  double d[128], *p;
  for (int i = 0; i < 128; i++) d[i] = i;
  CHECK(hipMalloc((void**)&p, sizeof d));
  CHECK(hipMemcpy(p, d, sizeof d, 1));
  reverse<double><<<1, 128, sizeof d>>>(p);
  CHECK(hipMemcpy(d, p, sizeof d, 2));
  for (int i = 0; i < 128; i++) if (d[i] != 127 - i) { std::printf("d[%d] = %f\n", i, d[i]); return 1; }
  scale<<<1, 2000>>>(a, b, n);
  if (hipGetLastError() == 0) { std::printf("too many threads\n"); return 1; }
  CHECK(hipFree(a)); CHECK(hipFree(b)); CHECK(hipFree(p));
  return 0;
}
int main() {
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  for (int i = 0; i < devices; i++) if (run(i) != 0) return 1;
  std::printf("%d devices right\n", devices);
}
)";

const std::string folder = RAPT_SIM_LIBRARY_FOLDER;

// Compiles the program for both kinds of devices and links it against `library`.
std::string build(const std::string& name, const std::string& library, const std::string& flags) {
  const std::string stem = temporary_folder() + "/" + name;
  std::ofstream(stem + ".hip") << prelude << program;
  shell(with_bundler() +
        "clang++-22 -x hip -std=c++20 -O1 -nogpulib -nogpuinc --offload-arch=gfx942 --offload-arch=gfx1100 "
        "--offload-arch=gfx1201 " +
        flags + " -c " + stem + ".hip -o " + stem + ".o 2>&1");
  shell("c++ " + stem + ".o -Wl,--allow-shlib-undefined " + library + " -Wl,-rpath," + folder + " -o " + stem +
        " 2>&1");
  return stem;
}

std::string run(const std::string& file) { return shell("RAPT_SIM_ARCH=gfx942,gfx1100,gfx1201 " + file + " 2>&1"); }

class HipProgram : public testing::TestWithParam<int> {};

TEST_P(HipProgram, RunsOnEachLibrary) {
  const std::string major = std::to_string(GetParam());
  const auto file = build("program" + major, folder + "/libamdhip64.so." + major, "");
  EXPECT_EQ(run(file), "3 devices right\n");
  EXPECT_NE(shell("readelf -d " + file).find("[libamdhip64.so." + major + "]"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Majors, HipProgram, testing::Values(5, 6, 7));

TEST(HipPrograms, SayWhyOnRequest) {
  const auto file = build("logged", folder + "/libamdhip64.so", "");
  const std::string output = shell("RAPT_SIM_LOG=stderr " + file + " 2>&1");
  EXPECT_NE(output.find("hipLaunchKernel: hipErrorInvalidValue: too many work-items"), std::string::npos) << output;
  const std::string log = temporary_folder() + "/log";
  EXPECT_EQ(shell("RAPT_SIM_LOG=" + log + " " + file + " 2>&1"), "1 devices right\n");
  EXPECT_NE(shell("cat " + log).find("too many work-items"), std::string::npos);
}

TEST(HipPrograms, SayWhyThereIsNoDevice) {
  const auto file = build("no_device", folder + "/libamdhip64.so", "");
  const auto output = [&](const std::string& variable) { return shell(variable + " " + file + " 2>&1 || true"); };
  const std::string device = output("RAPT_SIM_ARCH=gfx942:mi100"), mode = output("RAPT_SIM_TIME=on");
  EXPECT_NE(device.find("RAPT_SIM_ARCH: no device is called 'gfx942:mi100'"), std::string::npos) << device;
  EXPECT_NE(mode.find("RAPT_SIM_TIME: 'on' is none of 0, 1, sample and all"), std::string::npos) << mode;
  EXPECT_EQ(mode.find("devices right"), std::string::npos) << mode;
}

TEST(HipPrograms, AreTimedOnRequest) {
  const auto file = build("timed", folder + "/libamdhip64.so", "");
  const auto output = [&](const std::string& device, const std::string& mode) {
    return shell("RAPT_SIM_LOG=stderr RAPT_SIM_ARCH=" + device + " RAPT_SIM_TIME=" + mode + " " + file +
                 " 2>&1 || true");
  };
  const std::string timed = output("gfx942:mi308x", "1");
  EXPECT_NE(timed.find("scale"), std::string::npos) << timed;
  EXPECT_NE(timed.find(" us forecast (time model "), std::string::npos) << timed;
  EXPECT_NE(timed.find("1 of 4 groups timed"), std::string::npos) << timed;
  EXPECT_NE(timed.find("1 devices right"), std::string::npos) << timed;
  EXPECT_EQ(output("gfx942", "0").find("forecast"), std::string::npos);
  EXPECT_NE(output("gfx1100", "1").find(" us forecast (time model "), std::string::npos);
}

TEST(HipPrograms, RunWithACompressedFatBinary) {
  const auto file = build("compressed", folder + "/libamdhip64.so", "--offload-compress");
  EXPECT_EQ(run(file), "3 devices right\n");
}

// A program identifies its library only by file name and symbol versions: here they are another library's.
TEST(HipPrograms, StartThoughLinkedAgainstRocmsVersions) {
  const std::string stem = temporary_folder() + "/rocm";
  std::ofstream(stem + ".c") << R"(
int hipMalloc() { return 1; } int hipFree() { return 1; } int hipMemcpy() { return 1; } int hipDeviceSynchronize() { return 1; }
int hipMemcpyToSymbol() { return 1; } int hipMemcpyFromSymbol() { return 1; } int hipGetLastError() { return 1; }
int hipSetDevice() { return 1; } int hipGetDeviceCount() { return 1; } int hipGetSymbolSize() { return 1; }
int hipLaunchKernel() { return 1; } int __hipPushCallConfiguration() { return 1; } int __hipPopCallConfiguration() { return 1; }
void* __hipRegisterFatBinary() { return 0; } void __hipUnregisterFatBinary() {} void __hipRegisterFunction() {}
void __hipRegisterVar() {} void __hipRegisterManagedVar() {}
)";
  std::ofstream(stem + ".map") << "hip_4.2 { global: hip*; __hip*; local: *; };\nhip_5.1 { } hip_4.2;\n";
  shell("cc -shared -fPIC -w " + stem + ".c -Wl,--version-script=" + stem + ".map -Wl,-soname,libamdhip64.so.6 -o " +
        stem + ".so 2>&1");
  const auto file = build("versioned", stem + ".so", "");
  EXPECT_NE(shell("readelf -V " + file).find("hip_4.2"), std::string::npos);
  EXPECT_EQ(run(file), "3 devices right\n");
}

}  // namespace
}  // namespace rapt::sim::test
