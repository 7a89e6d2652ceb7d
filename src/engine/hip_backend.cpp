// The kernels of AMD's GPUs: "hip" runs the variant that the tuning table chooses, "hip.<variant>" a variant by name.
#include <utility>

#include "engine/backend.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt {

namespace {

constexpr std::string_view kPrefix = "hip.";

// The variant that a request names; "" if the tuning table decides.
std::string_view named_variant(const Question& q) {
  return q.request.backend.starts_with(kPrefix) ? q.request.backend.substr(kPrefix.size()) : "";
}

class HipBackend final : public Backend {
 public:
  HipBackend() : Backend("hip", RAPT_ROCM) {}

  bool answers_to(std::string_view name) const override { return name == "hip" || name.starts_with(kPrefix); }
  std::string plan(const Question& q, Plan& plan) const override {
    return gpu::make_plan(q.problem, q.op, q.device, named_variant(q), plan.gpu);
  }
  std::string kernel(const Question&, const Plan& plan) const override {
    if (plan.gpu.stage_count == 0) return "";
    return plan.gpu.modules->variants()[plan.gpu.stages[0].variant].name;
  }
  // For a request of another backend, say what "auto" would do.
  Reasons reasons(const Question& q) const override {
    Reasons all;
    const bool by_name = !named_variant(q).empty();
    for (gpu::VariantReason& v : gpu::explain(q.problem, q.op, q.device, named_variant(q))) {
      if (v.chosen && !by_name) all.chosen = std::exchange(v.reason, "the same as hip here");
      all.variants.push_back({cat(kPrefix, v.name), v.name, std::move(v.reason), v.chosen && by_name});
    }
    return all;
  }

  size_t workspace_bytes(const ForwardCall& call, const Plan&, const Execution&) const override {
    return gpu::workspace_bytes(call);
  }
  size_t workspace_bytes(const BackwardCall& call, const Plan&, const Execution&) const override { lacking(call); }
  void run(ForwardCall& call, const Plan& plan, const Execution& execution) const override {
    gpu::forward(call, plan.gpu, {execution.stream, execution.workspace, execution.workspace_size});
  }
  void run(const BackwardCall& call, const Plan&, const Execution&) const override { lacking(call); }

 private:
  // Not reached: plan() refuses backward passes.
  [[noreturn]] static void lacking(const BackwardCall& call) {
    throw Error(RAPT_INTERNAL_ERROR, cat("the hip backend was given the backward pass of ", call.text()));
  }
};

}  // namespace

void add_hip_backend(std::vector<std::unique_ptr<const Backend>>& list) {
  list.push_back(std::make_unique<HipBackend>());
}

}  // namespace rapt
