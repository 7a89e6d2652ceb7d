#include "engine/engine.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "engine/record.hpp"
#include "problem/tensor.hpp"

namespace rapt {

namespace {

void require_known(std::string_view name) {
  if (name == "auto") return;
  std::string names = "auto";
  for (const auto& backend : backends()) {
    if (backend->answers_to(name)) return;
    names += cat(", ", backend->name());
  }
  throw Error(RAPT_INVALID_ARGUMENT,
              cat("execution.backend is \"", name, "\", must be one of ", names, ", or hip.<variant> of an archive"));
}

// Why the request or its tensors' device leaves the backend out, whatever the problem; "" if they do not.
std::string left_out(const Backend& backend, const Question& question) {
  if (question.device.type != backend.device())
    return cat("the tensors are on ", device_text(question.device), ", this backend reads ",
               backend.device() == RAPT_CPU ? "host memory" : cat("the memory of ", backend.name(), " devices"));
  if (!question.automatic() && !backend.answers_to(question.request.backend))
    return cat("backend \"", question.request.backend, "\" was asked for");
  return "";
}

}  // namespace

Plan make_plan(const Question& question) {
  require_known(question.request.backend);
  const bool automatic = question.automatic();
  std::string reasons;
  for (const auto& backend : backends()) {
    // Every call comes here, so this comes before code that builds reasons, which are strings.
    if (question.device.type != backend->device() && (automatic || !backend->answers_to(question.request.backend)))
      continue;
    Plan plan{backend.get()};
    std::string why = left_out(*backend, question);
    if (why.empty()) why = backend->plan(question, plan.chosen);
    if (why.empty()) return plan;
    reasons += cat("; ", backend->name(), ": ", why);
  }
  throw Error(RAPT_UNSUPPORTED,
              cat("no backend takes ", question.problem.text(), " on ", device_text(question.device), reasons));
}

static Plan make_plan(AnyCall call, const Execution& execution) {
  return make_plan({common(call), op_of(call), common(call).device, execution.request});
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
  require_known(question.request.backend);
  Explanation e;
  e.problem = question.problem.text();
  const Backend* taken = nullptr;
  for (const auto& backend : backends()) {
    Candidate c{backend->name(), "", left_out(*backend, question), false};
    Answer answer;
    bool takes = false;
    try {
      if (question.device.type == backend->device()) {
        Plan plan{backend.get()};
        const std::string why = backend->plan(question, plan.chosen);
        answer = backend->answer(question, plan, why);
        c.kernel = answer.kernel;
        takes = c.reason.empty() && why.empty();
        if (c.reason.empty()) c.reason = why;
      }
    } catch (const Error& error) {  // a device or its archive is missing
      c.reason = error.what();
    }
    if (takes && taken) {
      c.reason = cat(taken->name(), " comes first and takes the problem");
    } else if (takes) {
      taken = backend.get();
      c.chosen = std::ranges::none_of(answer.variants, &Candidate::chosen);
      c.reason = c.chosen ? std::move(answer.reason) : cat("backend \"", question.request.backend, "\" was asked for");
    }
    e.candidates.push_back(std::move(c));
    for (Candidate& v : answer.variants) e.candidates.push_back(std::move(v));
  }
  return e;
}

}  // namespace rapt
