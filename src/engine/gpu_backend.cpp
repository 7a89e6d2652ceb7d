// The kernels of GPUs: "hip" runs the pass that the tuning table chooses, "hip.<kernel>" one that has this kernel.
#include <utility>

#include "base/text.hpp"
#include "engine/backend.hpp"
#include "gpu/gpu.hpp"

namespace rapt {

namespace {

const gpu::Pass& pass_of(const Plan& plan) { return *static_cast<const gpu::Pass*>(plan.chosen.get()); }

gpu::Launch launch_of(const Execution& execution) {
  return {execution.stream, execution.workspace, execution.workspace_size};
}

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(rapt_device_type type)
      : Backend(std::string(device_type_name(type)), type), prefix_(cat(name(), ".")) {}

  bool answers_to(std::string_view asked) const override {
    return asked == name() || (asked.starts_with(prefix_) && asked.size() > prefix_.size());
  }
  std::string plan(const Question& q, std::shared_ptr<const void>& chosen) const override {
    std::string refusal;
    chosen = gpu::choose(request(q), refusal);
    return refusal;
  }
  Answer answer(const Question& q, const Plan& plan, std::string_view refusal) const override {
    const gpu::Request asked = request(q);
    const auto* const pass = static_cast<const gpu::Pass*>(plan.chosen.get());
    const gpu::PassText text = pass ? gpu::text_of(asked, *pass) : gpu::PassText{};
    Answer answer{text.kernels, text.reason};
    for (Candidate& v : gpu::explain(asked, pass, refusal)) {
      const bool named = v.kernel == asked.kernel;
      v.backend = cat(prefix_, v.kernel);
      if (v.chosen && named) v.kernel = text.kernels;  // all that run with it
      if (v.chosen)
        v.reason = named                  ? text.reason
                   : asked.kernel.empty() ? cat("the same as ", name(), " here")
                                          : "it runs beside the kernel that was asked for";
      v.chosen = v.chosen && named;
      answer.variants.push_back(std::move(v));
    }
    return answer;
  }

  size_t workspace_bytes(const ForwardCall&, const Plan& plan, const Execution&) const override {
    return pass_of(plan).workspace.bytes;
  }
  size_t workspace_bytes(const BackwardCall&, const Plan& plan, const Execution&) const override {
    return pass_of(plan).workspace.bytes;
  }
  void run(ForwardCall& call, const Plan& plan, const Execution& execution) const override {
    gpu::launch(pass_of(plan), call, launch_of(execution));
  }
  void run(const BackwardCall& call, const Plan& plan, const Execution& execution) const override {
    gpu::launch(pass_of(plan), call, launch_of(execution));
  }

 private:
  // The table decides also for a request of another backend: explain() then says what "auto" would do.
  gpu::Request request(const Question& q) const {
    const std::string_view asked = q.request.backend;
    return {q.problem, q.op, q.device, asked.starts_with(prefix_) ? asked.substr(prefix_.size()) : ""};
  }

  std::string prefix_;
};

}  // namespace

void add_gpu_backends(std::vector<std::unique_ptr<const Backend>>& list) {
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) list.push_back(std::make_unique<GpuBackend>(type));
}

}  // namespace rapt
