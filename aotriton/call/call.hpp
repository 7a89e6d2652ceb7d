// A call of AOTriton's functions, in one form for all releases.
#pragma once

#include "aotriton/abi/params.hpp"

namespace rapt::aot {

using aotriton::Error, aotriton::T0, aotriton::T1, aotriton::T2, aotriton::T4;
using aotriton::v3::flash::Causal, aotriton::v3::flash::Varlen;
using HipStream = ihipStream_t*;

// How a release stores lse.
struct LseForm {
  bool log2 = false;    // up to 0.10; natural from 0.11 on
  bool padded = false;  // packed sequences have (batch * heads, max_seqlen_q) up to 0.11, then (heads, total_q)
};

// value + *data, where data is given.
struct DeviceNumber {
  uint64_t value = 0;
  const void* data = nullptr;
};

struct Window {
  int32_t left, right;  // query i attends keys i - left to i + right; -1: unbounded; or kTopLeft, kBottomRight
};

struct Call {
  const char* function;
  HipStream stream;
  T4 q, k, v, bias, out;  // [batch, heads, seqlen, head_dim], packed [1, heads, total, head_dim]
  T2 lse;
  LseForm lse_form;
  float scale = 1;
  Causal causal = aotriton::v3::flash::kNotCausal;
  Window window = {};  // if `causal` is kWindow
  float dropout = 0;
  DeviceNumber seed, offset;
  bool seed_in_memory = false;  // the seed must be given in device memory
  // Lengths of packed, padded or strided sequences. Padded tensors are [batch, heads, longest, head_dim]; strided
  // sequence b begins at row starts[b].
  T1 cu_seqlens_q, cu_seqlens_k;
  Varlen varlen = aotriton::v3::flash::kCompact;
  T1 starts_q, starts_k;
  uint32_t varlen_bits = 0;  // 0.14's own word for `varlen`; with kUsedKeysBits cu_seqlens_k has single lengths
  int32_t max_seqlen_q = 0, max_seqlen_k = 0;

  bool padded() const { return cu_seqlens_q && varlen == aotriton::v3::flash::kPadded; }
  bool strided() const { return cu_seqlens_q && !padded() && starts_q; }
};

struct ForwardCall : Call {
  T0 seed_output, offset_output;
  T4 encoded_softmax;
};

struct BackwardCall : Call {
  T4 dout, dq, dk, dv, dbias;
  bool deterministic = false;
};

// Results are ready when the stream's work is done. If the call fails, its results are NaN, and the first failure of
// the process is printed.
Error forward(const ForwardCall& call);
Error backward(const BackwardCall& call);

// +0.5 where dropout keeps an element of [batch, heads, seqlen_q, seqlen_k], -0.5 elsewhere.
Error encode_dropout(const char* function, const T4& signs, float dropout, const DeviceNumber& seed,
                     const DeviceNumber& offset, HipStream stream);

}  // namespace rapt::aot
