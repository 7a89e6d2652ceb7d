// Random problems with random values, for attack.cpp. Case n depends on n alone.
#pragma once

#include <string>

#include "support/inputs.hpp"

namespace test {

struct AttackCase {
  uint64_t number;
  std::string problem, values;  // what was done to the values
  Inputs inputs;
};

// Inf, NaN, denormal, huge and tiny numbers among ordinary ones, where every device's kernels have a defined result.
AttackCase make_case(uint64_t number);

// Numbers of any size that the type has: whole tensors of them, and Inf and NaN in any tensor.
AttackCase make_extreme_case(uint64_t number);

}  // namespace test
