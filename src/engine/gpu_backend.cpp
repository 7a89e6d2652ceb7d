// The kernels of GPUs: "hip" runs the pass that the tuning table chooses, "hip.<kernel>" a pass that has this kernel.
#include "base/text.hpp"
#include "engine/backend.hpp"
#include "gpu/gpu.hpp"

namespace rapt {

namespace {

const gpu::Pass& pass_of(const Plan& plan) { return static_cast<const gpu::Choice*>(plan.chosen.get())->pass; }

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(rapt_device_type type)
      : Backend(std::string(device_type_name(type)), type), prefix_(cat(name, ".")) {}

  bool answers_to(std::string_view asked) const override { return asked == name || !kernel_of(asked).empty(); }
  std::string plan(const Question& q, std::shared_ptr<const void>& chosen) const override {
    const auto choice = gpu::choose(q.problem, q.op, q.device, kernel_of(q.execution.backend));
    chosen = choice;
    return choice->refusal;
  }
  std::vector<Candidate> explain(const Question& q) const override {
    return gpu::explain(q.problem, q.op, q.device, kernel_of(q.execution.backend));
  }
  size_t workspace_bytes(AnyCall, const Plan& plan, const Execution&) const override {
    return pass_of(plan).workspace.bytes;
  }
  void run(AnyCall call, const Plan& plan, const Execution& execution) const override {
    const gpu::Launch launch{execution.stream, execution.workspace, execution.workspace_size};
    std::visit([&](auto* c) { gpu::launch(pass_of(plan), *c, launch); }, call);
  }

 private:
  // "" if no kernel is asked for. If another backend is, the table decides too: explain() says what "auto" would do.
  std::string_view kernel_of(std::string_view asked) const {
    return asked.starts_with(prefix_) ? asked.substr(prefix_.size()) : "";
  }

  std::string prefix_;
};

}  // namespace

void add_gpu_backends(std::vector<std::unique_ptr<const Backend>>& list) {
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) list.push_back(std::make_unique<GpuBackend>(type));
}

}  // namespace rapt
