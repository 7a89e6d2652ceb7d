// Packed rows in two other forms of AOTriton's callers: padded, [batch, longest, ...], and strided, where an array says
// at which row each sequence begins. With used keys only k's rows are strided.
#pragma once

#include "support/inputs.hpp"

namespace test {

enum class Lengths { packed, padded, strided, used_keys };

int64_t longest(const Problem& problem, bool of_q);

// The row at which each sequence begins, then the number of all rows.
std::vector<int64_t> starts(const Problem& problem, bool of_q, Lengths lengths);

// The rows of `packed` in another form, NaN between them; and back.
Tensor spread(const Tensor& packed, const Problem& problem, bool of_q, Lengths lengths);
void gather(const Tensor& spread, const Problem& problem, bool of_q, Lengths lengths, Tensor& packed);

}  // namespace test
