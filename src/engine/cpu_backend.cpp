// The SIMD kernels of the host: "cpu" is the best tier that the machine supports, "cpu.<tier>" a tier by name.
#include "cpu/cpu.hpp"

#include "base/text.hpp"
#include "engine/backend.hpp"
#include "engine/workspace.hpp"

namespace rapt {

namespace {

const cpu::Tier& best_tier() {
  size_t i = 0;
  while (!cpu::tier(i).runs_here()) ++i;
  return cpu::tier(i);
}

class CpuBackend final : public HostBackend {
 public:
  // `best`: this tier is the one that "cpu" runs.
  CpuBackend(std::string name, const cpu::Tier& tier, bool best)
      : HostBackend(std::move(name)), tier_(tier), best_(best), runs_here_(tier.runs_here()) {}

  std::string refusal(const Question& q) const override {
    if (q.problem.dtype == DType::fp64) return "fp64 requires backend \"math\"";
    if (*tier_.refused()) return tier_.refused();
    if (!runs_here_) return cat("this machine does not have all of ", tier_.needs);
    return q.automatic() && best_ && name != "cpu" ? "the same as cpu here" : "";
  }
  std::vector<Candidate> explain(const Question& q) const override {
    const cpu::Kernels& kernels = tier_.kernels;
    const std::string_view order = cpu::order_reason();
    const std::string why = refusal(q), kernel = cat(tier_.name, ".",
                                                     q.op == RAPT_FORWARD ? kernels.forward_kernel(q.problem)
                                                                          : kernels.backward_kernel(q.problem));
    if (!why.empty()) return {{name, kernel, why}};
    if (name != "cpu") return {{name, kernel, "asked for by name", true}};
    return {{name, kernel,
             cat(tier_.name, " is the best tier that this machine runs", order.empty() ? "" : ": ", order), true}};
  }

 protected:
  size_t own_bytes(AnyCall call, int32_t concurrency) const override {
    return bytes_of(tier_.kernels, call, concurrency);
  }
  void compute(AnyCall call, const rapt_executor& executor, char* workspace) const override {
    if (computed(tier_.kernels, call, executor, workspace)) return;
    const Workspace other({}, bytes_of(cpu::without_dots(), call, executor.concurrency));
    computed(cpu::without_dots(), call, executor, other.data());
  }

 private:
  static size_t bytes_of(const cpu::Kernels& kernels, AnyCall call, int32_t concurrency) {
    if (ForwardCall** forward = std::get_if<ForwardCall*>(&call))
      return kernels.forward_workspace(**forward, concurrency);
    return kernels.backward_workspace(*std::get<BackwardCall*>(call), concurrency);
  }
  static bool computed(const cpu::Kernels& kernels, AnyCall call, const rapt_executor& executor, char* workspace) {
    if (ForwardCall** forward = std::get_if<ForwardCall*>(&call))
      return kernels.forward(**forward, executor, workspace);
    return kernels.backward(*std::get<BackwardCall*>(call), executor, workspace);
  }

  const cpu::Tier& tier_;
  const bool best_, runs_here_;
};

}  // namespace

void add_cpu_backends(std::vector<std::unique_ptr<const Backend>>& list) {
  const cpu::Tier& best = best_tier();
  list.push_back(std::make_unique<CpuBackend>("cpu", best, true));
  for (size_t i = 0; i < cpu::tier_count(); ++i)
    list.push_back(std::make_unique<CpuBackend>(cat("cpu.", cpu::tier(i).name), cpu::tier(i), &cpu::tier(i) == &best));
}

}  // namespace rapt
