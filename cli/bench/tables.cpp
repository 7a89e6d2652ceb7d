#include "cli/bench/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cli/core/machine.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

struct Mask {
  const char* variant;
  const char* token;
};
constexpr Mask kMasks[] = {{"", ""}, {"causal", " causal"}};

std::string square(int64_t b, int64_t h, int64_t s, int64_t d, const std::string& dtype_and_mask) {
  return fmt::format("b{} hq{} hk{} sq{} sk{} d{} {}", b, h, h, s, s, d, dtype_and_mask);
}

// The sizes of the AOTriton report for gfx1151.
std::vector<BenchCase> strix_halo() {
  struct Size {
    const char* name;
    int64_t batch, heads, seqlen;
  };
  constexpr Size kSizes[] = {{"Tiny", 1, 1, 128},
                             {"Small", 2, 4, 512},
                             {"Medium", 4, 8, 1024},
                             {"Large", 8, 16, 2048},
                             {"XLarge", 16, 16, 4096}};
  std::vector<BenchCase> cases;
  for (const Size& s : kSizes)
    for (const Mask& m : kMasks)
      cases.push_back(
          {"strix-halo", s.name, m.variant, square(s.batch, s.heads, s.seqlen, 64, fmt::format("fp16{}", m.token))});
  return cases;
}

// The configurations of the MI300X report: head_dim 256, causal; and the one at 64 that it compares apart.
std::vector<BenchCase> mi300x_d256() {
  std::vector<BenchCase> cases;
  for (const int64_t s : {512, 1024, 2048, 4096})
    cases.push_back({"mi300x-d256", fmt::format("s{}", s), "", square(4, 8, s, 256, "fp16 causal")});
  cases.push_back({"mi300x-d256", "s1024-d64", "", square(4, 8, 1024, 64, "fp16 causal")});
  return cases;
}

// FlashAttention-3's grid (16k tokens, hidden size 2048), cut to what a CPU finishes: batch 1 and 4 heads, 2 at
// head_dim 256. The rate does not depend on either.
std::vector<BenchCase> fa3() {
  std::vector<BenchCase> cases;
  for (const char* dtype : {"fp16", "bf16"})
    for (const int64_t d : {64, 128, 256})
      for (const int64_t s : {512, 1024, 2048, 4096, 8192, 16384})
        for (const Mask& m : kMasks)
          cases.push_back({"fa3", fmt::format("d{}-s{}", d, s), fmt::format("{}{}", dtype, m.token),
                           square(1, d == 256 ? 2 : 4, s, d, fmt::format("{}{}", dtype, m.token))});
  return cases;
}

// For CPUs of servers: few heads and many, short sequences and long.
std::vector<BenchCase> xeon() {
  std::vector<BenchCase> cases;
  for (const char* dtype : {"bf16", "fp32", "fp16"})
    for (const int64_t d : {64, 128})
      for (const int64_t h : {4, 16})
        for (const int64_t s : {512, 2048, 8192})
          for (const Mask& m : kMasks)
            cases.push_back({"xeon", fmt::format("d{}-h{}-s{}", d, h, s), fmt::format("{}{}", dtype, m.token),
                             square(1, h, s, d, fmt::format("{}{}", dtype, m.token))});
  return cases;
}

// One query against a KV of at least four last-level caches, in each GQA group size.
std::vector<BenchCase> decode() {
  constexpr int64_t kHeadDim = 128, kHeadsK = 8;
  const int64_t least = std::max<int64_t>(4 * machine().last_level_cache, int64_t{64} << 20);
  std::vector<BenchCase> cases;
  for (const auto& [dtype, bytes] : {std::pair{"fp32", 4}, {"bf16", 2}, {"fp16", 2}}) {
    int64_t keys = 4096;
    while (2 * kHeadsK * kHeadDim * bytes * keys < least) keys *= 2;
    for (const int64_t group : {1, 2, 4, 8})
      cases.push_back({"decode", fmt::format("g{}", group), dtype,
                       fmt::format("b1 hq{} hk{} sq1 sk{} d{} {}", kHeadsK * group, kHeadsK, keys, kHeadDim, dtype),
                       true});
  }
  return cases;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

size_t position(const std::vector<std::string>& names, const std::string& name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (lower(names[i]) == lower(name)) return i;
  throw InputError(fmt::format("--rows: no row is named '{}'; the rows are {}", name, fmt::join(names, ", ")));
}

}  // namespace

const std::vector<std::string>& bench_table_names() {
  static const std::vector<std::string> kNames = {"strix-halo", "mi300x-d256", "fa3", "decode", "xeon", "peaks"};
  return kNames;
}

bool is_bench_table(const std::string& name) {
  const auto& names = bench_table_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<BenchCase> bench_table(const std::string& name) {
  if (name == "strix-halo") return strix_halo();
  if (name == "mi300x-d256") return mi300x_d256();
  if (name == "fa3") return fa3();
  if (name == "xeon") return xeon();
  if (name == "peaks") return {};  // every table prints them first
  return decode();
}

std::vector<BenchCase> filter_rows(const std::vector<BenchCase>& cases, const std::string& filter) {
  std::vector<std::string> names;
  for (const BenchCase& c : cases)
    if (std::find(names.begin(), names.end(), c.name) == names.end()) names.push_back(c.name);
  std::set<std::string> kept;
  for (size_t at = 0; at <= filter.size();) {
    const std::string term = filter.substr(at, filter.find(',', at) - at);
    at += term.size() + 1;
    const size_t dots = term.find("..");
    const size_t first = position(names, term.substr(0, dots));
    const size_t last = dots == std::string::npos ? first : position(names, term.substr(dots + 2));
    if (last < first)
      throw InputError(fmt::format("--rows: '{}' is empty, {} comes after {}", term, names[first], names[last]));
    for (size_t i = first; i <= last; ++i) kept.insert(names[i]);
  }
  std::vector<BenchCase> result;
  std::copy_if(cases.begin(), cases.end(), std::back_inserter(result),
               [&](const BenchCase& c) { return kept.contains(c.name); });
  return result;
}

}  // namespace rapt::cli
