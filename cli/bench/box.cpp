#include "cli/bench/box.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/core/environment.hpp"
#include "cli/install/aotriton.hpp"

namespace rapt::cli {

namespace {

// Double lines of the character set for terminals, in UTF-8.
constexpr const char *kAcross = "\xe2\x95\x90", *kDown = "\xe2\x95\x91", *kTopLeft = "\xe2\x95\x94",
                     *kTopRight = "\xe2\x95\x97", *kBottomLeft = "\xe2\x95\x9a", *kBottomRight = "\xe2\x95\x9d";
constexpr int kWidth = 89;

std::string rule(char character, const std::vector<size_t>& widths) {
  std::string line = "+";
  for (const size_t width : widths) line += std::string(width + 2, character) + "+";
  return line + "\n";
}

std::string times_line(rapt_device device) {
  const rapt_device_info info = describe(device);
  if (!info.simulator) return "";
  if (*info.time_model == 0) return "Times: none, RAPT_SIM_TIME=sample asks for forecasts of this simulated GPU\n";
  return fmt::format("Times: simulated ({}), not measured\n", info.time_model);
}

}  // namespace

std::string box(const std::string& title) {
  std::string across;
  for (int i = 0; i < kWidth; ++i) across += kAcross;
  return fmt::format("{0}{1}{2}\n{3}{4:^{5}}{3}\n{6}{1}{7}\n", kTopLeft, across, kTopRight, kDown, title, kWidth,
                     kBottomLeft, kBottomRight);
}

std::string grid(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < header.size(); ++i) {
    widths.push_back(header[i].size());
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = fmt::format("| {:<{}} |", cells[0], widths[0]);
    for (size_t i = 1; i < cells.size(); ++i) text += fmt::format(" {:>{}} |", cells[i], widths[i]);
    return text + "\n";
  };
  std::string text = rule('-', widths) + line(header) + rule('=', widths);
  for (const auto& row : rows) text += line(row) + rule('-', widths);
  return text;
}

void print_status(const BenchPlan& plan) {
  fmt::print("Rapt version: {}\nDevice: {}\n{}", rapt_version_string(), device_text(plan.device),
             times_line(plan.device));
  for (const std::string& warning : rocm_warnings(describe(plan.device))) fmt::print("warning: {}\n", warning);
  print_environment("");
  if (plan.device.type == RAPT_ROCM) fmt::print("libaotriton_v2: {}\n", aotriton_status());
}

std::string simulated_times(const std::vector<BenchRow>& rows) {
  for (const BenchRow& r : rows)
    if (!r.simulated.empty()) return fmt::format("{}, not measured", r.origin());
  return "";
}

}  // namespace rapt::cli
