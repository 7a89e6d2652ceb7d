#include "sim/tests/support/programs/command.hpp"

#include <sys/wait.h>

#include <fstream>

namespace rapt::sim::test {

const char* const program_prelude = R"(
#include <cstddef>
#include <cstdio>
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
struct dim3 { unsigned x, y, z; __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
typedef struct ihipStream_t* hipStream_t;
typedef int hipError_t;
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0, hipStream_t stream = nullptr);
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
extern "C" hipError_t hipMalloc(void**, size_t), hipMemcpy(void*, const void*, size_t, int), hipDeviceSynchronize();
)";

std::string compile_program(const std::string& source) {
  static int number = 0;
  const std::string stem = temporary_folder() + "/program" + std::to_string(number++);
  std::ofstream(stem + ".hip") << program_prelude << source;
  shell(with_bundler() +
        "clang++-22 -x hip -std=c++20 -O2 -g -nogpulib -nogpuinc --offload-arch=gfx942 --offload-arch=gfx1100 -c " +
        stem + ".hip -o " + stem + ".o 2>&1");
  shell("c++ " + stem + ".o -Wl,--allow-shlib-undefined " + library_folder + "/libamdhip64.so -o " + stem + " 2>&1");
  return stem;
}

Outcome run_command(const std::string& arguments) {
  const std::string out = temporary_folder() + "/out", err = temporary_folder() + "/err";
  const int status = std::system((library_folder + "/../bin/rapt-sim " + arguments + " >" + out + " 2>" + err).c_str());
  const auto text = [](const std::string& path) { return shell("cat " + path); };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text(out), text(err)};
}

}  // namespace rapt::sim::test
