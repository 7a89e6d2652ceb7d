// The kernels of GPUs: "hip" runs the pass that the tuning table chooses, "hip.<kernel>" a pass that has this kernel.
#include <utility>

#include "base/text.hpp"
#include "engine/backend.hpp"
#include "gpu/gpu.hpp"

namespace rapt {

namespace {

const gpu::Pass& pass_of(const Plan& plan) { return *static_cast<const gpu::Pass*>(plan.chosen.get()); }

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
    gpu::Explained e = gpu::explain(asked, static_cast<const gpu::Pass*>(plan.chosen.get()), refusal);
    for (Candidate& v : e.variants) {
      v.backend = cat(prefix_, v.kernel);
      const bool runs = std::exchange(v.chosen, v.chosen && v.kernel == asked.kernel);
      if (v.chosen) v = {v.backend, e.kernels, e.reason, true};
      else if (runs)
        v.reason = asked.kernel.empty() ? cat("the same as ", name(), " here") : cat("beside ", asked.kernel);
    }
    return {e.kernels, e.reason, std::move(e.variants)};
  }

  size_t workspace_bytes(AnyCall, const Plan& plan, const Execution&) const override {
    return pass_of(plan).workspace.bytes;
  }
  void run(AnyCall call, const Plan& plan, const Execution& execution) const override {
    const gpu::Launch launch{execution.stream, execution.workspace, execution.workspace_size};
    std::visit([&](auto* c) { gpu::launch(pass_of(plan), *c, launch); }, call);
  }

 private:
  // If another backend is requested, the table decides too: explain() then says what "auto" would do.
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
