// The environment variables of the profile and the trace (docs/simulator.md). A value that is not valid is reported on
// the standard error stream, and nothing is profiled or traced.
#pragma once

#include "sim/profile/trace.hpp"

#include <optional>
#include <string>

namespace rapt::sim {

// RAPT_SIM_PROFILE: the file of the report; empty if it is not set.
std::string profile_settings();
// RAPT_SIM_TIME_REPORT: the same for forecasts.
std::string time_report_settings();
// RAPT_SIM_TRACE and RAPT_SIM_TRACE_KERNEL, _WAVE, _FROM, _COUNT, _LANES.
std::optional<TraceOptions> trace_settings();
// "GROUP,WAVE". Throws std::invalid_argument.
void parse_wave(const std::string& text, TraceOptions& options);

}  // namespace rapt::sim
