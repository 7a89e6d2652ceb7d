#include "cli/bench/lds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <string_view>

#include "cli/inputs/dtype.hpp"
#include "kernels/architectures.hpp"

namespace rapt::cli {

namespace {

// kernels/cdna/attention/forward_pipelined.hip: two buffers of K and of V, rows without padding.
std::vector<LdsPart> pipelined(const rapt_kernel& k) {
  const int64_t size = bytes_of(k.dtype), tile = int64_t{k.block_k} * k.head_dim * size;
  const auto buffers = [&](const char* name) {
    return LdsPart{fmt::format("{} 2 x {} x {} x {}", name, k.block_k, k.head_dim, size), 2 * tile};
  };
  return {buffers("K"), buffers("V")};
}

// kernels/amd/attention/split_wide.hip: each wave's products of its slice in float32, twice, or the queries at first.
std::vector<LdsPart> split_wide(const rapt_kernel& k) {
  constexpr int kPlace = 48;  // SplitBlock
  const int64_t products = int64_t{2} * k.waves * k.block_q * k.block_k * 4;
  return {{fmt::format("products of {} waves 2 x {} x {} x {} x 4", k.waves, k.waves, k.block_q, k.block_k), products},
          {"rows and keys of the workgroup", kPlace}};
}

}  // namespace

std::vector<LdsPart> lds_parts(const rapt_kernel& kernel) {
  const std::string_view operation = kernel.operation;
  std::vector<LdsPart> parts;
  if (operation == "forward_pipelined") parts = pipelined(kernel);
  if (operation == "split_wide") parts = split_wide(kernel);
  const auto sum = std::accumulate(parts.begin(), parts.end(), int64_t{0},
                                   [](int64_t bytes, const LdsPart& part) { return bytes + part.bytes; });
  return sum == kernel.shared_memory ? parts : std::vector<LdsPart>();
}

std::string lds_text(const rapt_kernel& k, const std::string& name, const rapt_device_info& device) {
  const int64_t elements = int64_t{k.block_q} * k.head_dim + int64_t{k.block_k} * k.head_dim;
  std::string text = fmt::format("  {}: {} x {} + {} x {} = {} elements, {} bytes\n", name, k.block_q, k.head_dim,
                                 k.block_k, k.head_dim, elements, elements * bytes_of(k.dtype));
  text += fmt::format("     has {} bytes", k.shared_memory);
  if (const Architecture* a = find_architecture(device.arch); a && k.shared_memory > 0)
    text += fmt::format(" of a unit's {}, which has room for {}", a->lds_bytes_per_unit,
                        a->lds_bytes_per_unit / static_cast<unsigned>(k.shared_memory));
  std::vector<std::string> named;
  for (const LdsPart& part : lds_parts(k)) named.push_back(fmt::format("{} = {}", part.what, part.bytes));
  return text + (named.empty() ? "\n" : fmt::format(": {}\n", fmt::join(named, ", ")));
}

}  // namespace rapt::cli
