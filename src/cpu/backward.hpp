#pragma once
#include "cpu/forward_tile.hpp"
#include "problem/error.hpp"
namespace rapt::cpu::RAPT_TIER {
inline size_t backward_workspace(const BackwardCall&, int32_t) { return 0; }
inline void backward(const BackwardCall&, const rapt_executor&, char*) { throw Error(RAPT_UNSUPPORTED, "being written"); }
inline const char* backward_kernel(const BackwardCall&) { return "bwd"; }
}
