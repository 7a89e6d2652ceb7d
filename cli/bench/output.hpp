// The three forms of a benchmark's rows: a table that grows while it runs, JSON lines, and an HTML page with plots.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/case.hpp"

namespace rapt::cli {

class BenchTable {
 public:
  explicit BenchTable(const std::vector<BenchCase>& cases);
  void print_header(const BenchPlan& plan, const Team& team) const;
  void print(const std::vector<BenchRow>& rows) const;  // of one case: forward and backward share a line

 private:
  size_t label_width_ = 4;
};

void print_comparison(const std::vector<BenchRow>& rows);  // each backend against math
void print_left_out(const std::vector<BenchRow>& rows);

std::string bench_json(const std::vector<BenchRow>& rows);  // one object per line
std::string bench_html(const std::vector<BenchRow>& rows);  // needs no network

}  // namespace rapt::cli
