#include "engine/engine.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "engine/record.hpp"
#include "problem/tensor.hpp"

namespace rapt {

namespace {

void require_known(std::string_view name) {
  if (name == "auto") return;
  if (std::ranges::any_of(backends(), [&](const auto& backend) { return backend->answers_to(name); })) return;
  std::string names = "auto";
  for (const auto& backend : backends()) names += cat(", ", backend->name);
  throw Error(RAPT_INVALID_ARGUMENT,
              cat("execution.backend is \"", name, "\", must be one of ", names, ", or hip.<variant> of an archive"));
}

// Why the request or its tensors' device leaves the backend out, whatever the problem; "" if they do not.
std::string left_out(const Backend& backend, const Question& question) {
  if (question.device.type != backend.device)
    return cat("the tensors are on ", device_text(question.device), ", this backend reads ",
               backend.device == RAPT_CPU ? "host memory" : cat("the memory of ", backend.name, " devices"));
  if (!question.automatic() && !backend.answers_to(question.execution.backend))
    return cat("backend \"", question.execution.backend, "\" was asked for");
  return "";
}

}  // namespace

Plan make_plan(const Question& question) {
  require_known(question.execution.backend);
  const bool automatic = question.automatic();
  std::string reasons;
  for (const auto& backend : backends()) {
    // Every call comes here, so this comes before code that builds reasons, which are strings.
    if (question.device.type != backend->device && (automatic || !backend->answers_to(question.execution.backend)))
      continue;
    Plan plan{backend.get()};
    std::string why = left_out(*backend, question);
    if (why.empty()) why = backend->plan(question, plan.chosen);
    if (why.empty()) return plan;
    reasons += cat("; ", backend->name, ": ", why);
  }
  throw Error(RAPT_UNSUPPORTED,
              cat("no backend takes ", question.problem.text(), " on ", device_text(question.device), reasons));
}

static Plan make_plan(AnyCall call, const Execution& execution) {
  return make_plan({common(call), op_of(call), common(call).device, execution});
}

void run(AnyCall call, const Execution& execution) {
  record(common(call), op_of(call));
  const Plan plan = make_plan(call, execution);
  plan.backend->run(call, plan, execution);
}

size_t workspace_bytes(AnyCall call, const Execution& execution) {
  const Plan plan = make_plan(call, execution);
  return plan.backend->workspace_bytes(call, plan, execution);
}

Explanation explain(const Question& question) {
  require_known(question.execution.backend);
  Explanation e{question.problem.text(), {}};
  const Backend* taken = nullptr;
  for (const auto& backend : backends()) {
    std::vector<Candidate> lines = {{backend->name, "", ""}};
    std::string why = left_out(*backend, question);
    try {
      if (question.device.type == backend->device) lines = backend->explain(question);
    } catch (const Error& error) {  // a device or its archive is missing
      why = error.what();
    }
    const bool takes = why.empty() && std::ranges::any_of(lines, &Candidate::chosen);
    if (takes && taken) why = cat(taken->name, " comes first and takes the problem");
    else if (takes) taken = backend.get();
    if (!why.empty()) lines[0] = {backend->name, lines[0].kernel, why};
    std::ranges::move(lines, std::back_inserter(e.candidates));
  }
  return e;
}

}  // namespace rapt
