// The rows of a problem's attention in float64, by the formula of docs/naming.md. Slow and plain on purpose: they
// decide how much error a backend may have, so they share nothing with any backend.
#pragma once

#include <functional>
#include <vector>

#include "cli/inputs/make.hpp"
#include "cli/rule/rule.hpp"

namespace rapt::cli {

// The attended keys of one row and their final logits.
struct Row {
  int64_t b, h, i;
  int64_t index;  // in lse
  std::vector<int64_t> keys;
  std::vector<double> products, logits;  // a product is scaled and capped; its logit has bias and ALiBi too
  double sink, top;                      // -inf if there is none

  double lse() const;
};

// Calls `body` with each row, but for rows that have a logit of NaN or +inf: no result that depends on their weights is
// finite.
void each_row(const rapt_problem& p, const MadeTensors& t, const std::function<void(const Row&)>& body);

// Where a row's key and its head are in k, counted in rows of one head.
int64_t key_place(const rapt_problem& p, const MadeTensors& t, const Row& row, int64_t key);

// Cancelled of these tensors, which the function has copies of.
std::function<Cancelled()> cancellation(const rapt_problem& p, const MadeTensors& t, const Array& dout,
                                        const std::vector<bool>& vague_rows);

}  // namespace rapt::cli
