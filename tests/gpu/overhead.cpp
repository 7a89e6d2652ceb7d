// What a forward call costs on the host, over a HIP library whose functions return at once: Rapt's own part of a call,
// which is on top of hipModuleLaunchKernel; with a cached plan, and where the problem is new and a kernel is selected.
// Usage: RAPT_HIP_LIBRARY=... RAPT_KERNEL_PATH=... [RAPT_TUNING=...] gpu_overhead
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "rapt/rapt.hpp"

namespace {

// The least of many batches: what it costs where nothing else runs.
template <class Body>
double nanoseconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  double least = 1e9;
  for (int batch = 0; batch < 200; ++batch) {
    constexpr int kCalls = 500;
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kCalls);
  }
  return least;
}

template <class Body>
double nanoseconds_once(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main() try {
  constexpr rapt_device kGpu = {RAPT_ROCM, 0};
  std::vector<uint16_t> memory(size_t{4} * 64 * 64 * 2);
  const auto tensor = [&](size_t part) {
    return rapt::Tensor(memory.data() + part * 64 * 64, rapt::kBf16, {1, 64, 1, 64}, {}, kGpu);
  };
  const rapt::Attention attention{.q = tensor(0), .k = tensor(1), .v = tensor(2), .causal = RAPT_CAUSAL};
  const rapt::Tensor out = tensor(3);
  const std::optional lse = rapt::Tensor(memory.data() + 4 * 64 * 64, rapt::kFp32, {1, 1, 64}, {}, kGpu);
  const rapt::Execution how;
  rapt::detail::Structs structs(attention, how);
  const rapt_forward_call call = structs.forward(out, lse);
  rapt::check(rapt_forward(&call));
  std::printf("%s\n", rapt::describe(kGpu).runtime);
  std::printf("rapt_forward   %7.0f ns\n", nanoseconds([&] { rapt::check(rapt_forward(&call)); }));
  size_t bytes = 0;
  std::printf("of it the plan %7.0f ns\n",
              nanoseconds([&] { rapt::check(rapt_workspace_size(&call, nullptr, &bytes)); }));
  std::printf("rapt::forward  %7.0f ns\n", nanoseconds([&] { rapt::forward(attention, out, lse, how); }));
  // A stride of 0 lets the same memory be as long as it must.
  int64_t length = 64;
  std::vector<double> first;
  for (int i = 0; i < 2000; ++i) {
    const auto longer = [&](size_t part, int64_t rows) {
      return rapt::Tensor(memory.data() + part * 64 * 64, rapt::kBf16, {1, rows, 1, 64}, {64 * 64, 0, 64, 1}, kGpu);
    };
    const rapt::Attention next{.q = tensor(0), .k = longer(1, ++length), .v = longer(2, length)};
    first.push_back(nanoseconds_once([&] { rapt::forward(next, out, lse, how); }));
  }
  std::ranges::sort(first);
  std::printf("of a new problem %5.0f ns (median), %5.0f ns (99 of 100)\n", first[1000], first[1980]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
