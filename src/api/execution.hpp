#pragma once

#include "engine/backend.hpp"

namespace rapt {

// Checks rapt_execution (NULL: the defaults). `executor` receives the versioned copy that the result points to.
Execution execution_of(const rapt_execution* given, rapt_executor& executor);

}  // namespace rapt
