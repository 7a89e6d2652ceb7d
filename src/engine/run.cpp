#include "engine/run.hpp"

#include <cstdlib>
#include <memory>

#include "engine/kv_cache.hpp"
#include "engine/pool.hpp"
#include "math/math.hpp"
#include "problem/error.hpp"
#include "problem/text.hpp"

namespace rapt {

namespace {

// Below this, waking threads costs more than they save.
constexpr double kInlineOperations = 1e6;

struct FreeDeleter {
  void operator()(char* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<char, FreeDeleter>;

Buffer allocate(size_t bytes) {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
  if (!buffer)
    throw Error(RAPT_OUT_OF_MEMORY, cat("cannot allocate ", static_cast<uint64_t>(bytes), " bytes of workspace"));
  return buffer;
}

// The caller's workspace, or this thread's own, which small calls keep from one to the next.
class Workspace {
 public:
  Workspace(const Execution& execution, size_t bytes) {
    if (execution.workspace != nullptr) {
      if (execution.workspace_size < bytes)
        throw Error(RAPT_INVALID_ARGUMENT,
                    cat("execution.workspace_size is ", static_cast<uint64_t>(execution.workspace_size),
                        ", must be at least ", static_cast<uint64_t>(bytes)));
      data_ = execution.workspace;
    } else if (bytes > kKept || t_kept.in_use) {
      own_ = allocate(bytes);
      data_ = own_.get();
    } else {
      if (t_kept.size < bytes) {
        t_kept.buffer = nullptr;
        t_kept.size = 0;
        t_kept.buffer = allocate(bytes);
        t_kept.size = bytes;
      }
      t_kept.in_use = keeps_ = true;
      data_ = t_kept.buffer.get();
    }
  }
  ~Workspace() {
    if (keeps_) t_kept.in_use = false;
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  char* data() const { return data_; }

 private:
  static constexpr size_t kKept = size_t{8} << 20;
  struct Kept {
    Buffer buffer;
    size_t size = 0;
    bool in_use = false;  // an executor may run another call on this thread while one is under way
  };
  static thread_local Kept t_kept;

  char* data_ = nullptr;
  Buffer own_;
  bool keeps_ = false;
};
thread_local Workspace::Kept Workspace::t_kept;

const rapt_executor& executor_for(const Call& call, rapt_op op, const Execution& execution) {
  static const rapt_executor here = {sizeof(rapt_executor), 1, nullptr, nullptr};  // concurrency 1 is never called
  if (operations(call, op) < kInlineOperations) return here;
  return execution.executor ? *execution.executor : default_executor();
}

size_t backend_bytes(const ForwardCall& call, const Plan& plan, int32_t concurrency) {
  return plan.kernels ? plan.kernels->forward_workspace(call, concurrency) : math::workspace_bytes(call, concurrency);
}
size_t backend_bytes(const BackwardCall& call, const Plan& plan, int32_t concurrency) {
  return plan.kernels ? plan.kernels->backward_workspace(call, concurrency) : math::workspace_bytes(call, concurrency);
}

}  // namespace

void run(ForwardCall call, const Execution& execution) {
  const Plan chosen = plan(call, execution.wish);
  if (chosen.backend == Plan::Backend::hip)
    return gpu::forward(call, chosen.hip, {execution.stream, execution.workspace, execution.workspace_size});
  const rapt_executor& executor = executor_for(call, RAPT_FORWARD, execution);
  const size_t rotated = rotated_q_bytes(call);
  const Workspace workspace(execution, rotated + backend_bytes(call, chosen, executor.concurrency));
  prepare_cache(call, workspace.data());
  if (chosen.kernels) chosen.kernels->forward(call, executor, workspace.data() + rotated);
  else math::forward(call, executor, workspace.data() + rotated);
}

void run(const BackwardCall& call, const Execution& execution) {
  const Plan chosen = plan(call, execution.wish);
  const rapt_executor& executor = executor_for(call, RAPT_BACKWARD, execution);
  const Workspace workspace(execution, backend_bytes(call, chosen, executor.concurrency));
  if (chosen.kernels) chosen.kernels->backward(call, executor, workspace.data());
  else math::backward(call, executor, workspace.data());
}

size_t workspace_bytes(const ForwardCall& call, const Execution& execution) {
  const Plan chosen = plan(call, execution.wish);
  if (chosen.backend == Plan::Backend::hip) return gpu::workspace_bytes(call);
  return rotated_q_bytes(call) + backend_bytes(call, chosen, executor_for(call, RAPT_FORWARD, execution).concurrency);
}

size_t workspace_bytes(const BackwardCall& call, const Execution& execution) {
  return backend_bytes(call, plan(call, execution.wish), executor_for(call, RAPT_BACKWARD, execution).concurrency);
}

}  // namespace rapt
