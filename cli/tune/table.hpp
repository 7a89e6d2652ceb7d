// The table that `rapt tune` writes: tuning/README.md has the grammar of its rows. What was tried is a grid of cells,
// each a comment in the table; its rows are made from them, one for neighbours with one answer. So every run adds to
// it.
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
  double below() const;  // of the last 0, as in rows
  bool operator==(const CellSpan&) const = default;
};
CellSpan cell_of(double number);

struct TuneRow {
  std::string direction;  // "forward", "backward"
  std::string dtype, mask;
  std::string features;       // "": both
  std::string cache;          // "yes", "no", or "" in rows of backward
  std::string deterministic;  // "yes", "no", or "" where it changes nothing
  int head_dim_least = 1, head_dim_most = 0;
  std::optional<CellSpan> group_rows;  // of a forward row
  CellSpan seqlen_k, unit_rows;
  std::string use;      // NAME:CRC32; "": nothing was faster than the default
  std::string by;       // "measured", "simulated"
  Interval gain;        // the default's time / that of `use`, or of the fastest other
  int rounds = 0;       // whose median it is
  std::string against;  // the default, as NAME:CRC32
  std::string among;    // of a cell: how many kernels were tried, with a checksum of their names and codes

  std::string text() const;
  static std::optional<TuneRow> parse(std::string_view line);  // what text() wrote
  bool same_cell(const TuneRow& other) const;                  // direction and conditions
};

class TuneTable {
 public:
  // What `path` has; empty if there is no such file. Throws InputError if it is no table, or none can be written there.
  static TuneTable read(const std::string& path);
  static TuneTable parse(std::string_view text);

  const TuneRow* find(const TuneRow& cell) const;  // null if it was not tried
  void put(const TuneRow& cell);                   // in place of the one of the same cell
  // A line about where and when, which replaces the one that begins with the same `name`.
  void note(const std::string& name, const std::string& rest);

  size_t size() const { return cells_.size(); }  // in cells
  std::string text() const;

 private:
  std::vector<std::string> kept_;  // lines that people wrote, which come first and so win
  std::vector<std::string> notes_;
  std::vector<TuneRow> cells_;
};

// Changes the file under a lock of its folder: reads it again, so that of two writers neither loses its rows, and
// replaces it whole.
void update_table(const std::string& given, const std::function<void(TuneTable&)>& change);

}  // namespace rapt::cli
