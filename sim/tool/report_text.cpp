#include "sim/tool/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rapt::sim::tool {
namespace {

constexpr std::size_t shown_places = 20;
const std::string pipes[] = {"matrix", "vector", "transcendental", "scalar", "LDS"};

std::string header(const Json& k) {
  const Json &device = k["device"], &r = k["registers"];
  return fmt::format(
      "{} on {} ({}, {} CUs at {} MHz, {} GB/s), wave{}\n"
      "  {} launch{}, {} workgroups, {} waves, {} instructions; {} VGPRs, {} AGPRs, {} SGPRs\n",
      k["name"].get<std::string>(), k["arch"].get<std::string>(), device["product"].get<std::string>(),
      device["compute_units"].get<unsigned>(), device["clock_mhz"].get<unsigned>(),
      device["gigabytes_per_second"].get<unsigned>(), k["lanes"].get<unsigned>(),
      k["launch_count"].get<std::uint64_t>(), k["launch_count"] == 1 ? "" : "es",
      k["workgroup_count"].get<std::uint64_t>(), k["wave_count"].get<std::uint64_t>(),
      k["totals"]["instructions"].get<std::uint64_t>(), r["vgprs"].get<unsigned>(), r["agprs"].get<unsigned>(),
      r["sgprs"].get<unsigned>());
}

std::string bounds_table(const Json& k) {
  std::string out = fmt::format("\n  {:<16}{:>16}{:>14}\n", "best time by", "CU clocks", "device us");
  for (const Json& b : k["bounds"])
    out += fmt::format("  {:<16}{:>16.0f}{:>14.3f}{}\n", b["pipe"].get<std::string>(), b["unit_clocks"].get<double>(),
                       b["microseconds"].get<double>(), b["pipe"] == k["bound_by"] ? "  <- bound" : "");
  const double clocks_per_us = k["device"]["clock_mhz"].get<double>();
  return out + fmt::format("  {:<16}{:>16}{:>14.3f}\n", "longest waves", "",
                           k["longest_wave_cycles"].get<double>() / clocks_per_us);
}

std::string class_table(const Json& totals) {
  const auto all = totals["instructions"].get<double>();
  std::string out = fmt::format("\n  {:<16}{:>16}{:>8}\n", "instructions", "count", "%");
  for (const auto& [name, count] : totals["classes"].items())
    out += fmt::format("  {:<16}{:>16}{:>8.1f}\n", name, count.get<std::uint64_t>(), 100 * count.get<double>() / all);
  return out;
}

std::string memory_lines(const Json& k) {
  const Json& m = k["totals"]["memory"];
  const auto number = [&](const char* name) { return m[name].get<std::uint64_t>(); };
  return fmt::format(
      "\n  memory: {} bytes asked for in {} sectors of 32 or {} of 64 bytes, {} bytes touched; {} scalar bytes\n"
      "  LDS:    {} bytes in {} clocks, {} of them for bank conflicts\n",
      number("bytes"), number("sectors32"), number("sectors64"), k["footprint_bytes"].get<std::uint64_t>(),
      number("scalar_bytes"), number("lds_bytes"), number("lds_clocks"), number("lds_conflict_clocks"));
}

std::string pipe_columns(const Json& totals) {
  std::string out;
  for (const std::string& pipe : pipes) out += fmt::format("{:>15}", pipe_clocks(totals, pipe));
  return out;
}

std::string pipe_titles() {
  std::string out;
  for (const std::string& pipe : pipes) out += fmt::format("{:>15}", pipe);
  return out;
}

std::string loop_table(const Json& loops) {
  if (loops.empty()) return "";
  std::string out = fmt::format("\n  {:<24}{:>10}{:>12}{:>14}{}  {:<15}{}\n", "loop", "entries", "iterations",
                                "instructions", pipe_titles(), "bound by", "source");
  for (const Json& l : loops) {
    const std::string range = std::string(2 * l["depth"].get<std::size_t>(), ' ') +
                              address_text(l["header"].get<std::int64_t>()) + ".." +
                              address_text(l["last"].get<std::int64_t>());
    out += fmt::format("  {:<24}{:>10}{:>12}{:>14}{}  {:<15}{}\n", range, l["entries"].get<std::uint64_t>(),
                       l["iterations"].get<std::uint64_t>(), l["totals"]["instructions"].get<std::uint64_t>(),
                       pipe_columns(l["totals"]), l["bound_by"].get<std::string>(), source_text(l["source"]));
  }
  return out;
}

std::string place_table(const Json& k) {
  const bool by_line = !k["lines"].empty();
  const Json& list = by_line ? k["lines"] : k["blocks"];
  const auto all = std::max(1.0, k["totals"]["clocks"]["issue"].get<double>());
  std::string out = fmt::format("\n  {:>7}{:>14}{}{:>15}{:>15}  {}\n", "issue %", "instructions", pipe_titles(),
                                "LDS conflicts", "memory bytes", by_line ? "source line" : "code");
  for (const std::size_t n : costliest(list, shown_places)) {
    const Json &place = list[n], &totals = place["totals"];
    const std::string where = by_line ? source_text(place["source"])
                                      : address_text(place["first"].get<std::int64_t>()) + ".." +
                                            address_text(place["end"].get<std::int64_t>());
    out += fmt::format("  {:>7.1f}{:>14}{}{:>15}{:>15}  {}\n", 100 * totals["clocks"]["issue"].get<double>() / all,
                       totals["instructions"].get<std::uint64_t>(), pipe_columns(totals),
                       totals["memory"]["lds_conflict_clocks"].get<std::uint64_t>(),
                       totals["memory"]["bytes"].get<std::uint64_t>(), where);
  }
  if (list.size() > shown_places) out += fmt::format("  ... and {} more\n", list.size() - shown_places);
  return out;
}

std::string launch_table(const Json& launches) {
  std::string out = fmt::format("\n  {:<8}{:<16}{:<12}{:>10}{:>14}{:>16}{:>14}  {}\n", "launch", "workgroups", "of",
                                "LDS", "instructions", "longest wave", "mean wave", "which");
  std::size_t number = 0;
  for (const Json& l : launches) {
    if (number == shown_places) return out + fmt::format("  ... and {} more\n", launches.size() - number);
    const bool any = l.contains("longest_wave");
    out += fmt::format("  {:<8}{:<16}{:<12}{:>10}{:>14}{:>16}{:>14.0f}  {}{}\n", number++, shape_text(l["workgroups"]),
                       shape_text(l["workgroup_size"]), l["lds_bytes"].get<unsigned>(),
                       l["instructions"].get<std::uint64_t>(),
                       any ? l["longest_wave"]["cycles"].get<std::uint64_t>() : 0, l["mean_wave_cycles"].get<double>(),
                       any ? fmt::format("workgroup {}, wave {}", l["longest_wave"]["workgroup"].get<std::uint64_t>(),
                                         l["longest_wave"]["wave"].get<unsigned>())
                           : "-",
                       l.contains("failure") ? "; failed: " + l["failure"].get<std::string>() : "");
  }
  return out;
}

}  // namespace

std::string profile_text(const Json& k) {
  std::string out = header(k) + bounds_table(k) + class_table(k["totals"]) + memory_lines(k) + loop_table(k["loops"]) +
                    place_table(k);
  if (k.contains("note")) out += fmt::format("\n  {}\n", k["note"].get<std::string>());
  return out + launch_table(k["launches"]);
}

}  // namespace rapt::sim::tool
