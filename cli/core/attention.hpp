// The tensors and options of one attention call, owned; view() gives them as the library's header takes them.
#pragma once

#include "cli/core/placement.hpp"
#include "cli/inputs/make.hpp"

namespace rapt::cli {

struct Attention : MadeTensors {
  rapt::Attention options;  // the numbers among the options
  uint64_t seed = 0;        // of everything random

  bool packed() const { return static_cast<bool>(cu_seqlens_q); }
  int64_t heads_q() const { return q.shape().end()[-2]; }
  int64_t heads_k() const { return k.shape().end()[-2]; }
  int64_t head_dim() const { return q.shape().back(); }
  std::vector<int64_t> lse_shape() const;
  rapt_dtype lse_dtype() const;

  Attention converted(rapt_dtype dtype) const;  // q, k, v, bias and sink; the rest is copied
  rapt::Attention view() const;                 // valid while this stays where it is
  rapt::Attention view(Placement& place) const;
};

}  // namespace rapt::cli
