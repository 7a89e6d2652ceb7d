#include <fmt/format.h>

#include <algorithm>

#include "cli/bench/box.hpp"
#include "cli/bench/layouts.hpp"
#include "cli/inputs/dtype.hpp"
#include "cli/tune/trial.hpp"

namespace rapt::cli {

namespace {

std::string operation(const BenchRow& r) {
  const bool own = r.backend == gpu_backend(parse_device(r.device));
  return fmt::format("{} {}", r.causal ? "Causal" : "Full", own ? "rapt" : r.backend);
}

class StrixHaloLayout : public BenchLayout {
 public:
  explicit StrixHaloLayout(const BenchPlan& plan) : plan_(plan) {}

  void begin() override {
    fmt::print("{}", box("Rapt Status Check"));
    print_status(plan_);
    fmt::print(
        "Regular SDPA (what scaled_dot_product_attention chooses): a row of `python -m rapt.bench strix-halo`, "
        "because it needs PyTorch\n");
    std::fflush(stdout);
  }

  void print(const std::vector<BenchRow>& rows) override {
    of_size_.insert(of_size_.end(), rows.begin(), rows.end());
    const std::string& size = rows.front().which.name;
    const auto last =
        std::find_if(plan_.cases.rbegin(), plan_.cases.rend(), [&](const BenchCase& c) { return c.name == size; });
    if (last->label() != rows.front().which.label()) return;
    print_size();
    of_size_.clear();
  }

  bool end(const std::vector<BenchRow>& rows) override {
    fmt::print("\n{}", box("Summary"));
    const std::string simulated = simulated_times(rows);
    if (!simulated.empty()) fmt::print("Times: {}\n", simulated);
    std::string size;
    for (const BenchRow& r : rows) {
      if (r.op != RAPT_FORWARD || !r.causal) continue;
      if (r.which.name != size) fmt::print("{}:\n", size = r.which.name);
      fmt::print("  {}: {}\n", operation(r), r.left_out.empty() ? fmt::format("{:.4f} ms", r.measured.ms) : r.left_out);
    }
    const bool right = check_dtypes();
    print_left_out(rows);
    return right;
  }

 private:
  void print_size() const {
    const BenchRow& any = of_size_.front();
    const rapt_problem p = Problem::parse(any.which.problem).c();
    const double gigabytes =
        static_cast<double>(p.batch * p.heads_q * p.seqlen_q * p.head_dim * bytes_of(p.dtype)) / (1 << 30);
    fmt::print("\n{}", box(fmt::format("Testing {}: B={}, H={}, S={}, D={}", any.which.name, p.batch, p.heads_q,
                                       p.seqlen_q, p.head_dim)));
    fmt::print("Estimated memory per QKV tensor: {:.2f} GB\nTotal QKV memory: {:.2f} GB\n", gigabytes, 3 * gigabytes);
    const std::string simulated = simulated_times(of_size_);
    if (!simulated.empty()) fmt::print("Times: {}\n", simulated);
    fmt::print("{}",
               grid({"Operation", "FW Time (ms)", "FW FLOPS (TF/s)", "BW Time (ms)", "BW FLOPS (TF/s)"}, lines()));
    std::fflush(stdout);
  }

  // As in the report, causal rows come first.
  std::vector<std::vector<std::string>> lines() const {
    std::vector<std::vector<std::string>> lines;
    for (const bool causal : {true, false})
      for (const BenchRow& r : of_size_) {
        if (r.causal != causal) continue;
        const std::string name = operation(r);
        auto line = std::ranges::find_if(lines, [&](const auto& cells) { return cells[0] == name; });
        if (line == lines.end()) line = lines.insert(lines.end(), {name, "-", "-", "-", "-"});
        if (!r.left_out.empty()) continue;
        const size_t at = r.op == RAPT_FORWARD ? 1 : 3;
        (*line)[at] = fmt::format("{:.4f}", r.measured.ms);
        (*line)[at + 1] = fmt::format("{:.4g}", r.tflops());
      }
    return lines;
  }

  // A small problem of each type, both passes, compared with float64 by `rapt verify` in a process of its own: this
  // process may run only a sample of each launch.
  bool check_dtypes() const {
    constexpr double kMostSeconds = 120;
    fmt::print("\n{}", box("Testing with different dtypes"));
    bool right = true;
    for (const char* dtype : {"fp16", "bf16", "fp32"}) {
      fmt::print("\nTesting with {}\n", dtype);
      std::fflush(stdout);
      const Problem problem = Problem::parse(fmt::format("b1 hq2 hk2 sq64 sk64 d64 {} causal", dtype));
      std::string failure;
      for (const rapt_op op : {RAPT_FORWARD, RAPT_BACKWARD})
        if (failure.empty())
          failure = try_out(problem, op, plan_.device, gpu_backend(plan_.device), kMostSeconds)
                        .value_or(fmt::format("no answer within {:.0f} s", kMostSeconds));
      right &= failure.empty();
      if (failure.empty()) fmt::print("Success with {}: out, lse, dq, dk and dv agree with float64\n", dtype);
      else fmt::print("Failure with {}: {}\n", dtype, failure);
    }
    return right;
  }

  const BenchPlan& plan_;
  std::vector<BenchRow> of_size_;
};

}  // namespace

std::unique_ptr<BenchLayout> strix_halo_layout(const BenchPlan& plan) {
  return std::make_unique<StrixHaloLayout>(plan);
}

}  // namespace rapt::cli
