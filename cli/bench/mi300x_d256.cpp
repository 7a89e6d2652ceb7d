#include <fmt/format.h>

#include <algorithm>

#include "cli/bench/box.hpp"
#include "cli/bench/layouts.hpp"
#include "cli/bench/lds.hpp"
#include "cli/bench/native.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kCompared = "s1024-d64";  // the case that the report compares apart

// The kernel that leads a pass: "split_wide.d256.fp16.plain.k32w4s4" of "split_wide.d256... + split_combine...".
std::string lead(const std::string& kernels) { return kernels.substr(0, kernels.find(' ')); }

// "forward_pipelined.k32w4" of "forward_pipelined.d256.fp16.plain.k32w4".
std::string short_name(const std::string& kernels) {
  const std::string name = lead(kernels);
  return name.substr(0, name.find('.')) + name.substr(std::min(name.rfind('.'), name.size()));
}

std::string ms_text(const BenchRow* r) {
  return r == nullptr || !r->left_out.empty() ? "-" : fmt::format("{:.3f}", r->measured.ms);
}

class Mi300xLayout : public BenchLayout {
 public:
  explicit Mi300xLayout(const BenchPlan& plan) : plan_(plan), info_(describe(plan.device)) {}

  void begin() override {
    print_status(plan_);
    fmt::print("Milliseconds of a forward call: ");
    if (info_.simulator)
      fmt::print("one forecast each; forecasts do not vary, so the numbers of calls do not matter\n");
    else fmt::print("the median of {}, after {} warm-up calls\n", plan_.rule.iterations, plan_.rule.warm_up_calls);
    fmt::print(
        "Native: the least that attention written out in fp32 can take, by the data sheet; PyTorch's own, CK and\n"
        "Triton are in the same table of `python -m rapt.bench mi300x-d256`\n");
    std::fflush(stdout);
  }

  void print(const std::vector<BenchRow>& rows) override { cases_.push_back(rows); }

  bool end(const std::vector<BenchRow>& rows) override {
    const std::vector<Column> columns = candidates();
    print_candidates(columns);
    print_configs(columns);
    for (const auto& of_case : cases_)
      if (of_case.front().which.name == kCompared) print_compared(of_case);
    if (!columns.empty()) {
      fmt::print(
          "\nLDS of a workgroup: by the report's sum, BLOCK_M x d_k + BLOCK_N x d_k, and what it has (no Q: that is in "
          "registers)\n");
      for (const Column& c : columns) fmt::print("{}", lds_text(c.kernel, c.letter, info_));
    }
    print_left_out(rows);
    return true;
  }

 private:
  struct Column {
    std::string letter;
    rapt_kernel kernel;
  };

  // The leading kernels of the configurations that are lines of the table, in the order of their appearance.
  std::vector<Column> candidates() {
    archive_.emplace("", info_.arch);
    std::vector<Column> columns;
    for (const auto& rows : cases_)
      for (const BenchRow& r : rows) {
        if (r.which.name == kCompared || r.kernel.empty()) continue;
        const std::string name = lead(r.kernel);
        if (std::ranges::any_of(columns, [&](const Column& c) { return name == c.kernel.name; })) continue;
        for (size_t i = 0; i < archive_->size(); ++i)
          if (const rapt_kernel k = archive_->kernel(i); name == k.name)
            columns.push_back({std::string(1, static_cast<char>('A' + columns.size())), k});
      }
    return columns;
  }

  static void print_candidates(const std::vector<Column>& columns) {
    for (const auto& [letter, k] : columns)
      fmt::print("{}: {} (BLOCK_M={}, BLOCK_N={}, {} waves)\n", letter, short_name(k.name), k.block_q, k.block_k,
                 k.waves);
  }

  void print_configs(const std::vector<Column>& columns) const {
    std::vector<std::vector<std::string>> lines = {{"Config (B,S,H,D)", "Native (ms)"}};
    for (const Column& c : columns) lines[0].push_back(c.letter + " (ms)");
    lines[0].emplace_back("Rapt (ms)");
    for (const Column& c : columns) lines[0].push_back(c.letter + " Speedup");
    lines[0].insert(lines[0].end(), {"Rapt Speedup", "Rapt chooses"});
    for (const auto& rows : cases_)
      if (rows.front().which.name != kCompared) lines.push_back(config_line(rows, columns));
    if (lines.size() > 1) print_columns(lines);
  }

  std::vector<std::string> config_line(const std::vector<BenchRow>& rows, const std::vector<Column>& columns) const {
    const rapt_problem p = Problem::parse(rows.front().which.problem).c();
    const std::optional<double> native = native_least_ms(p, info_);
    std::vector<const BenchRow*> cells;
    std::string chosen = "-";
    for (const Column& c : columns) {
      const auto r = std::ranges::find_if(rows, [&](const BenchRow& row) { return lead(row.kernel) == c.kernel.name; });
      cells.push_back(r == rows.end() ? nullptr : &*r);
      if (r == rows.begin()) chosen = c.letter;
    }
    cells.push_back(&rows.front());  // what the tuning table chooses
    std::vector<std::string> line = {fmt::format("({}, {}, {}, {})", p.batch, p.seqlen_q, p.heads_q, p.head_dim),
                                     native ? fmt::format(">={:.3f}", *native) : "-"};
    for (const BenchRow* r : cells) line.push_back(ms_text(r));
    for (const BenchRow* r : cells)
      line.push_back(native && ms_text(r) != "-" ? fmt::format(">={:.2f}x", *native / r->measured.ms) : "-");
    line.push_back(chosen);
    return line;
  }

  static void print_columns(const std::vector<std::vector<std::string>>& lines) {
    std::vector<size_t> widths(lines[0].size());
    size_t width = 0;
    for (size_t i = 0; i < widths.size(); ++i) {
      for (const auto& line : lines) widths[i] = std::max(widths[i], line[i].size() + 2);
      width += widths[i];
    }
    const std::string rule(width - 2, '=');
    fmt::print("{}\n", rule);
    for (size_t l = 0; l < lines.size(); ++l) {
      std::string text;
      for (size_t i = 0; i < widths.size(); ++i) text += fmt::format("{:<{}}", lines[l][i], widths[i]);
      text.erase(text.find_last_not_of(' ') + 1);
      fmt::print("{}\n{}", text, l == 0 ? rule + "\n" : "");
    }
    fmt::print("{}\n", rule);
  }

  static void print_compared(const std::vector<BenchRow>& rows) {
    const rapt_problem p = Problem::parse(rows.front().which.problem).c();
    fmt::print("\nComparison (seq={}, d_k={}):\n", p.seqlen_q, p.head_dim);
    for (const BenchRow& r : rows)
      fmt::print("  {:<26}{} ms{}\n", short_name(r.kernel) + ":", ms_text(&r),
                 &r == &rows.front() ? ", which Rapt chooses" : "");
  }

  const BenchPlan& plan_;
  const rapt_device_info info_;
  std::optional<Archive> archive_;
  std::vector<std::vector<BenchRow>> cases_;
};

}  // namespace

std::unique_ptr<BenchLayout> mi300x_d256_layout(const BenchPlan& plan) { return std::make_unique<Mi300xLayout>(plan); }

}  // namespace rapt::cli
