#include "engine/run.hpp"

#include "engine/record.hpp"
#include "engine/select.hpp"

namespace rapt {

namespace {

Plan plan_of(const ForwardCall& call, const Execution& execution) {
  return make_plan({call, RAPT_FORWARD, call.device, execution.request});
}
Plan plan_of(const BackwardCall& call, const Execution& execution) {
  return make_plan({call, RAPT_BACKWARD, call.device, execution.request});
}

}  // namespace

void run(ForwardCall& call, const Execution& execution) {
  record(call, RAPT_FORWARD);
  const Plan plan = plan_of(call, execution);
  plan.backend->run(call, plan, execution);
}

void run(const BackwardCall& call, const Execution& execution) {
  record(call, RAPT_BACKWARD);
  const Plan plan = plan_of(call, execution);
  plan.backend->run(call, plan, execution);
}

size_t workspace_bytes(const ForwardCall& call, const Execution& execution) {
  const Plan plan = plan_of(call, execution);
  return plan.backend->workspace_bytes(call, plan, execution);
}

size_t workspace_bytes(const BackwardCall& call, const Execution& execution) {
  const Plan plan = plan_of(call, execution);
  return plan.backend->workspace_bytes(call, plan, execution);
}

}  // namespace rapt
