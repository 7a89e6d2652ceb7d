#include "engine/select.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "problem/tensor.hpp"
#include "base/text.hpp"

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

// Fills `plan` and returns "", or returns why the backend does not run the problem.
std::string refuse(const Backend& backend, const Question& question, Plan& plan) {
  if (question.device.type != backend.device())
    return cat("the tensors are on ", device_text(question.device), ", this backend reads ",
               backend.device() == RAPT_CPU ? "host memory" : "the memory of hip devices");
  if (!question.automatic() && !backend.answers_to(question.request.backend))
    return cat("backend \"", question.request.backend, "\" was asked for");
  std::string why = backend.plan(question, plan);
  if (why.empty()) plan.backend = &backend;
  return why;
}

}  // namespace

Plan make_plan(const Question& question) {
  require_known(question.request.backend);
  const bool automatic = question.automatic();
  std::string reasons;
  for (const auto& backend : backends()) {
    // Before anything builds a reason, which is a string: every call comes here.
    if (question.device.type != backend->device() && (automatic || !backend->answers_to(question.request.backend)))
      continue;
    Plan plan;
    const std::string why = refuse(*backend, question, plan);
    if (why.empty()) return plan;
    reasons += cat("; ", backend->name(), ": ", why);
  }
  throw Error(RAPT_UNSUPPORTED,
              cat("no backend takes ", question.problem.text(), " on ", device_text(question.device), reasons));
}

Explanation explain(const Question& question) {
  require_known(question.request.backend);
  Explanation e;
  e.problem = question.problem.text();
  const Backend* taken = nullptr;
  for (const auto& backend : backends()) {
    Plan plan;
    Candidate c{backend->name(), "", "", false};
    Reasons reasons;
    try {
      c.reason = refuse(*backend, question, plan);
      c.kernel = backend->kernel(question, plan);
      if (question.device.type == backend->device()) reasons = backend->reasons(question);
    } catch (const Error& error) {  // a device or its archive that is not there
      c.reason = error.what();
    }
    const bool by_variant = std::ranges::any_of(reasons.variants, &Candidate::chosen);
    if (plan.backend && taken) {
      c.reason = cat(taken->name(), " comes first and takes the problem");
    } else if (by_variant) {
      c.reason = cat("backend \"", question.request.backend, "\" was asked for");
    } else if (plan.backend) {
      taken = backend.get();
      c.chosen = true;
      c.reason = std::move(reasons.chosen);
    }
    e.candidates.push_back(std::move(c));
    for (Candidate& v : reasons.variants) e.candidates.push_back(std::move(v));
  }
  e.candidates.push_back({"cuda", "", "this build has no cuda kernels yet", false});
  return e;
}

}  // namespace rapt
