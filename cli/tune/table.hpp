// The table that `rapt tune` writes: tuning/README.md has the grammar of its rows. What was tried is a grid of cells,
// and each cell is a comment in the table. Rows are made from the cells: neighbours with the same answer share a row.
// So every run adds to the table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tune/interval.hpp"

namespace rapt::cli {

// Cells first..last of a number's axis. Cell k is around 2^k, from 0.75 x 2^k to 1.5 x 2^k; the first begins at 0, the
// last has no end.
inline constexpr int kLastCell = 29;  // numbers of tables go up to 1e9
struct CellSpan {
  int first = 0, last = 0;

  double least() const;
  double below() const;  // 0 for the last, as in rows
  bool operator==(const CellSpan&) const = default;
};
CellSpan cell_of(double number);

struct TuneRow {
  std::string stage;  // "forward"
  std::string dtype, mask;
  std::string features;  // "": both
  int head_dim_least = 1, head_dim_most = 0;
  std::optional<CellSpan> rows;  // not in rows of a backward pass
  CellSpan seqlen_k, unit_rows;
  std::string use;      // NAME:CRC32, "forward", "apart"; "": nothing was faster than the default
  std::string by;       // "measured", "simulated"
  Interval gain;        // the default's time over that of `use`, or of the fastest other kernel
  int rounds = 0;       // `gain` is the median over them
  std::string against;  // the default, as NAME:CRC32
  std::string among;    // in a cell: how many kernels were tried, and a checksum of their names and codes

  std::string text() const;
  static std::optional<TuneRow> parse(std::string_view line);  // what text() wrote
  bool same_cell(const TuneRow& other) const;                  // stage and conditions
};

class TuneTable {
 public:
  // Reads the table at `path`; empty if there is no file. Throws InputError if the file is no table, or cannot be
  // written.
  static TuneTable read(const std::string& path);
  static TuneTable parse(std::string_view text);

  const TuneRow* find(const TuneRow& cell) const;  // null if it was not tried
  void put(const std::vector<TuneRow>& cells);     // replaces what is there for the same cells
  // Puts a line about where and when, in place of the line that begins with the same `name`.
  void note(const std::string& name, const std::string& rest);

  size_t size() const { return cells_.size(); }  // cells of all stages
  std::string text() const;

 private:
  std::vector<std::string> kept_;  // lines that people wrote; they come first and so win
  std::vector<std::string> notes_;
  std::vector<TuneRow> cells_;
};

// Changes the file under a lock of its folder. It reads the file again, so that two writers lose no rows, and replaces
// it whole.
void update_table(const std::string& given, const std::function<void(TuneTable&)>& change);

}  // namespace rapt::cli
