// The forms of a benchmark's rows: text while it runs, JSON lines, and an HTML page with plots.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/case.hpp"

namespace rapt::cli {

// What a benchmark prints, case by case.
class BenchLayout {
 public:
  virtual ~BenchLayout() = default;
  virtual void begin() = 0;
  virtual void print(const std::vector<BenchRow>& rows) = 0;  // of one case
  virtual bool end(const std::vector<BenchRow>& rows) = 0;    // of all cases; false if a check failed
};

// Forward and backward of a case share a line.
class BenchTable : public BenchLayout {
 public:
  BenchTable(const BenchPlan& plan, const Team& team);
  void begin() override;
  void print(const std::vector<BenchRow>& rows) override;
  bool end(const std::vector<BenchRow>& rows) override;

 private:
  const BenchPlan& plan_;
  const Team& team_;
  size_t label_width_ = 4;
};

// Whether all cases are of this table, on a GPU: then they are printed as in the report that the table comes from.
bool is_report(const BenchPlan& plan, const std::string& table);
std::unique_ptr<BenchLayout> bench_layout(const BenchPlan& plan, const Team& team);

void print_left_out(const std::vector<BenchRow>& rows);

std::string bench_json(const std::vector<BenchRow>& rows);  // one object per line
std::string bench_html(const std::vector<BenchRow>& rows);  // needs no network

}  // namespace rapt::cli
