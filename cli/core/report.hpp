// Output shared by several commands.
#pragma once

#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// Rows of cells, padded to the widest of their column; numbers are right-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print(const std::string& indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

void print_candidates(const Explanation& explanation, const std::string& indent);

// One line on stderr that the next one overwrites; shown only on a terminal, or as whole lines if requested.
class Progress {
 public:
  explicit Progress(bool asked);
  ~Progress() { clear(); }
  void show(const std::string& line);
  void clear();

 private:
  bool terminal_, asked_;
  bool shown_ = false;
};

}  // namespace rapt::cli
