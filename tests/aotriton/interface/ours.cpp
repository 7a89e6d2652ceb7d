// Prints sizes and offsets of aotriton/abi, as probe.cpp does for AOTriton's headers.
#include <cstddef>
#include <cstdio>

#include "aotriton/abi/params.hpp"

namespace {

using namespace aotriton;
using namespace aotriton::v3::flash;

#define FIELD(name, theirs)                            \
  if constexpr (requires(const Params& p) { p.name; }) \
  std::printf("field %s %s %zu\n", params, #theirs, offsetof(Params, name))

template <class Params>
void print_fields(const char* params) {
  std::printf("size %s %zu\n", params, sizeof(Params));
  FIELD(q, Q);
  FIELD(k, K);
  FIELD(v, V);
  FIELD(bias, B);
  FIELD(alibi, A);
  FIELD(scale, Sm_scale);
  FIELD(lse, L);
  FIELD(out, Out);
  FIELD(dout, DO);
  FIELD(dk, DK);
  FIELD(dv, DV);
  FIELD(dq, DQ);
  FIELD(dbias, DB);
  FIELD(delta, D);
  FIELD(cu_seqlens_q, cu_seqlens_q);
  FIELD(cu_seqlens_k, cu_seqlens_k);
  FIELD(lengths_q, seqinfo_q0);
  FIELD(lengths_k, seqinfo_k0);
  FIELD(max_seqlen_q, Max_seqlen_q);
  FIELD(max_seqlen_k, Max_seqlen_k);
  FIELD(starts_q, seq_strides_q);
  FIELD(starts_k, seq_strides_k);
  FIELD(positions_q, seqinfo_q1);
  FIELD(positions_k, seqinfo_k1);
  FIELD(dropout, dropout_p);
  FIELD(seed, philox_seed_ptr);
  FIELD(offset1, philox_offset1);
  FIELD(offset2, philox_offset2);
  FIELD(seed_output, philox_seed_output);
  FIELD(offset_output, philox_offset_output);
  FIELD(encoded_softmax, encoded_softmax);
  FIELD(counter, persistent_atomic_counter);
  FIELD(causal, causal_type);
  FIELD(varlen, varlen_type);
  FIELD(window_left, window_left);
  FIELD(window_right, window_right);
  FIELD(dq_sum, DQ_ACC);
  FIELD(varlen_bits, varlen_bits);
}

}  // namespace

int main() {
  std::printf("size TensorView<0> %zu\nsize TensorView<1> %zu\nsize TensorView<2> %zu\nsize TensorView<4> %zu\n",
              sizeof(T0), sizeof(T1), sizeof(T2), sizeof(T4));
  std::printf("size Stream %zu\n", sizeof(Stream));
  print_fields<ForwardParams1>("attn_fwd1");
  print_fields<ForwardParams3>("attn_fwd3");
  print_fields<ForwardParams4>("attn_fwd4");
  print_fields<BackwardParams1>("attn_bwd1");
  print_fields<BackwardParams3>("attn_bwd3");
  print_fields<BackwardParams6>("attn_bwd6");
  print_fields<BackwardParams7>("attn_bwd7");
}
