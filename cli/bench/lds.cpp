#include "cli/bench/lds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <string_view>

#include "cli/inputs/dtype.hpp"
#include "kernels/siblings.hpp"

namespace rapt::cli {

namespace {

struct LdsPart {
  std::string what;  // "K 2 x 32 x 256 x 2": the factors of `bytes`
  int64_t bytes;
};

// kernels/cdna/attention/forward_pipelined.hip: two buffers of K and of V, rows without padding.
std::vector<LdsPart> pipelined(const rapt_kernel& k) {
  const int64_t size = bytes_of(k.dtype), tile = int64_t{k.block_k} * k.head_dim * size;
  const auto buffers = [&](const char* name) {
    return LdsPart{fmt::format("{} 2 x {} x {} x {}", name, k.block_k, k.head_dim, size), 2 * tile};
  };
  return {buffers("K"), buffers("V")};
}

// kernels/amd/tile/lds_columns.hpp: V's columns, each with 16 bytes of padding.
LdsPart columns_of_v(const rapt_kernel& k) {
  const int64_t size = bytes_of(k.dtype);
  return {fmt::format("V {} x ({} x {} + 16)", k.head_dim, k.block_k, size), k.head_dim * (k.block_k * size + 16)};
}

// kernels/amd/attention/forward.hip: K's rows, with as much padding as the chip's banks want, and V.
std::vector<LdsPart> forward(const rapt_kernel& k) {
  const LdsPart v = columns_of_v(k);
  const int64_t row = k.head_dim * bytes_of(k.dtype), padding = (k.shared_memory - v.bytes) / k.block_k - row;
  return {{fmt::format("K {} x ({} x {} + {})", k.block_k, k.head_dim, bytes_of(k.dtype), padding),
           k.block_k * (row + padding)},
          v};
}

// kernels/amd/attention/forward_wide.hip: V, and each wave's products of its slice of K and Q in float32.
std::vector<LdsPart> forward_wide(const rapt_kernel& k, const Architecture& a) {
  return {columns_of_v(k),
          {fmt::format("products {} waves x {} x {} x 4", k.waves, k.block_k, a.queries_per_wave),
           int64_t{k.waves} * k.block_k * a.queries_per_wave * 4}};
}

// kernels/amd/attention/split_wide.hip: each wave's products of its slice in float32, twice, or the queries at first.
std::vector<LdsPart> split_wide(const rapt_kernel& k) {
  constexpr int kPlace = 48;  // SplitBlock
  return {{fmt::format("products 2 x {} waves x {} x {} x 4", k.waves, k.block_q, k.block_k),
           int64_t{2} * k.waves * k.block_q * k.block_k * 4},
          {"rows and keys of the workgroup", kPlace}};
}

// The parts; empty where this command does not know them or they do not add up to the kernel's bytes.
std::vector<LdsPart> parts_of(const rapt_kernel& kernel, const Architecture& a) {
  const std::string_view operation = kernel.operation;
  std::vector<LdsPart> parts;
  if (operation == "forward") parts = forward(kernel);
  if (operation == "forward_pipelined") parts = pipelined(kernel);
  if (operation == "forward_wide") parts = forward_wide(kernel, a);
  if (operation == "split_wide") parts = split_wide(kernel);
  const auto sum = std::accumulate(parts.begin(), parts.end(), int64_t{0},
                                   [](int64_t bytes, const LdsPart& part) { return bytes + part.bytes; });
  return sum == kernel.shared_memory ? parts : std::vector<LdsPart>();
}

}  // namespace

std::string lds_text(const rapt_kernel& k, const std::string& name, const rapt_device_info& device) {
  const int64_t elements = int64_t{k.block_q} * k.head_dim + int64_t{k.block_k} * k.head_dim;
  std::string text = fmt::format("  {}: {} x {} + {} x {} = {} elements, {} bytes\n", name, k.block_q, k.head_dim,
                                 k.block_k, k.head_dim, elements, elements * bytes_of(k.dtype));
  text += fmt::format("     has {} bytes", k.shared_memory);
  const Architecture* const a = find_gpu(device.arch);
  if (a == nullptr || k.shared_memory == 0) return text + "\n";
  text += fmt::format(" of a unit's {}, which has room for {}", a->lds_bytes_per_unit,
                      a->lds_bytes_per_unit / static_cast<unsigned>(k.shared_memory));
  std::vector<std::string> named;
  for (const LdsPart& part : parts_of(k, *a)) named.push_back(fmt::format("{} = {}", part.what, part.bytes));
  return text + (named.empty() ? "\n" : fmt::format(": {}\n", fmt::join(named, ", ")));
}

}  // namespace rapt::cli
