// The host's time for a forward call, with a cached plan, and for a new problem whose kernel must be selected. Over a
// HIP library whose functions return at once, it is Rapt's own part of a call. On cuda:0 it is the whole call, beside
// cuLaunchKernel of an empty kernel with as many bytes of arguments. Usage: RAPT_HIP_LIBRARY=... RAPT_KERNEL_PATH=...
// [RAPT_TUNING=...] gpu_overhead
//        RAPT_KERNEL_PATH=... gpu_overhead cuda
#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/abi.h"

#include "rapt/rapt.hpp"

namespace {

double user_nanoseconds() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return 1e9 * static_cast<double>(usage.ru_utime.tv_sec) + 1e3 * static_cast<double>(usage.ru_utime.tv_usec);
}

// The least of many batches: a call's cost if nothing else runs. A GPU's queue holds a thousand launches, and is empty
// when a batch begins.
template <class Body>
double nanoseconds(rapt_device gpu, const char* name, const Body& body) {
  using Clock = std::chrono::steady_clock;
  constexpr int kBatches = 400, kCalls = 250;
  double least = 1e9, user = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    rapt::synchronize(gpu);
    const double user_start = user_nanoseconds();
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kCalls);
    user += user_nanoseconds() - user_start;
  }
  std::printf("%-14s %7.0f ns, on average %7.0f ns of user time\n", name, least, user / kBatches / kCalls);
  return least;
}

template <class Body>
double nanoseconds_once(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

template <class... Arguments>
auto* libcuda(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const found = reinterpret_cast<int (*)(Arguments...)>(library ? dlsym(library, name) : nullptr);
  if (!found) throw std::runtime_error(std::string("there is no libcuda.so.1 with ") + name);
  return found;
}

template <class... Arguments>
void cuda(const char* name, Arguments... arguments) {
  if (const int status = libcuda<Arguments...>(name)(arguments...))
    throw std::runtime_error(std::string(name) + " gives " + std::to_string(status));
}

double nanoseconds_of_a_launch(rapt_device gpu) {
  rapt_forward_args arguments = {};
  const std::string code =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry empty(.param .align 8 .b8 a[" +
      std::to_string(sizeof arguments) + "]) { ret; }\n";
  void *module = nullptr, *kernel = nullptr;
  cuda("cuModuleLoadData", &module, code.c_str());
  cuda("cuModuleGetFunction", &kernel, module, "empty");
  void* parameters[] = {&arguments};
  using Size = unsigned;
  auto* const launch =
      libcuda<void*, Size, Size, Size, Size, Size, Size, Size, void*, void**, void**>("cuLaunchKernel");
  int failed = 0;
  const double each = nanoseconds(
      gpu, "cuLaunchKernel", [&] { failed |= launch(kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr); });
  if (failed != 0) throw std::runtime_error("cuLaunchKernel fails");
  return each;
}

// Makes the primary context current in this thread, as the CUDA run-time library, and so PyTorch, does.
void enter_cuda() {
  void* context = nullptr;
  cuda("cuInit", 0U);
  cuda("cuDevicePrimaryCtxRetain", &context, 0);
  cuda("cuCtxSetCurrent", context);
}

}  // namespace

int main(int count, char** arguments) try {
  const bool on_cuda = count > 1 && std::string(arguments[1]) == "cuda";
  const rapt_device gpu = {on_cuda ? RAPT_CUDA : RAPT_ROCM, 0};
  if (on_cuda) enter_cuda();
  const double launch = on_cuda ? nanoseconds_of_a_launch(gpu) : 0;
  const rapt::DeviceMemory device_memory(gpu, size_t{2} * 4 * 64 * 64 * 2);
  auto* const memory = static_cast<uint16_t*>(device_memory.data());
  const auto tensor = [&](size_t part) {
    return rapt::Tensor(memory + part * 64 * 64, rapt::kBf16, {1, 64, 1, 64}, {}, gpu);
  };
  const rapt::Attention attention{.q = tensor(0), .k = tensor(1), .v = tensor(2), .causal = RAPT_CAUSAL};
  const rapt::Tensor out = tensor(3);
  const std::optional lse = rapt::Tensor(memory + 4 * 64 * 64, rapt::kFp32, {1, 1, 64}, {}, gpu);
  const rapt::Execution how;
  rapt::detail::Structs structs(attention, how);
  const rapt_forward_call call = structs.forward(out, lse);
  rapt::check(rapt_forward(&call));
  std::printf("%s\n", rapt::describe(gpu).runtime);
  const double forward = nanoseconds(gpu, "rapt_forward", [&] { rapt::check(rapt_forward(&call)); });
  if (on_cuda) std::printf("above a launch %7.0f ns\n", forward - launch);
  size_t bytes = 0;
  nanoseconds(gpu, "of it the plan", [&] { rapt::check(rapt_workspace_size(&call, nullptr, &bytes)); });
  nanoseconds(gpu, "rapt::forward", [&] { rapt::forward(attention, out, lse, how); });
  // A stride of 0 lets the same memory stand for any length.
  int64_t length = 64;
  std::vector<double> first;
  for (int i = 0; i < 2000; ++i) {
    const auto longer = [&](size_t part, int64_t rows) {
      return rapt::Tensor(memory + part * 64 * 64, rapt::kBf16, {1, rows, 1, 64}, {64 * 64, 0, 64, 1}, gpu);
    };
    const rapt::Attention next{.q = tensor(0), .k = longer(1, ++length), .v = longer(2, length)};
    if (i % 250 == 0) rapt::synchronize(gpu);
    first.push_back(nanoseconds_once([&] { rapt::forward(next, out, lse, how); }));
  }
  std::ranges::sort(first);
  std::printf("of a new problem %5.0f ns (median), %5.0f ns (99 of 100)\n", first[1000], first[1980]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
