#include "cli/tune/problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "cli/bench/tables.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

class Problems {
 public:
  void add(rapt_op op, const std::string& text) {
    Problem problem = Problem::parse(text);
    if (seen_.insert({op, problem.text()}).second) all_.push_back({op, std::move(problem)});
  }
  std::vector<WantedProblem> take() { return std::move(all_); }

 private:
  std::set<std::pair<rapt_op, std::string>> seen_;
  std::vector<WantedProblem> all_;
};

void add_record(Problems& problems, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw InputError(fmt::format("{} is a folder, must be a file", path));
  std::ifstream file(path);
  if (!file) throw InputError(fmt::format("{} cannot be read", path));
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    const std::string op = line.substr(0, space);
    if (space == std::string::npos || (op != "forward" && op != "backward"))
      throw InputError(
          fmt::format("{} line {} is '{}', must be 'forward PROBLEM' or 'backward PROBLEM'", path, number, line));
    try {
      problems.add(op == "forward" ? RAPT_FORWARD : RAPT_BACKWARD, line.substr(space + 1));
    } catch (const Error& e) {
      throw InputError(fmt::format("{} line {} is '{}': {}", path, number, line, e.what()));
    }
  }
}

}  // namespace

std::vector<WantedProblem> wanted_problems(const std::vector<std::string>& what, const std::vector<rapt_op>& ops,
                                           const std::string& record) {
  Problems problems;
  for (const std::string& name : what) {
    if (is_bench_table(name)) {
      for (const BenchCase& c : bench_table(name))
        for (const rapt_op op : ops)
          if (op == RAPT_FORWARD || !c.forward_only) problems.add(op, c.problem);
    } else if (name.find(' ') == std::string::npos) {
      throw InputError(
          fmt::format("'{}' is neither a table ({}) nor a problem text", name, fmt::join(bench_table_names(), ", ")));
    } else {
      for (const rapt_op op : ops) problems.add(op, name);
    }
  }
  if (!record.empty()) add_record(problems, record);
  return problems.take();
}

}  // namespace rapt::cli
