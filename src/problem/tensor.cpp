#include "problem/tensor.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"

namespace rapt {

namespace {

struct Term {
  int64_t step;  // bytes, > 0
  int64_t count;
};

// Is there a choice of 0 <= z[i] < count[i] with sum step[i] * z[i] = target? Terms are in descending step. The sum
// that later terms can reach bounds each choice, which leaves one or two values per level for real tensors.
bool reachable(const Term* terms, int32_t n, int64_t target, int32_t& budget) {
  if (target < 0 || --budget < 0) return false;
  if (n == 0) return target == 0;
  int64_t rest = 0;
  for (int32_t i = 1; i < n; ++i) rest += terms[i].step * (terms[i].count - 1);
  const int64_t highest = std::min(target / terms[0].step, terms[0].count - 1);
  const int64_t lowest = target > rest ? (target - rest + terms[0].step - 1) / terms[0].step : 0;
  for (int64_t z = highest; z >= lowest; --z)
    if (reachable(terms + 1, n - 1, target - z * terms[0].step, budget)) return true;
  return false;
}

}  // namespace

std::string dtype_text(rapt_dtype dtype) {
  if (dtype.lanes == 1) {
    if (const auto known = dtype_from(dtype)) return std::string(dtype_name(*known));
    if (dtype.code == RAPT_BOOL) return "bool";
    if (dtype.code == RAPT_INT || dtype.code == RAPT_UINT)
      return cat(dtype.code == RAPT_INT ? "int" : "uint", static_cast<int32_t>(dtype.bits));
  }
  return cat("type code ", static_cast<int32_t>(dtype.code), " with ", static_cast<int32_t>(dtype.bits), " bits and ",
             static_cast<int32_t>(dtype.lanes), " lanes");
}

std::string shape_text(const int64_t* shape, int32_t ndim) {
  std::string out = "[";
  for (int32_t i = 0; i < ndim; ++i) out += cat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

bool overlap(const Tensor& a, const Tensor& b) {
  if (a.first == a.last || b.first == b.last || a.last <= b.first || b.last <= a.first) return false;
  // a.first + sum(step * x) = b.first + sum(step * y) with y counted from its far end, so that all signs are positive
  Term terms[2 * kMaxDims + 2] = {{1, a.bytes_per_element()}, {1, b.bytes_per_element()}};
  int32_t n = 2;
  for (const Tensor* t : {&a, &b})
    for (int32_t i = 0; i < t->ndim; ++i)
      if (t->shape[i] > 1 && t->stride[i] != 0)
        terms[n++] = {std::abs(t->stride[i]) * t->bytes_per_element(), t->shape[i]};
  std::sort(terms, terms + n, [](const Term& x, const Term& y) { return x.step > y.step; });
  int32_t merged = 0;
  for (int32_t i = 1; i < n; ++i) {
    if (terms[i].step == terms[merged].step) terms[merged].count += terms[i].count - 1;
    else terms[++merged] = terms[i];
  }
  int32_t budget = 100000;
  return reachable(terms, merged + 1, b.last - 1 - a.first, budget);
}

bool elements_distinct(const Tensor& tensor) {
  Term terms[kMaxDims];
  int32_t n = 0;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] > 1) terms[n++] = {std::abs(tensor.stride[i]), tensor.shape[i]};
  }
  std::sort(terms, terms + n, [](const Term& x, const Term& y) { return x.step < y.step; });
  int64_t extent = 1;
  for (int32_t i = 0; i < n; ++i) {
    if (terms[i].step < extent) return false;
    extent += terms[i].step * (terms[i].count - 1);
  }
  return true;
}

}  // namespace rapt
