// rapt.h implemented over the engine: version, errors, pools, forward and backward.
#include <cstdio>
#include <utility>

#include "api/execution.hpp"
#include "api/guard.hpp"
#include "cpu/cpu.hpp"
#include "engine/pool.hpp"
#include "engine/engine.hpp"
#include "problem/validator.hpp"

namespace rapt {

namespace {

// A fixed buffer, so that storing a message cannot fail.
thread_local char t_message[4096] = "";

}  // namespace

rapt_status fail(rapt_status status, const char* message) noexcept {
  std::snprintf(t_message, sizeof t_message, "%s", message);
  return status;
}

Execution execution_of(const rapt_execution* given, rapt_executor& executor) {
  Execution out;
  if (given == nullptr) return out;
  const rapt_execution e = read_versioned("execution", given);
  if (e.backend) out.backend = e.backend;
  out.allow_math = e.allow_math != 0;
  out.deterministic = e.deterministic != 0;
  if (e.executor) {
    executor = read_versioned("execution.executor", e.executor);
    if (executor.concurrency < 1 || (executor.concurrency > 1 && executor.parallel_for == nullptr))
      throw Error(RAPT_INVALID_ARGUMENT, cat("execution.executor has concurrency ", executor.concurrency,
                                             executor.parallel_for ? "" : " and no parallel_for",
                                             ", must have at least 1 and a parallel_for"));
    out.executor = &executor;
  }
  out.stream = e.stream;
  out.workspace = static_cast<char*>(e.workspace);
  out.workspace_size = e.workspace_size;
  if (reinterpret_cast<uintptr_t>(e.workspace) % 64 != 0)
    throw Error(RAPT_INVALID_ARGUMENT, "execution.workspace must be aligned to 64 bytes");
  return out;
}

namespace {

// A call as the engine takes it, and how to run it.
template <class PublicCall>
struct Checked {
  rapt_executor executor;
  Execution execution;  // may point to executor
  decltype(validate(std::declval<const PublicCall&>())) call;

  explicit Checked(const PublicCall& given)
      : execution(execution_of(read_versioned("call", &given).execution, executor)), call(validate(given)) {
    call.deterministic = execution.deterministic;
  }
  Checked(const Checked&) = delete;
};

template <class PublicCall>
void run_call(const PublicCall* given) {
  require(given, "call");
  Checked checked(*given);
  run(&checked.call, checked.execution);
}

template <class PublicCall>
size_t workspace_of(const PublicCall& given) {
  Checked checked(given);
  return workspace_bytes(&checked.call, checked.execution);
}

template <class PublicCall>
Explanation explain_call(const PublicCall& given, rapt_op op) {
  const Checked checked(given);
  return explain({checked.call, op, checked.call.device, checked.execution});
}

void require_one_call(const void* forward, const void* backward) {
  if ((forward == nullptr) == (backward == nullptr))
    throw Error(RAPT_INVALID_ARGUMENT, "exactly one of forward and backward must be given, the other null");
}

}  // namespace

}  // namespace rapt

// rapt_explanation_candidate returns pointers into this.
struct rapt_explanation {
  rapt::Explanation value;
};

namespace rapt {

rapt_explanation* new_explanation(Explanation&& value) { return new rapt_explanation{std::move(value)}; }

}  // namespace rapt

using namespace rapt;

extern "C" {

int32_t rapt_version(void) { return RAPT_VERSION_MAJOR * 10000 + RAPT_VERSION_MINOR * 100 + RAPT_VERSION_PATCH; }

const char* rapt_version_string(void) {
#define RAPT_TEXT_OF(x) #x
#define RAPT_TEXT(x) RAPT_TEXT_OF(x)
  return RAPT_TEXT(RAPT_VERSION_MAJOR) "." RAPT_TEXT(RAPT_VERSION_MINOR) "." RAPT_TEXT(RAPT_VERSION_PATCH);
}

const char* rapt_last_error(void) { return t_message; }

rapt_status rapt_pool_create(int32_t num_threads, rapt_executor** executor) {
  return guarded([&] {
    require(executor, "executor");
    if (num_threads < 0 || num_threads > 4096)
      throw Error(RAPT_INVALID_ARGUMENT, cat("num_threads is ", num_threads, ", must be 0 (one per core) to 4096"));
    *executor = const_cast<rapt_executor*>(&(new Pool(num_threads))->executor());
  });
}

void rapt_pool_destroy(rapt_executor* executor) {
  if (executor) delete static_cast<Pool*>(executor->context);
}

rapt_status rapt_forward(const rapt_forward_call* call) {
  return guarded([&] { run_call(call); });
}

rapt_status rapt_backward(const rapt_backward_call* call) {
  return guarded([&] { run_call(call); });
}

rapt_status rapt_workspace_size(const rapt_forward_call* forward, const rapt_backward_call* backward, size_t* bytes) {
  return guarded([&] {
    require(bytes, "bytes");
    require_one_call(forward, backward);
    *bytes = forward ? workspace_of(*forward) : workspace_of(*backward);
  });
}

rapt_status rapt_explain(const rapt_forward_call* forward, const rapt_backward_call* backward,
                         rapt_explanation** explanation) {
  return guarded([&] {
    require(explanation, "explanation");
    require_one_call(forward, backward);
    *explanation =
        new_explanation(forward ? explain_call(*forward, RAPT_FORWARD) : explain_call(*backward, RAPT_BACKWARD));
  });
}

const char* rapt_explanation_problem(const rapt_explanation* explanation) { return explanation->value.problem.c_str(); }
size_t rapt_explanation_count(const rapt_explanation* explanation) { return explanation->value.candidates.size(); }

rapt_candidate rapt_explanation_candidate(const rapt_explanation* explanation, size_t index) {
  if (index >= explanation->value.candidates.size()) return {"", "", 0, ""};
  const Candidate& c = explanation->value.candidates[index];
  return {c.backend.c_str(), c.kernel.c_str(), c.chosen ? 1 : 0, c.reason.c_str()};
}

void rapt_explanation_free(rapt_explanation* explanation) { delete explanation; }

const char* rapt_cpu_tier(size_t index, int32_t* available) {
  if (index >= cpu::tier_count()) return nullptr;
  if (available) *available = cpu::tier(index).runs_here() ? 1 : 0;
  return cpu::tier(index).name;
}
}
