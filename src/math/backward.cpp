// Gradients of forward(), from its out and lse (Dao et al., "FlashAttention", NeurIPS 2022, appendix B.4).
//
//   P = exp(logits - lse), dP = dout v, Delta = rowsum(dout * out), dS = P (dP - Delta)
//
// One item sums what it writes in a fixed order, so results do not depend on the executor.
#include <algorithm>

#include "base/parallel.hpp"
#include "math/math.hpp"
#include "math/row.hpp"
#include "math/scratch.hpp"

namespace rapt::math {

namespace {

template <class Acc>
struct BackwardPieces {
  Acc *q, *dout;              // the row's, [head_dim] and [head_dim_v]
  Acc *p, *ds, *cap_slope;    // [seqlen_k]
  Acc *dq, *dk, *dv, *dbias;  // [head_dim], [seqlen_k, head_dim], [seqlen_k, head_dim_v], [seqlen_k]
  BackwardPieces(const BackwardCall& call, Scratch& scratch)
      : q(scratch.take<Acc>(call.head_dim)),
        dout(scratch.take<Acc>(call.head_dim_v)),
        p(scratch.take<Acc>(call.seqlen_k)),
        ds(scratch.take<Acc>(call.seqlen_k)),
        cap_slope(scratch.take<Acc>(caps_logits(call) ? call.seqlen_k : 0)),
        dq(scratch.take<Acc>(call.head_dim)),
        dk(scratch.take<Acc>(call.dk ? call.seqlen_k * call.head_dim : 0)),
        dv(scratch.take<Acc>(call.dv ? call.seqlen_k * call.head_dim_v : 0)),
        dbias(scratch.take<Acc>(call.dbias ? call.dbias.shape[3] : 0)) {}
};

// Fills piece.p with the probabilities after dropout and piece.ds with the gradient of the final logits, both 0 where
// a key is excluded. Returns false if the row attends to nothing, or if a sink of +Inf leaves its keys no weight.
template <class T, class Acc>
bool row_gradients(const BackwardCall& call, const Row& row, const BackwardPieces<Acc>& piece) {
  const Acc lse = *row.lse<Acc>(call.lse);
  if (std::isinf(lse) || row.keys() == 0) return false;
  load_row(row.at_query<T>(call.q), call.head_dim, piece.q);
  load_row(row.at_query<T>(call.dout), call.head_dim_v, piece.dout);
  const Acc delta = dot(piece.dout, row.at_query<T>(call.out), call.head_dim_v);
  logits<T>(row, piece.q, piece.p, caps_logits(call) ? piece.cap_slope : nullptr);
  RowDropout<Acc> dropout(row);
  for (int64_t j = row.begin; j < row.end; ++j) {
    Acc& p = piece.p[j - row.begin];
    Acc& ds = piece.ds[j - row.begin];
    if (p == kMinusInfinity<Acc>) {
      p = ds = 0;
      continue;
    }
    const Acc factor = dropout.factor(j), probability = std::exp(p - lse);
    ds = probability * (factor * dot(piece.dout, row.value<T>(j), call.head_dim_v) - delta);
    p = probability * factor;
  }
  return true;
}

// Adds one row's contribution to dk and dv, and writes its dq.
template <class T, class Acc>
void add_row(const BackwardCall& call, const Row& row, const BackwardPieces<Acc>& piece) {
  std::fill_n(piece.dq, call.head_dim, Acc(0));
  if (row_gradients<T>(call, row, piece)) {
    for (int64_t j = row.begin; j < row.end; ++j) {
      const Acc p = piece.p[j - row.begin], ds = piece.ds[j - row.begin];
      if (p == 0 && ds == 0) continue;  // excluded: the key is not read
      const Acc slope = caps_logits(call) ? piece.cap_slope[j - row.begin] : Acc(1);
      const Acc rounded_p = widen<Acc>(round_to<T>(p)), rounded_ds = widen<Acc>(round_to<T>(ds * slope));
      if (call.dv) add_scaled(rounded_p, piece.dout, call.head_dim_v, piece.dv + j * call.head_dim_v);
      if (call.dk) add_scaled(rounded_ds, piece.q, call.head_dim, piece.dk + j * call.head_dim);
      if (call.dq) add_scaled(rounded_ds, row.key<T>(j), call.head_dim, piece.dq);
    }
  }
  if (!call.dq) return;
  scale_row(static_cast<Acc>(call.scale), call.head_dim, piece.dq);
  store_row(piece.dq, call.head_dim, row.at_query<T>(call.dq));
}

// One item is a sequence and a head of k: the query heads that share it add to the same dk and dv, in order.
template <class T, class Acc>
void backward_head(const BackwardCall& call, int64_t item, const BackwardPieces<Acc>& piece) {
  const Sequence s = sequence(call, item / call.heads_k);
  const int64_t head_k = item % call.heads_k;
  if (call.dk) std::fill_n(piece.dk, s.seqlen_k * call.head_dim, Acc(0));
  if (call.dv) std::fill_n(piece.dv, s.seqlen_k * call.head_dim_v, Acc(0));
  for (int64_t h = head_k * call.group(); h < (head_k + 1) * call.group(); ++h)
    for (int64_t i = 0; i < s.seqlen_q; ++i) add_row<T>(call, Row(call, s, h, i), piece);

  for (int64_t j = 0; j < s.seqlen_k; ++j) {
    if (call.dk) {
      Acc* dk = piece.dk + j * call.head_dim;
      scale_row(static_cast<Acc>(call.scale), call.head_dim, dk);
      store_row(dk, call.head_dim, reinterpret_cast<T*>(call.dk.data) + key_offset(call, call.dk, s, j, head_k));
    }
    if (call.dv)
      store_row(piece.dv + j * call.head_dim_v, call.head_dim_v,
                reinterpret_cast<T*>(call.dv.data) + key_offset(call, call.dv, s, j, head_k));
  }
}

// One item is a row of dbias, [shape[3]]: it visits every row of attention that the row of bias was added to.
template <class T, class Acc>
void bias_row(const BackwardCall& call, int64_t item, const BackwardPieces<Acc>& piece) {
  const ScoreView& dbias = call.dbias;
  const int64_t* shape = dbias.shape;
  const int64_t q = item % shape[2], h = item / shape[2] % shape[1], b = item / shape[2] / shape[1];
  const auto first = [&](int dim, int64_t index) { return shape[dim] == 1 ? 0 : index; };
  const auto last = [&](int dim, int64_t index, int64_t size) { return shape[dim] == 1 ? size : index + 1; };
  std::fill_n(piece.dbias, shape[3], Acc(0));
  for (int64_t batch = first(0, b); batch < last(0, b, call.batch); ++batch) {
    const Sequence s = sequence(call, batch);
    for (int64_t head = first(1, h); head < last(1, h, call.heads_q); ++head)
      for (int64_t i = first(2, q); i < std::min(last(2, q, s.seqlen_q), s.seqlen_q); ++i) {
        const Row row(call, s, head, i);
        if (!row_gradients<T>(call, row, piece)) continue;
        for (int64_t j = row.begin; j < row.end; ++j) piece.dbias[first(3, j)] += piece.ds[j - row.begin];
      }
  }
  for (int64_t j = 0; j < shape[3]; ++j)
    store(dbias.data, dbias.dtype, b * dbias.batch + h * dbias.head + q * dbias.query + j * dbias.key, piece.dbias[j]);
}

// dsink = -sum over rows of exp(sink - lse) * Delta: the sink is a logit whose value is zero.
template <class T, class Acc>
void sink_head(const BackwardCall& call, int64_t head, const BackwardPieces<Acc>& piece) {
  const Acc sink = load<Acc>(call.sink.data, call.sink.dtype, head * call.sink.head);
  Acc total = 0;
  for (int64_t b = 0; b < call.batch; ++b) {
    const Sequence s = sequence(call, b);
    Acc of_sequence = 0;
    for (int64_t i = 0; i < s.seqlen_q && sink != kMinusInfinity<Acc>; ++i) {
      const Row row(call, s, head, i);
      load_row(row.at_query<T>(call.dout), call.head_dim_v, piece.dout);
      const Acc delta = dot(piece.dout, row.at_query<T>(call.out), call.head_dim_v);
      const Acc lse = *row.lse<Acc>(call.lse);
      of_sequence += (sink == lse ? 1 : std::exp(sink - lse)) * delta;  // both may be infinite
    }
    total += of_sequence;
  }
  store(call.dsink.data, call.dsink.dtype, head * call.dsink.head, -total);
}

template <class T>
void backward_as(const BackwardCall& call, const rapt_executor& executor, char* workspace) {
  using Pieces = BackwardPieces<Accumulator<T>>;
  const auto each = [&](int64_t items, auto body) {
    parallel_items(executor, items,
                   [&](int64_t task, int64_t item) { body(call, item, task_pieces<Pieces>(call, workspace, task)); });
  };
  if (call.dq || call.dk || call.dv) each(call.batch * call.heads_k, backward_head<T, Accumulator<T>>);
  if (call.dbias) each(call.dbias.shape[0] * call.dbias.shape[1] * call.dbias.shape[2], bias_row<T, Accumulator<T>>);
  if (call.dsink) each(call.heads_q, sink_head<T, Accumulator<T>>);
}

}  // namespace

size_t workspace_bytes(const BackwardCall& call, int32_t concurrency) {
  const size_t bytes =
      call.dtype == DType::fp64 ? task_bytes<BackwardPieces<double>>(call) : task_bytes<BackwardPieces<float>>(call);
  return bytes * static_cast<size_t>(std::max(concurrency, 1));
}

void backward(const BackwardCall& call, const rapt_executor& executor, char* workspace) {
  with_type(call.dtype, [&]<class T>(std::type_identity<T>) { backward_as<T>(call, executor, workspace); });
}

}  // namespace rapt::math
