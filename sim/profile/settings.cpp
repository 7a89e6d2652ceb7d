#include "sim/profile/settings.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace rapt::sim {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <typename T>
void parse_number(const std::string& text, const std::string& what, T& number) {
  if (text.empty()) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(what + ": '" + text + "' is not a number from 0 on");
}

}  // namespace

void parse_wave(const std::string& text, TraceOptions& options) {
  if (text.empty()) return;
  const auto comma = text.find(',');
  if (comma == text.npos || comma == 0 || comma + 1 == text.size())
    throw std::invalid_argument("'" + text + "' does not name a wave as WORKGROUP,WAVE");
  parse_number(text.substr(0, comma), "the workgroup", options.group);
  parse_number(text.substr(comma + 1), "the wave", options.wave);
}

std::string profile_settings() { return variable("RAPT_SIM_PROFILE"); }

std::string time_report_settings() { return variable("RAPT_SIM_TIME_REPORT"); }

std::optional<TraceOptions> trace_settings() {
  TraceOptions options;
  options.file = variable("RAPT_SIM_TRACE");
  if (options.file.empty()) return {};
  try {
    options.kernel = variable("RAPT_SIM_TRACE_KERNEL");
    parse_wave(variable("RAPT_SIM_TRACE_WAVE"), options);
    parse_number(variable("RAPT_SIM_TRACE_FROM"), "RAPT_SIM_TRACE_FROM", options.from);
    parse_number(variable("RAPT_SIM_TRACE_COUNT"), "RAPT_SIM_TRACE_COUNT", options.count);
    parse_number(variable("RAPT_SIM_TRACE_LANES"), "RAPT_SIM_TRACE_LANES", options.lanes);
    return options;
  } catch (const std::invalid_argument& failure) {
    std::fprintf(stderr, "rapt-sim: RAPT_SIM_TRACE: %s; nothing is traced\n", failure.what());
    return {};
  }
}

}  // namespace rapt::sim
