// out = dropout(softmax(logits)) v, one row at a time; lse = log of the softmax's denominator.
#include <algorithm>

#include "base/parallel.hpp"
#include "math/math.hpp"
#include "math/row.hpp"
#include "math/scratch.hpp"

namespace rapt::math {

namespace {

template <class Acc>
struct ForwardPieces {
  Acc *q, *p, *out;
  ForwardPieces(const ForwardCall& call, Scratch& scratch)
      : q(scratch.take<Acc>(call.head_dim)),
        p(scratch.take<Acc>(call.seqlen_k)),
        out(scratch.take<Acc>(call.head_dim_v)) {}
};

// Turns logits into exp(logit - largest) in place and returns {largest, sum}; the sink is one more logit. Excluded keys
// become 0 even beside a sink of NaN.
template <class Acc>
std::pair<Acc, Acc> exponentials(Acc* values, int64_t n, Acc sink) {
  Acc largest = sink;
  for (int64_t j = 0; j < n; ++j) largest = std::max(largest, values[j]);
  if (largest == kMinusInfinity<Acc>) largest = 0;  // nothing to attend: every term becomes 0 (or stays NaN)
  for (int64_t j = 0; j < n; ++j) values[j] = values[j] == kMinusInfinity<Acc> ? Acc(0) : std::exp(values[j] - largest);
  return {largest, sum(values, n) + (sink == largest ? 1 : std::exp(sink - largest))};  // it may be infinite
}

template <class T, class Acc>
void forward_row(const ForwardCall& call, const Row& row, const ForwardPieces<Acc>& piece) {
  const Acc sink =
      call.sink ? load<Acc>(call.sink.data, call.sink.dtype, row.head * call.sink.head) : kMinusInfinity<Acc>;
  load_row(row.at_query<T>(call.q), call.head_dim, piece.q);
  logits<T>(row, piece.q, piece.p);
  const auto [largest, total] = exponentials(piece.p, row.keys(), sink);

  std::fill_n(piece.out, call.head_dim_v, Acc(0));
  RowDropout<Acc> dropout(row);
  for (int64_t j = row.begin; j < row.end; ++j) {
    const Acc e = piece.p[j - row.begin];
    if (e == 0) continue;  // excluded, or too small to count: the value is not read
    const T p = round_to<T>(e / total * dropout.factor(j));
    add_scaled(widen<Acc>(p), row.value<T>(j), call.head_dim_v, piece.out);
  }
  store_row(piece.out, call.head_dim_v, row.at_query<T>(call.out));
  if (call.lse) *row.lse<Acc>(call.lse) = total == 0 ? kMinusInfinity<Acc> : largest + std::log(total);
}

template <class T>
void forward_as(const ForwardCall& call, const rapt_executor& executor, char* workspace) {
  using Acc = Accumulator<T>;
  parallel_items(executor, call.batch * call.heads_q, [&](int64_t task, int64_t item) {
    const auto piece = task_pieces<ForwardPieces<Acc>>(call, workspace, task);
    const Sequence s = sequence(call, item / call.heads_q);
    for (int64_t i = 0; i < s.seqlen_q; ++i) forward_row<T>(call, Row(call, s, item % call.heads_q, i), piece);
  });
}

}  // namespace

size_t workspace_bytes(const ForwardCall& call, int32_t concurrency) {
  const size_t bytes =
      call.dtype == DType::fp64 ? task_bytes<ForwardPieces<double>>(call) : task_bytes<ForwardPieces<float>>(call);
  return bytes * static_cast<size_t>(std::max(concurrency, 1));
}

void forward(const ForwardCall& call, const rapt_executor& executor, char* workspace) {
  with_type(call.dtype, [&]<class T>(std::type_identity<T>) { forward_as<T>(call, executor, workspace); });
}

}  // namespace rapt::math
