// The problems that every compiled GPU kernel runs on the simulator.
#pragma once

#include <string>
#include <vector>

#include "support/cases.hpp"

namespace test {

bool general(const Problem& problem);  // whether plain kernels do not take it

// Small problems for the kernels of a type and a head-dim tile; `general` adds those that only general kernels take.
std::vector<Case> variant_cases(const std::string& dtype, int64_t tile, bool general);

// Few queries and long KV, cut into splits; caches.
std::vector<Case> split_cases(const std::string& dtype, int64_t tile, bool general);

// More options, and lengths around the edges of every block.
std::vector<Case> long_variant_cases(const std::string& dtype, int64_t tile, bool general);

// The same problem in what kernels by Triton take: head_dim and head_dim_v of the tile, no sink,
// dropout or scale <= 0, rows that are aligned.
Case for_triton(const Case& c, int64_t tile);

}  // namespace test
