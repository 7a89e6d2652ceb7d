// Numbers of any size in the tensors of a problem.
#pragma once

#include <ostream>

#include "attack/dice.hpp"
#include "support/inputs.hpp"

namespace test {

// Changes about half of the tensors, and writes what was done to `done`.
void make_extreme(Dice& dice, Inputs& inputs, std::ostream& done);

// True if float32 itself cannot compute the problem: the terms of a sum in it, whatever their signs, exceed 1.6e38,
// half of the largest number.
bool exceeds_float32(const Inputs& inputs);

}  // namespace test
