// The rows of a problem's attention in float64, by the formula of docs/naming.md. Slow and plain on purpose: they
// decide how much error a backend may have, so they share nothing with any backend.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "cli/inputs/make.hpp"
#include "cli/rule/rule.hpp"

namespace rapt::cli {

// The attended keys of one row and their final logits.
struct Row {
  int64_t b, h, i;
  int64_t index;  // in lse
  std::vector<int64_t> keys;
  std::vector<double> slopes, logits;  // slopes are softcap's
  double sink, top;                    // -inf if there is none

  double log_sum() const;  // of exp(logit - top): beside a large top, the sum of both is not exact even in float64
  double lse() const { return top + log_sum(); }
};

// Calls `body` with each row, but for rows that have a logit of NaN or +inf: no result that depends on their weights is
// finite.
void each_row(const rapt_problem& p, const MadeTensors& t, const std::function<void(const Row&)>& body);

int64_t row_count(const rapt_problem& p);  // of all heads

// Where a row's query and its head are in q, a key and its head in k, counted in rows of one head; and their bias.
int64_t query_place(const rapt_problem& p, const Row& row);
int64_t key_place(const rapt_problem& p, const MadeTensors& t, const Row& row, int64_t key);
size_t bias_place(const MadeTensors& t, const Row& row, int64_t key);

double dot(std::span<const double> a, std::span<const double> b);

// Without its sign, as no error depends on it.
double scale_of(const rapt_problem& p);

// A weight is exactly 0 below e^-106, a quarter of what rounds to float32's least number.
inline constexpr double kNoWeight = -106;
// A float32 sum of products over head_dim may be off by this part of the magnitudes of its terms, and one over keys or
// rows by that part.
inline constexpr double kProductLoses = 8 * 0x1p-24, kSumLoses = 4 * 0x1p-24;
// The error of a logit, which is x more than lse. `terms` are the magnitudes of what is added up in its product; slope
// is the cap's.
inline double logit_error(double lse, double x, double slope, double terms) {
  return kSumLoses * (1 + std::fabs(lse) + std::fabs(x)) + slope * kProductLoses * terms;
}

}  // namespace rapt::cli
