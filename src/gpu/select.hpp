// Which variant runs a problem: what it requires of a kernel, which variants can, and the tuning row that chooses.
#pragma once

#include <optional>
#include <span>

#include "gpu/archive.hpp"
#include "gpu/tuning.hpp"
#include "problem/problem.hpp"

namespace rapt::gpu {

// What a problem requires of a kernel: all that selection reads of it, and the key of cached plans.
struct KernelRequirements {
  DType dtype = DType::fp16;
  MaskKind mask = MaskKind::none;
  bool general = false;  // an option that only general kernels have
  int64_t head_dim = 0;  // the larger of head_dim and head_dim_v
  int64_t batch = 0, heads_q = 0, seqlen_q = 0;

  bool operator==(const KernelRequirements&) const = default;
};
struct KernelRequirementsHash {
  size_t operator()(const KernelRequirements& d) const;
};
KernelRequirements requirements_of(const Problem& problem);

// softmax_scale * log2(e), rounded once, as kernels take it.
float scale_log2(const Problem& problem);

// Why no kernel takes the problem, whatever the archive has; "" where one may.
std::string unsupported(const Problem& problem, rapt_op op);

// Why this variant cannot run it; "" where it can.
std::string refusal(const Variant& variant, const KernelRequirements& needed);

struct Selected {
  size_t index;          // of the archive's variants
  const TuningRow* row;  // that fired
};
// The smallest tile that fits, in the plain form where the call is; among several of those, what the table's first
// matching row says. Nothing where no variant can run it.
std::optional<Selected> select(std::span<const Variant> variants, const Tuning& tuning,
                               const KernelRequirements& needed, int32_t compute_units);

// Workgroups that a variant needs; one that block_q does not divide evenly ends in a part of a tile.
double workgroups(const Variant& variant, const KernelRequirements& needed);

}  // namespace rapt::gpu
