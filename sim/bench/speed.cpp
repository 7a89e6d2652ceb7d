// Measures wave-instructions per second of one thread's time with the attention kernels: sim_speed gfx942 gfx1151. With
// --time as the first argument, launches are timed, on the architectures that have a timing table.
#include "sim/tests/support/programs/attention.hpp"
#include "sim/timing/launch_time.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace {

using namespace rapt::sim;

// CPU time of other programs does not count.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(Arch arch, const timing::Chip* chip) {
  const unsigned heads = chip ? 96 : 2;  // with time on: as many workgroups as are timed at most
  test::Attention attention(arch, 512, heads);
  attention.time({chip, false});
  if (!chip) attention.run();
  std::vector<double> rates;
  std::uint64_t instructions = 0, timed = 0;
  for (const double begin = seconds(); seconds() < begin + 0.7;) {
    const double start = seconds();
    const LaunchResult result = attention.run();
    instructions = result.instructions;
    timed = result.forecast ? result.forecast->instructions : 0;
    rates.push_back(static_cast<double>(instructions) / (seconds() - start) / 1e6);
  }
  std::sort(rates.begin(), rates.end());
  std::printf(
      "%-8s %9llu wave-instructions (%llu of them timed), %6.2f million a second, %6.2f in the best of %zu runs\n",
      std::string(name(arch)).c_str(), static_cast<unsigned long long>(instructions),
      static_cast<unsigned long long>(timed), rates[rates.size() / 2], rates.back(), rates.size());
}

}  // namespace

int main(int argc, char** argv) {
  const bool timed = argc > 1 && std::strcmp(argv[1], "--time") == 0;
  for (int n = timed ? 2 : 1; n < argc; ++n) {
    const auto arch = parse_arch(argv[n]);
    if (!arch) return std::fprintf(stderr, "unknown architecture %s\n", argv[n]), 2;
    const timing::Chip* const chip = timed ? timing::find_chip(*arch) : nullptr;
    if (timed && chip == nullptr) return std::fprintf(stderr, "%s has no timing table\n", argv[n]), 2;
    measure(*arch, chip);
  }
}
