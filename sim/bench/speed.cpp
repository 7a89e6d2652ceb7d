// Wave-instructions a second of the attention kernels, a thread each: RAPT_SIM_THREADS=1 sim_speed gfx942 gfx1151
#include "sim/tests/support/attention.hpp"

#include <chrono>
#include <cstdio>

int main(int argc, char** argv) {
  using namespace rapt::sim;
  for (int n = 1; n < argc; ++n) {
    const auto arch = parse_arch(argv[n]);
    if (!arch) return std::fprintf(stderr, "unknown architecture %s\n", argv[n]), 2;
    test::Attention attention(*arch, 512, 2);
    attention.run();
    double best = 0;
    std::uint64_t instructions = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      instructions = attention.run().instructions;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best = std::max(best, static_cast<double>(instructions) / seconds.count());
    }
    std::printf("%-8s %9llu wave-instructions, %6.2f million a second\n", argv[n],
                static_cast<unsigned long long>(instructions), best / 1e6);
  }
}
