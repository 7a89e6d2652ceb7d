#include "engine/unused_rows.hpp"

#include <cstring>

namespace rapt {

namespace {

void clear(const View& view, int64_t begin, int64_t end, int64_t heads, int64_t columns, int64_t bytes) {
  if (!view) return;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t head = 0; head < heads; ++head)
      std::memset(view.data + (row * view.seq + head * view.head) * bytes, 0, static_cast<size_t>(columns * bytes));
}

void clear(const LseView& lse, int64_t begin, int64_t end, int64_t heads, int64_t bytes) {
  if (!lse) return;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = begin; row < end; ++row)
      std::memset(lse.data + (head * lse.head + row * lse.query) * bytes, 0, static_cast<size_t>(bytes));
}

void clear(const ForwardCall& call, int64_t bytes) {
  if (!call.cu_seqlens_q) return;
  const int64_t used = call.cu_seqlens_q[call.batch];
  clear(call.out, used, call.total_q, call.heads_q, call.head_dim_v, bytes);
  clear(call.lse, used, call.total_q, call.heads_q, call.dtype == DType::fp64 ? 8 : 4);
}

void clear(const BackwardCall& call, int64_t bytes) {
  if (call.cu_seqlens_q)
    clear(call.dq, call.cu_seqlens_q[call.batch], call.total_q, call.heads_q, call.head_dim, bytes);
  if (!call.cu_seqlens_k) return;
  const int64_t used = call.cu_seqlens_k[call.batch];
  clear(call.dk, used, call.total_k, call.heads_k, call.head_dim, bytes);
  clear(call.dv, used, call.total_k, call.heads_k, call.head_dim_v, bytes);
}

}  // namespace

void clear_unused_rows(AnyCall call) {
  std::visit([](const auto* c) { clear(*c, dtype_bytes(c->dtype)); }, call);
}

}  // namespace rapt
