// The plain definition of attention. It takes every problem but is slow, so "auto" chooses it only for small ones.
#include <cmath>

#include "base/text.hpp"
#include "engine/backend.hpp"
#include "math/math.hpp"

namespace rapt {

namespace {

// The most FLOPs for which "auto" chooses it: about a second on one core.
constexpr double kSmall = 4e9;

class MathBackend final : public HostBackend {
 public:
  MathBackend() : HostBackend("math") {}

  std::string refusal(const Question& q) const override {
    if (!q.automatic() || q.execution.allow_math) return "";
    const double work = flops(q.problem, q.op);
    if (work <= kSmall) return "";
    return cat("slow at this size (", std::ceil(work * 1e-9), " GFLOP, auto takes it up to ", kSmall * 1e-9,
               "): ask for backend \"math\" or set allow_math");
  }
  std::vector<Candidate> explain(const Question& q) const override {
    const std::string why = refusal(q);
    if (!why.empty()) return {{name, "row", why}};
    return {
        {name, "row",
         q.automatic() ? "no other backend takes the problem, and it is small or math is allowed" : "asked for by name",
         true}};
  }

 protected:
  size_t own_bytes(AnyCall call, int32_t concurrency) const override {
    return std::visit([&](auto* c) { return math::workspace_bytes(*c, concurrency); }, call);
  }
  void compute(AnyCall call, const rapt_executor& executor, char* workspace) const override {
    if (ForwardCall** forward = std::get_if<ForwardCall*>(&call)) math::forward(**forward, executor, workspace);
    else math::backward(*std::get<BackwardCall*>(call), executor, workspace);
  }
};

}  // namespace

void add_math_backend(std::vector<std::unique_ptr<const Backend>>& list) {
  list.push_back(std::make_unique<MathBackend>());
}

}  // namespace rapt
