#include "cli/core/attention.hpp"

#include <algorithm>

#include "cli/inputs/dtype.hpp"

namespace rapt::cli {

namespace {

int64_t longest(const Array& cu_seqlens) {
  int64_t most = 0;
  for (int64_t b = 0; b + 1 < cu_seqlens.count(); ++b)
    most = std::max(most, static_cast<int64_t>(cu_seqlens.at(b + 1) - cu_seqlens.at(b)));
  return most;
}

}  // namespace

std::vector<int64_t> Attention::lse_shape() const {
  if (packed()) return {heads_q(), q.shape()[0]};
  return {q.shape()[0], heads_q(), q.shape()[1]};
}

rapt_dtype Attention::lse_dtype() const { return same(q.dtype(), kFp64) ? kFp64 : kFp32; }

Attention Attention::converted(rapt_dtype dtype) const {
  Attention r = *this;
  for (Array* x : {&r.q, &r.k, &r.v, &r.bias, &r.sink}) *x = x->converted(dtype);
  return r;
}

rapt::Attention Attention::view() const {
  Placement host(kHost);
  return view(host);
}

rapt::Attention Attention::view(Placement& place) const {
  rapt::Attention r = options;
  r.q = place.in(q);
  r.k = place.in(k);
  r.v = place.in(v);
  r.bias = place.in_if_present(bias);
  r.mask = place.in_if_present(mask);
  r.alibi_slopes = place.in_if_present(alibi_slopes);
  r.sink = place.in_if_present(sink);
  if (packed()) {
    r.varlen =
        Varlen{.cu_seqlens_q = place.in_if_present(cu_seqlens_q), .cu_seqlens_k = place.in_if_present(cu_seqlens_k)};
    if (on_gpu(place.device())) {  // the library does not copy them itself
      r.varlen->max_seqlen_q = longest(cu_seqlens_q);
      r.varlen->max_seqlen_k = longest(cu_seqlens_k);
      r.varlen->check_device_seqlens = true;
    }
  }
  if (block_table) r.kv_cache = KvCache{.seqused_k = place.in(seqused_k), .block_table = place.in(block_table)};
  return r;
}

}  // namespace rapt::cli
