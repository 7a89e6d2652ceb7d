#include "engine/run.hpp"

#include "engine/record.hpp"
#include "engine/select.hpp"

namespace rapt {

namespace {

constexpr rapt_op op_of(const ForwardCall&) { return RAPT_FORWARD; }
constexpr rapt_op op_of(const BackwardCall&) { return RAPT_BACKWARD; }

template <class SomeCall>
Plan plan_of(const SomeCall& call, const Execution& execution) {
  return make_plan({call, op_of(call), call.device, execution.request});
}

template <class SomeCall>
void run_any(SomeCall& call, const Execution& execution) {
  record(call, op_of(call));
  const Plan plan = plan_of(call, execution);
  plan.backend->run(call, plan, execution);
}

template <class SomeCall>
size_t bytes_of_any(const SomeCall& call, const Execution& execution) {
  const Plan plan = plan_of(call, execution);
  return plan.backend->workspace_bytes(call, plan, execution);
}

}  // namespace

void run(ForwardCall& call, const Execution& execution) { run_any(call, execution); }
void run(const BackwardCall& call, const Execution& execution) { run_any(call, execution); }

size_t workspace_bytes(const ForwardCall& call, const Execution& execution) { return bytes_of_any(call, execution); }
size_t workspace_bytes(const BackwardCall& call, const Execution& execution) { return bytes_of_any(call, execution); }

}  // namespace rapt
