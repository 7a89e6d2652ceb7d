#include "cli/core/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace rapt::cli {

namespace {

bool looks_like_a_number(const std::string& cell) {
  return !cell.empty() && (cell == "-" || (cell.find_first_not_of("0123456789.+-e%x<") == std::string::npos));
}

}  // namespace

void TextTable::print(const std::string& indent) const {
  std::vector<size_t> widths(rows_.front().size());
  std::vector<bool> right(widths.size(), rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r)
    for (size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !looks_like_a_number(rows_[r][c])) right[c] = false;
    }
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t c = 0; c < widths.size(); ++c)
      line += right[c] ? fmt::format("{:>{}}  ", row[c], widths[c]) : fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

void print_candidates(const Explanation& explanation, const std::string& indent) {
  TextTable table({"", "backend", "kernel", "why"});
  for (const Candidate& c : explanation.candidates)
    table.add({c.chosen ? "->" : "", c.backend, c.kernel.empty() ? "none" : c.kernel, c.reason});
  table.print(indent);
}

Progress::Progress(bool asked) : terminal_(isatty(STDERR_FILENO) == 1), asked_(asked) {}

void Progress::show(const std::string& line) {
  if (terminal_) fmt::print(stderr, "\r\033[K{}", line);
  else if (asked_) fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  shown_ = terminal_;
}

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace rapt::cli
