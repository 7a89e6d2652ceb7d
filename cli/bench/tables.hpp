// The named benchmark tables: lists of problems, each with the name that its source gives it.
#pragma once

#include <string>
#include <vector>

namespace rapt::cli {

struct BenchCase {
  std::string table;
  std::string name;     // what --rows matches
  std::string variant;  // distinguishes rows of the same name, e.g. "causal"
  std::string problem;
  bool forward_only = false;
  std::string label() const { return variant.empty() ? name : name + " " + variant; }
};

const std::vector<std::string>& bench_table_names();
bool is_bench_table(const std::string& name);
std::vector<BenchCase> bench_table(const std::string& name);

// Keeps the rows that a filter names: terms separated by commas, each a name or FIRST..LAST in the table's order.
// Letter case does not matter. Throws InputError for a name that no row has.
std::vector<BenchCase> filter_rows(const std::vector<BenchCase>& cases, const std::string& filter);

}  // namespace rapt::cli
