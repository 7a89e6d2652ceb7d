// Tuning tables: which pass runs a problem if several can. One row per line, the first that matches fires; tuning/ has
// the tables and explains their words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/needs.hpp"

namespace rapt::gpu {

// The passes: lists of kernels that belong together. choose.cpp says which kernels each has.
enum class PassKind : uint8_t { forward, split, apart, fused, alone };
inline constexpr std::string_view kPassNames[] = {"forward", "split", "apart", "fused", "alone"};
constexpr std::string_view name_of(PassKind kind) { return kPassNames[static_cast<size_t>(kind)]; }
constexpr rapt_op direction_of(PassKind kind) { return kind <= PassKind::split ? RAPT_FORWARD : RAPT_BACKWARD; }

// A condition on a number: least <= number < below.
struct TuningRange {
  double least = 0, below = 0;  // below 0: no limit

  bool holds(double number) const { return number >= least && (below == 0 || number < below); }
};

// The kernel or pass that a row names: a kernel by its whole name, which stands for the pass that it leads, or a pass
// and a shape.
struct TuningUse {
  std::string kernel;  // "backward_dkv.d128.bf16.plain.k32w4"; "" if the row names a pass
  PassKind pass = PassKind::forward;
  std::optional<int32_t> tile;    // of the named pass: its largest head dim
  std::string shape;              // "largest", "smallest", "k64w8"
  std::optional<uint32_t> crc32;  // of the kernel's code when the row was made
  std::string stale;              // why the word says nothing any more
};

struct TuningRow {
  rapt_op op = RAPT_FORWARD;
  uint32_t dtypes = ~0u, masks = ~0u;  // bit sets by value; all: no condition
  std::string features;                // "plain", "general", "": any
  std::optional<bool> deterministic;   // whether equal bits are asked for
  std::optional<bool> cache;           // whether K and V are a KV cache
  std::optional<bool> packed;          // whether sequences are packed
  int64_t head_dim_least = 0, head_dim_most = kMaxHeadDim;
  TuningRange rows, group_rows;  // queries of a head; of all heads that share a head of k
  TuningRange seqlen_k;
  TuningRange unit_rows;  // queries of all heads and sequences, for each compute unit
  TuningRange groups;     // workgroups of the pass's leading kernel, for each compute unit
  TuningUse use;
  TuningUse against;  // the kernel that a measured row's kernel was compared with; empty if the row does not say
  std::string by;     // how the row was obtained
  std::string where;  // "tuning/gfx942 line 12"
  std::string text;   // the row itself, its spaces made one
  std::string stale;  // why it must be passed over: a kernel that it names has changed; "" if it holds

  // All conditions but the one on groups.
  bool holds(const Needs& needs, int32_t compute_units) const;
};

struct Tuning {
  std::vector<TuningRow> rows;

  // `name` is the table's name in errors and explanations. Throws Error with the line and what is wrong. A row of an
  // earlier version, which named a stage, is stale.
  static Tuning parse(std::string_view text, const std::string& name);

  // The table that a device uses: the user's rows, the archive's rows, and default rows for all other problems.
  static Tuning of(const Archive& archive, const std::string& gpu);

  // The user's rows, which come before the archive's. RAPT_TUNING names a file, or a folder with a file named after the
  // GPU's architecture. Next comes rapt/tuning/<arch> in the user's folder of settings (XDG_CONFIG_HOME, or else
  // ~/.config). With RAPT_TUNING=none there are no such rows.
  static Tuning of_user(const std::string& arch);

  void add(Tuning more);

  // Sets `stale` of each row whose checksum is no longer its kernel's.
  void compare_checksums(std::span<const Variant> kernels);

  // The stale rows before `fired` that would have matched: "; tuning/gfx942 line 3 was passed over: ...".
  std::string passed_over(const TuningRow& fired, const Needs& needs, int32_t compute_units) const;
};

}  // namespace rapt::gpu
