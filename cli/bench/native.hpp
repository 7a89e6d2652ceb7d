// The least time of attention that is written out: matrix products in fp32 with all logits in memory between them, as
// the report of MI300X has it under the name "native". A bound, because the command has no library of matrix products.
#pragma once

#include <optional>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// In milliseconds, by the data sheet of the architecture's product; empty for an architecture without one.
std::optional<double> native_least_ms(const rapt_problem& problem, const rapt_device_info& device);

}  // namespace rapt::cli
