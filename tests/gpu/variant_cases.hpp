// The problems that every compiled GPU kernel runs on the simulator.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "support/cases.hpp"
#include "variant.hpp"

namespace test {

bool general(const Problem& problem);  // true if plain kernels do not take the problem

// Small problems for the kernels of a type and a head-dim tile; `general` adds problems that only general kernels take.
std::vector<Case> variant_cases(const std::string& dtype, int64_t tile, bool general);

// Small problems with dropout, for kernels that take it and no other option of general kernels.
std::vector<Case> dropout_cases(const std::string& dtype, int64_t tile);

// Problems that ask for equal bits, for kernels that add up dq in memory.
std::vector<Case> ordered_cases(const std::string& dtype, int64_t tile);

// Problems whose keys are in pages of 128 rows or a multiple of them.
std::vector<Case> cached_cases(const std::string& dtype, int64_t tile);

// Logits so large that rounding their maximum is worth a factor of 2^100 (huge.hpp), for kernels that meet the rule
// there.
std::vector<Case> huge_cases(const Variant& v, int64_t tile);

// Problems that have all options of such kernels at once: one of them, or two of split kernels that are general.
std::vector<Case> all_options_cases(const std::string& dtype, int64_t tile, bool general, bool split);

// Their names: causal, window, sink and so on.
std::set<std::string> options_of(const Problem& problem);

// Few queries and long KV, cut into splits; caches.
std::vector<Case> split_cases(const std::string& dtype, int64_t tile, bool general);

// More options, and lengths around the edges of every block.
std::vector<Case> long_variant_cases(const std::string& dtype, int64_t tile, bool general);

// The same problem, changed so that Triton's kernels take it: head_dim and head_dim_v of the tile, no sink, dropout or
// scale <= 0, and aligned rows.
Case for_triton(const Case& c, int64_t tile);

// The same for kernels by tensor maps: there are keys, head dims are multiples of 8, rows are aligned, no scale is <=
// 0. In the backward pass there are queries and no sink; packed sequences and dropout only where dq's sums are in
// memory.
Case for_hopper(const Case& c, const Variant& v);

// The same for a kernel whose tile must hold all keys: there are no more of them, and there is no sink.
Case for_short(const Case& c, const Variant& v);

// The problem as the kernel takes it.
Case taken_by(const Case& c, const Variant& v);

}  // namespace test
