// The plain definition of attention. It takes every problem but is slow, so "auto" chooses it only for small ones.
#include <cmath>

#include "base/text.hpp"
#include "engine/host_backend.hpp"
#include "math/math.hpp"

namespace rapt {

namespace {

// The most FLOPs for which "auto" chooses it: about a second on one core.
constexpr double kSmall = 4e9;

class MathBackend final : public HostBackend {
 public:
  MathBackend() : HostBackend("math") {}

  std::string plan(const Question& q, std::shared_ptr<const void>&) const override {
    if (!q.automatic() || q.request.allow_math) return "";
    const double work = flops(q.problem, q.op);
    if (work <= kSmall) return "";
    return cat("slow at this size (", std::ceil(work * 1e-9), " GFLOP, auto takes it up to ", kSmall * 1e-9,
               "): ask for backend \"math\" or set allow_math");
  }
  Answer answer(const Question& q, const Plan&, std::string_view) const override {
    return {"row", q.automatic() ? "no other backend takes the problem, and it is small or math is allowed"
                                 : "asked for by name"};
  }

 protected:
  size_t own_bytes(AnyCall call, int32_t concurrency) const override {
    return std::visit([&](auto* c) { return math::workspace_bytes(*c, concurrency); }, call);
  }
  void compute(AnyCall call, const rapt_executor& executor, char* workspace) const override {
    if (ForwardCall** forward = std::get_if<ForwardCall*>(&call)) math::forward(**forward, executor, workspace);
    else math::backward(*std::get<const BackwardCall*>(call), executor, workspace);
  }
};

}  // namespace

void add_math_backend(std::vector<std::unique_ptr<const Backend>>& list) {
  list.push_back(std::make_unique<MathBackend>());
}

}  // namespace rapt
