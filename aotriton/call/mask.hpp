// The keys that a query attends: AOTriton's windows as Rapt's.
#pragma once

#include "aotriton/call/call.hpp"
#include "rapt/rapt.h"

namespace rapt::aot {

struct Mask {
  int32_t causal = RAPT_NOT_CAUSAL;
  int64_t left = -1, right = -1;  // of a rapt_window
  bool top_left = false;
  bool rows_without_keys = false;  // for sequences of these lengths, whatever a bias excludes
  bool windowed() const { return left >= 0 || right >= 0; }
};

// If `packed`, the lengths are the longest ones.
Error find_mask(const Call& call, int64_t seqlen_q, int64_t seqlen_k, bool packed, Mask& mask);

}  // namespace rapt::aot
