#include "sim/tool/report.hpp"

#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rapt::sim::tool {

std::string kernel_names(const Json& report) {
  std::string names;
  for (const Json& k : report["kernels"]) names += (names.empty() ? "" : ", ") + k["name"].get<std::string>();
  return names;
}

void keep_only(Json& report, const std::string& kernel) {
  Json kept = Json::array();
  for (const Json& k : report["kernels"])
    if (k["name"] == kernel) kept.push_back(k);
  if (kept.empty())
    throw InputError(fmt::format("--kernel: '{}' was not launched; these were: {}", kernel, kernel_names(report)));
  report["kernels"] = std::move(kept);
}

std::string address_text(std::int64_t offset) {
  return offset < 0 ? fmt::format("-0x{:x}", -offset) : fmt::format("+0x{:x}", offset);
}

std::string source_text(const Json& source) {
  if (source.is_null()) return "-";
  return fmt::format("{}:{}", source["file"].get<std::string>(), source["line"].get<unsigned>());
}

std::string shape_text(const Json& s) {
  return fmt::format("{}x{}x{}", s[0].get<unsigned>(), s[1].get<unsigned>(), s[2].get<unsigned>());
}

std::uint64_t pipe_clocks(const Json& totals, const std::string& pipe) {
  if (pipe == "LDS") return totals["memory"]["lds_clocks"];
  return totals["clocks"][pipe];
}

std::vector<std::size_t> costliest(const Json& list, std::size_t n) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto clocks = [&](std::size_t i) { return list[i]["totals"]["clocks"]["issue"].get<std::uint64_t>(); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return clocks(a) > clocks(b); });
  order.resize(std::min(order.size(), n));
  return order;
}

}  // namespace rapt::sim::tool
