// A row of q that gives two keys tiny weights, and has an Inf in dout.
#pragma once

#include <cmath>
#include <limits>

#include "support/inputs.hpp"

namespace test {

// The gradients of the row's logits are infinite, and dk with them, however small a weight is: here e^-84, which no
// factor for fp16 may make 0, and e^-110, which float32 does not have. Shapes are [1, 40, 2 or 1, head_dim].
inline void set_small_weights(Inputs& in) {
  const int64_t dim = in.k.shape().back(), row = 17 * 2 * dim;
  in.q.set(row + 3, 8 * std::sqrt(static_cast<double>(dim)));
  in.dout.set(row + 1, std::numeric_limits<double>::infinity());
  for (int64_t key = 0; key < 40; ++key) {
    const double logit = key == 5 ? -80 : key == 6 ? -106 : 0;
    in.k.set(key * dim + 3, logit / 8);
    in.v.set(key * dim + 1, logit == 0 ? 1 : -1);
  }
}

}  // namespace test
