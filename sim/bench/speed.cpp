// Wave-instructions a second of one thread's time, of the attention kernels: sim_speed gfx942 gfx1151
#include "sim/tests/support/programs/attention.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

int main(int argc, char** argv) {
  using namespace rapt::sim;
  // CPU time of other programs does not count.
  const auto seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  for (int n = 1; n < argc; ++n) {
    const auto arch = parse_arch(argv[n]);
    if (!arch) return std::fprintf(stderr, "unknown architecture %s\n", argv[n]), 2;
    test::Attention attention(*arch, 512, 2);
    attention.run();
    std::vector<double> rates;
    std::uint64_t instructions = 0;
    for (const double begin = seconds(); seconds() < begin + 0.7;) {
      const double start = seconds();
      instructions = attention.run().instructions;
      rates.push_back(static_cast<double>(instructions) / (seconds() - start) / 1e6);
    }
    std::sort(rates.begin(), rates.end());
    std::printf("%-8s %9llu wave-instructions, %6.2f million a second, %6.2f in the best of %zu runs\n", argv[n],
                static_cast<unsigned long long>(instructions), rates[rates.size() / 2], rates.back(), rates.size());
  }
}
