// Tuning tables: which variant runs a problem if several can. One row per line, the first that matches fires; tuning/
// has the tables and explains their words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operations.hpp"
#include "problem/problem.hpp"

namespace rapt::gpu {

enum class MaskKind : uint8_t { none, causal, window };

// A condition on a number: least <= number < below.
struct TuningRange {
  double least = 0, below = 0;  // below 0: no limit

  bool any() const { return least == 0 && below == 0; }
  bool holds(double number) const { return number >= least && (below == 0 || number < below); }
};

// A kernel's name in a row, and optionally the checksum of its code when the row was made.
struct TuningKernel {
  std::string name;
  std::optional<uint32_t> crc32;
};

struct TuningRow {
  Stage stage = Stage::forward;        // whose kernels it chooses
  uint32_t dtypes = ~0u, masks = ~0u;  // bit sets by value; all: no condition
  std::string features;                // "": any
  int64_t head_dim_least = 0, head_dim_most = kMaxHeadDim;
  TuningRange rows, seqlen_k,
      unit_rows;         // KernelRequirements has the first two; unit_rows: its query_rows for each unit
  TuningRange groups;    // workgroups of the kernel that the row names, for each compute unit
  TuningKernel use;      // "largest", "smallest", "k64w8", "d256.k64w8", a whole name; or what leaves()
  TuningKernel against;  // what a measured row's kernel was faster than; "" if the row does not say
  std::string by;        // how the row was obtained
  std::string where;     // "tuning/gfx942 line 12"
  std::string text;      // the row itself, its spaces made one
  std::string stale;     // why it must be passed over: a kernel that it names has changed; "" if it holds

  bool unconditional() const;
  // Names no kernel of its stage: other stages compute the pass.
  bool leaves() const;
  // Of backward_fused: leaves only where this kernel of backward_dq can run; "" if it names none.
  std::string_view leaves_to() const;
};

struct Variant;

struct Tuning {
  std::vector<TuningRow> rows;

  // `name` is the table's name in errors and explanations. In a complete table the last row of each stage has no
  // conditions, or the stage has no rows; a user's table need not, because the archive's rows follow. Throws Error with
  // the line and what is wrong.
  enum class Extent { whole, part };
  static Tuning parse(std::string_view text, const std::string& name, Extent extent);

  const TuningRow* last_of(Stage stage) const;  // null if it has none

  // Sets `stale` of each row that names a kernel with a checksum that no longer is its own.
  void compare_checksums(std::span<const Variant> variants);

  // Rows before the archive's: those of RAPT_TUNING, a file or a folder with a file named after the architecture; then
  // those of rapt/tuning/<arch> in the user's folder of settings (XDG_CONFIG_HOME, or else ~/.config). With
  // RAPT_TUNING=none there are none.
  static Tuning of_user(const std::string& arch);
};

}  // namespace rapt::gpu
