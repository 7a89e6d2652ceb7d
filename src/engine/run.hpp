// Runs a validated call: selection, then the backend.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

void run(ForwardCall& call, const Execution& execution);
void run(const BackwardCall& call, const Execution& execution);

size_t workspace_bytes(const ForwardCall& call, const Execution& execution);
size_t workspace_bytes(const BackwardCall& call, const Execution& execution);

}  // namespace rapt
