// Rows of packed tensors that lie behind the last sequence.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

// Sets the results' rows that belong to no sequence to 0. All memory is the host's.
void clear_unused_rows(AnyCall call);

}  // namespace rapt
