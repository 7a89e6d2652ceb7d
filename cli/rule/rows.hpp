// The rows of a problem's attention in float64, by the formula of docs/naming.md. Slow and plain on purpose: they
// decide how much error a backend may have, so they share nothing with any backend.
#pragma once

#include <functional>
#include <vector>

#include "cli/inputs/make.hpp"
#include "cli/rule/rule.hpp"

namespace rapt::cli {

// A weight below half of float32's least number is exactly 0: e^-104 is below 2^-150.
inline constexpr double kNoWeight = -104;

// The attended keys of one row and their final logits.
struct Row {
  int64_t b, h, i;
  int64_t index;  // in lse
  std::vector<int64_t> keys;
  // A product is scaled and capped, with the cap's slope; its logit has bias and ALiBi too.
  std::vector<double> products, slopes, logits;
  double sink, top;  // -inf if there is none

  double lse() const;
};

// The largest magnitude among the row's finite logits. Where the weight is exactly 0, what was added to the product
// does not count.
double largest_logit(const Row& row);

// Calls `body` with each row, but for rows that have a logit of NaN or +inf: no result that depends on their weights is
// finite.
void each_row(const rapt_problem& p, const MadeTensors& t, const std::function<void(const Row&)>& body);

// Where a row's key and its head are in k, counted in rows of one head.
int64_t key_place(const rapt_problem& p, const MadeTensors& t, const Row& row, int64_t key);

// Cancelled of these tensors, which the function has copies of. dout is null if no gradient is measured.
std::function<Cancelled()> cancellation(const rapt_problem& p, const MadeTensors& t, const Array* dout,
                                        const std::vector<bool>& vague_rows);

}  // namespace rapt::cli
