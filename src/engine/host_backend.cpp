#include "engine/backend.hpp"

#include "engine/kv_cache.hpp"
#include "engine/pool.hpp"
#include "engine/unused_rows.hpp"
#include "engine/workspace.hpp"

namespace rapt {

namespace {

// Below this, waking threads costs more time than it saves.
constexpr double kInlineFlops = 1e6;

const rapt_executor& executor_for(AnyCall call, const Execution& execution) {
  static const rapt_executor calling_thread = {sizeof(rapt_executor), 1, nullptr, nullptr};  // alone: calls nothing
  if (flops(common(call), op_of(call)) < kInlineFlops) return calling_thread;
  return execution.executor ? *execution.executor : default_executor();
}

}  // namespace

size_t HostBackend::workspace_bytes(AnyCall call, const Plan&, const Execution& execution) const {
  return rotated_q_bytes(common(call)) + own_bytes(call, executor_for(call, execution).concurrency);
}

void HostBackend::run(AnyCall call, const Plan&, const Execution& execution) const {
  const rapt_executor& executor = executor_for(call, execution);
  const size_t rotated = rotated_q_bytes(common(call));
  const Workspace workspace(execution, rotated + own_bytes(call, executor.concurrency));
  if (ForwardCall** forward = std::get_if<ForwardCall*>(&call)) prepare_cache(**forward, workspace.data());
  compute(call, executor, workspace.data() + rotated);
  clear_unused_rows(call);
}

}  // namespace rapt
