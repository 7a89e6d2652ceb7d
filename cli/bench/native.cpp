#include "cli/bench/native.hpp"

#include <algorithm>

#include "kernels/siblings.hpp"

namespace rapt::cli {

namespace {

// The most fp32 operations of a compute unit in a clock: the data sheets' rates, divided by units and clock. MI100 to
// MI355X have them in matrix instructions; Radeon, Hopper and consumer Blackwell in vector ones. An A100 has half.
constexpr double kOperationsPerClock = 256;

}  // namespace

std::optional<double> native_least_ms(const rapt_problem& p, const rapt_device_info& device) {
  const Architecture* const a = find_gpu(device.arch);
  if (a == nullptr) return std::nullopt;
  const double operations_per_ms = kOperationsPerClock * device.compute_units * a->clock_khz;
  const double bytes_per_ms = a->memory_gigabytes_per_second * 1e6;
  const double logits = static_cast<double>(p.batch * p.heads_q * p.seqlen_q * p.seqlen_k);
  // What the cache nearest to memory may hold is not counted.
  const unsigned dies = a->compute_units / a->compute_units_per_xcd;
  const double cache = static_cast<double>(a->shared_cache_bytes) * dies;
  const double pass = 4 * logits > cache ? 4 * logits / bytes_per_ms : 0;
  const double first = 2 * logits * static_cast<double>(p.head_dim) / operations_per_ms;
  const double second = 2 * logits * static_cast<double>(p.head_dim_v) / operations_per_ms;
  // Between the products, each of these reads all logits and writes them: the scale, the causal mask, softmax.
  const int between = p.causal != RAPT_NOT_CAUSAL ? 3 : 2;
  return std::max(first, pass) + 2 * between * pass + std::max(second, pass);
}

}  // namespace rapt::cli
