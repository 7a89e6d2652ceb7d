// RAPT_SIM_LOG: "stderr" or a file that messages are appended to. Without it nothing is logged.
#pragma once

#include <string>

namespace rapt::sim::hip {

void log(const std::string& message);

}  // namespace rapt::sim::hip
