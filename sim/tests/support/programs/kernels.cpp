#include "sim/tests/support/programs/kernels.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rapt::sim::test {

const char* const hip_prelude = R"(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define TID ((uint)__builtin_amdgcn_workitem_id_x())
#define BID ((uint)__builtin_amdgcn_workgroup_id_x())
#define SYNC() (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
                __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
)";

std::vector<std::byte> compile(Arch arch, const std::string& source, const std::string& flags,
                               const std::string& compiler) {
  static std::atomic<unsigned> count{0};
  const std::string stem = temporary_folder() + "/k" + std::to_string(count++);
  std::ofstream(stem + ".hip") << hip_prelude << source << '\n';
  // clang-19 starts a program called lld, which is that of LLVM 22 here.
  shell("PATH=$PATH:/usr/lib/llvm-22/bin " + compiler +
        " -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++20 --offload-arch=" +
        std::string(name(arch)) + " " + flags + " -c " + stem + ".hip -o " + stem + ".co");
  std::ifstream file(stem + ".co", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  for (const char* end : {".hip", ".co"}) std::filesystem::remove(stem + end);
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

const Kernel& Module::kernel(std::string_view name) const {
  for (const Kernel& kernel : object_->kernels())
    if (kernel.name == name) return kernel;
  throw std::runtime_error("no kernel " + std::string(name));
}

}  // namespace rapt::sim::test
