#include "spread.hpp"

#include <algorithm>

namespace test {

namespace {

constexpr int64_t kGap = 3;  // rows before each strided sequence, and after the last

int64_t rows_of(const Problem& p, bool of_q, int64_t b) { return of_q ? p.seqlen_q(b) : p.seqlen_k(b); }

// body(index in packed, index in spread, elements) for each row.
template <class Body>
void each_row(const Tensor& packed, const Problem& p, bool of_q, Lengths lengths, const Body& body) {
  const std::vector<int64_t> at = starts(p, of_q, lengths);
  const int64_t elements = packed.shape()[0] > 0 ? packed.count() / packed.shape()[0] : 0;
  int64_t first = 0;
  for (int64_t b = 0; b < p.c.batch; ++b)
    for (int64_t i = 0; i < rows_of(p, of_q, b); ++i, ++first)
      body(first * elements, (at[static_cast<size_t>(b)] + i) * elements, elements);
}

}  // namespace

int64_t longest(const Problem& p, bool of_q) {
  int64_t most = 0;
  for (int64_t b = 0; b < p.c.batch; ++b) most = std::max(most, rows_of(p, of_q, b));
  return most;
}

std::vector<int64_t> starts(const Problem& p, bool of_q, Lengths lengths) {
  std::vector<int64_t> at;
  const int64_t gap = lengths == Lengths::strided || (lengths == Lengths::used_keys && !of_q) ? kGap : 0;
  int64_t next = gap;
  for (int64_t b = 0; b < p.c.batch; ++b) {
    at.push_back(next);
    next += lengths == Lengths::padded ? longest(p, of_q) : rows_of(p, of_q, b) + gap;
  }
  at.push_back(next);
  return at;
}

Tensor spread(const Tensor& packed, const Problem& p, bool of_q, Lengths lengths) {
  std::vector<int64_t> shape = packed.shape();
  if (lengths == Lengths::padded) {
    shape[0] = longest(p, of_q);
    shape.insert(shape.begin(), p.c.batch);
  } else {
    shape[0] = starts(p, of_q, lengths).back();
  }
  Tensor to(packed.dtype(), shape);
  each_row(packed, p, of_q, lengths, [&](int64_t from, int64_t at, int64_t elements) {
    for (int64_t n = 0; n < elements; ++n) to.set(at + n, packed.at(from + n));
  });
  return to;
}

void gather(const Tensor& from, const Problem& p, bool of_q, Lengths lengths, Tensor& packed) {
  each_row(packed, p, of_q, lengths, [&](int64_t to, int64_t at, int64_t elements) {
    for (int64_t n = 0; n < elements; ++n) packed.set(to + n, from.at(at + n));
  });
}

}  // namespace test
