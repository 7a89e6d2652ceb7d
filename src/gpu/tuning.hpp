// Tuning tables: which variant runs a problem if several can. One row per line, the first that matches fires; tuning/
// has the tables and explains their words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operations.hpp"
#include "problem/problem.hpp"

namespace rapt::gpu {

enum class MaskKind : uint8_t { none, causal, window };

struct TuningRow {
  Stage stage = Stage::forward;        // whose kernels it chooses
  uint32_t dtypes = ~0u, masks = ~0u;  // bit sets by value; all: no condition
  std::string features;                // "": any
  int64_t head_dim_least = 0, head_dim_most = kMaxHeadDim;
  double rows_least = 0, rows_below = 0;      // KernelRequirements::rows; rows_below 0: no limit
  double groups_least = 0, groups_below = 0;  // workgroups per compute unit; groups_below 0: no limit
  std::string use;                            // "largest", "smallest", "k64w8", "d256.k64w8"; of decode: "forward"
  std::string by;                             // how the row was obtained
  std::string where;                          // "tuning/gfx942 line 12"
  std::string text;                           // the row itself, its spaces made one

  bool unconditional() const;
};

struct Tuning {
  std::vector<TuningRow> rows;

  // `name` is the table's name in errors and explanations. In a complete table the last row of each stage has no
  // conditions, or the stage has no rows; a user's table need not, because the archive's rows follow. Throws Error with
  // the line and what is wrong.
  enum class Extent { whole, part };
  static Tuning parse(std::string_view text, const std::string& name, Extent extent);

  const TuningRow* last_of(Stage stage) const;  // null if it has none

  // Rows that RAPT_TUNING adds before the archive's: from a file, or a folder with a file named after the architecture.
  static Tuning of_user(const std::string& arch);
};

}  // namespace rapt::gpu
