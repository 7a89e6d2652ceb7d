// The kernels of GPUs: "hip" runs the variants that the tuning table chooses, "hip.<variant>" a variant by name.
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "engine/backend.hpp"

namespace rapt {

namespace {

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(rapt_device_type type)
      : Backend(std::string(device_type_name(type)), type), prefix_(cat(name(), ".")) {}

  bool answers_to(std::string_view asked) const override {
    return asked == name() || (asked.starts_with(prefix_) && asked.size() > prefix_.size());
  }
  std::string plan(const Question& q, Plan& plan) const override {
    return gpu::make_plan(q.problem, q.op, q.device, named_variant(q), plan.gpu);
  }
  std::string kernel(const Question&, const Plan& plan) const override {
    std::string names;
    for (size_t i = 0; i < plan.gpu.stage_count; ++i) names += cat(i == 0 ? "" : " + ", plan.gpu.variant(i).name);
    return names;
  }
  Reasons reasons(const Question& q, const Plan& plan, std::string_view refusal) const override {
    Reasons all;
    const bool by_name = !named_variant(q).empty();
    for (Candidate& v : gpu::explain({q.problem, q.op, q.device, named_variant(q), plan.gpu, refusal})) {
      if (v.chosen && !by_name)
        all.chosen +=
            cat(all.chosen.empty() ? "" : "; ", std::exchange(v.reason, cat("the same as ", name(), " here")));
      v.backend = cat(prefix_, v.kernel);
      v.chosen = v.chosen && v.kernel == named_variant(q);  // and not those of the pass's other stages
      if (v.chosen) v.kernel = kernel(q, plan);             // which run beside it
      all.variants.push_back(std::move(v));
    }
    return all;
  }

  size_t workspace_bytes(const ForwardCall&, const Plan& plan, const Execution&) const override {
    return plan.gpu.workspace;
  }
  size_t workspace_bytes(const BackwardCall&, const Plan& plan, const Execution&) const override {
    return plan.gpu.workspace;
  }
  void run(ForwardCall& call, const Plan& plan, const Execution& execution) const override {
    const gpu::Launch launch = {execution.stream, execution.workspace, execution.workspace_size};
    if (plan.gpu.stages[0].stage == Stage::split) gpu::split(call, plan.gpu, launch);
    else gpu::forward(call, plan.gpu, launch);
  }
  void run(const BackwardCall& call, const Plan& plan, const Execution& execution) const override {
    gpu::backward(call, plan.gpu, {execution.stream, execution.workspace, execution.workspace_size});
  }

 private:
  // The variant that a request names; "" if the tuning table decides, also for a request of another backend: then
  // explain() says what "auto" would do.
  std::string_view named_variant(const Question& q) const {
    return q.request.backend.starts_with(prefix_) ? q.request.backend.substr(prefix_.size()) : "";
  }

  std::string prefix_;
};

}  // namespace

void add_gpu_backends(std::vector<std::unique_ptr<const Backend>>& list) {
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) list.push_back(std::make_unique<GpuBackend>(type));
}

}  // namespace rapt
