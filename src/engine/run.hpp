// Runs a validated call: plan, workspace, keys appended to a cache, then the backend.
#pragma once

#include "engine/plan.hpp"

namespace rapt {

// rapt_execution as the engine uses it.
struct Execution {
  Wish wish;
  bool deterministic = false;
  const rapt_executor* executor = nullptr;
  void* stream = nullptr;
  char* workspace = nullptr;
  size_t workspace_size = 0;
};

void run(ForwardCall call, const Execution& execution);
void run(const BackwardCall& call, const Execution& execution);

size_t workspace_bytes(const ForwardCall& call, const Execution& execution);
size_t workspace_bytes(const BackwardCall& call, const Execution& execution);

}  // namespace rapt
