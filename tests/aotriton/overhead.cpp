// The host's time for a call of libaotriton_v2, over a HIP library whose functions return at once. Usage:
// RAPT_HIP_LIBRARY=... RAPT_KERNEL_PATH=... aotriton_overhead
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "aotriton/abi/functions.hpp"

namespace {

using namespace aotriton;

// The first call, which loads kernels, and the least of many batches: a call's cost if nothing else runs.
template <class Body>
void print(const char* what, const Body& body) {
  using Clock = std::chrono::steady_clock;
  const auto nanoseconds = [](Clock::time_point since) {
    return std::chrono::duration<double, std::nano>(Clock::now() - since).count();
  };
  const auto begin = Clock::now();
  if (body() != kSuccess) {
    std::printf("%-48s fails\n", what);
    return;
  }
  const double first = nanoseconds(begin);
  double least = 1e9;
  for (int batch = 0; batch < 200; ++batch) {
    constexpr int kCalls = 500;
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    least = std::min(least, nanoseconds(start) / kCalls);
  }
  std::printf("%-48s %6.0f ns, the first %8.0f ns\n", what, least, first);
}

std::vector<char> memory(size_t{16} << 20);

T4 rows(size_t part) {
  return {reinterpret_cast<intptr_t>(memory.data() + (part << 20)), {1, 1, 64, 64}, {4096, 4096, 64, 1}, kBFloat16};
}

template <class Params>
Params causal(int32_t aligned) {
  Params p = {};
  p.q = rows(0);
  p.k = rows(1);
  p.v = rows(2);
  p.out = rows(3);
  p.lse = {reinterpret_cast<intptr_t>(memory.data() + (4 << 20)), {1, 64}, {64, 1}, kFloat32};
  p.scale = 0.125f;
  p.causal = v3::flash::kWindow;
  p.window_left = p.window_right = aligned;
  return p;
}

}  // namespace

int main() {
  auto forward = causal<v3::flash::ForwardParams3>(v3::flash::kTopLeft);
  auto backward = causal<v3::flash::BackwardParams6>(v3::flash::kTopLeft);
  backward.dout = rows(5);
  backward.dq = rows(6);
  backward.dk = rows(7);
  backward.dv = rows(8);
  const auto attn_fwd = [&] {
    return v3::flash::attn_fwd(reinterpret_cast<const v3::flash::attn_fwd_params&>(forward), 3, nullptr, nullptr);
  };
  print("check_gpu", [] { return v2::flash::check_gpu(nullptr); });
  print("attn_fwd", attn_fwd);
  print("attn_bwd", [&] {
    return v3::flash::attn_bwd(reinterpret_cast<const v3::flash::attn_bwd_params&>(backward), 6, nullptr, nullptr);
  });
  forward.q = {reinterpret_cast<intptr_t>(memory.data()), {1, 1, 128, 64}, {8192, 8192, 64, 1}, kBFloat16};
  forward.out = {
      reinterpret_cast<intptr_t>(memory.data() + (3 << 20)), {1, 1, 128, 64}, {8192, 8192, 64, 1}, kBFloat16};
  forward.lse = {reinterpret_cast<intptr_t>(memory.data() + (4 << 20)), {1, 128}, {128, 1}, kFloat32};
  forward.window_left = forward.window_right = v3::flash::kBottomRight;
  print("attn_fwd, rows without keys: lse is converted", attn_fwd);
}
