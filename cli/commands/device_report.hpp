// The parts of `rapt doctor --report` about one GPU: results compared with float64, and times.
#pragma once

#include <optional>

#include "cli/probe/team.hpp"
#include "cli/verify/drop_in.hpp"
#include "rapt/rapt.hpp"

namespace rapt::cli {

struct ReportChecks {
  int done = 0, failed = 0;
};

// Both passes of small problems, each by Rapt's own functions and, if there is one and it takes the problem, through
// the drop-in for AOTriton.
void report_checks(rapt_device device, const DropIn* drop_in, const Team& team, ReportChecks& checks);

// Both passes of a few problems, in about `seconds`.
void report_times(rapt_device device, const DropIn* drop_in, const Team& team, double seconds);

}  // namespace rapt::cli
