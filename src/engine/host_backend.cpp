#include "engine/host_backend.hpp"

#include "engine/kv_cache.hpp"
#include "engine/pool.hpp"
#include "engine/workspace.hpp"

namespace rapt {

namespace {

// Below this, waking threads costs more time than it saves.
constexpr double kInlineFlops = 1e6;

const rapt_executor& executor_for(const Problem& problem, rapt_op op, const Execution& execution) {
  static const rapt_executor calling_thread = {sizeof(rapt_executor), 1, nullptr,
                                               nullptr};  // concurrency 1: not called
  if (flops(problem, op) < kInlineFlops) return calling_thread;
  return execution.executor ? *execution.executor : default_executor();
}

}  // namespace

size_t HostBackend::workspace_bytes(const ForwardCall& call, const Plan&, const Execution& execution) const {
  return rotated_q_bytes(call) + own_bytes(call, executor_for(call, RAPT_FORWARD, execution).concurrency);
}

size_t HostBackend::workspace_bytes(const BackwardCall& call, const Plan&, const Execution& execution) const {
  return own_bytes(call, executor_for(call, RAPT_BACKWARD, execution).concurrency);
}

void HostBackend::run(ForwardCall& call, const Plan&, const Execution& execution) const {
  const rapt_executor& executor = executor_for(call, RAPT_FORWARD, execution);
  const size_t rotated = rotated_q_bytes(call);
  const Workspace workspace(execution, rotated + own_bytes(call, executor.concurrency));
  prepare_cache(call, workspace.data());
  compute(call, executor, workspace.data() + rotated);
}

void HostBackend::run(const BackwardCall& call, const Plan&, const Execution& execution) const {
  const rapt_executor& executor = executor_for(call, RAPT_BACKWARD, execution);
  const Workspace workspace(execution, own_bytes(call, executor.concurrency));
  compute(call, executor, workspace.data());
}

}  // namespace rapt
