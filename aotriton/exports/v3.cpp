// attn_fwd and attn_bwd of AOTriton 0.10 and later: one function for all versions of its struct.
#include "aotriton/abi/functions.hpp"
#include "aotriton/base/failure.hpp"
#include "aotriton/exports/release.hpp"

namespace aotriton::v3::flash {

namespace {

using rapt::aot::BackwardCall, rapt::aot::ForwardCall, rapt::aot::LseForm;

template <class Call, class Params>
Call common(const char* function, const Params& p, Stream stream, LseForm lse_form) {
  Call c;
  c.function = function;
  c.stream = stream.native();
  c.q = p.q;
  c.k = p.k;
  c.v = p.v;
  c.bias = p.bias;
  c.out = p.out;
  c.lse = p.lse;
  c.lse_form = lse_form;
  c.scale = p.scale;
  c.causal = p.causal;
  c.window = {p.window_left, p.window_right};
  c.dropout = p.dropout;
  c.seed = {0, p.seed.data_ptr()};
  c.offset = {p.offset2, p.offset1.data_ptr()};
  c.seed_in_memory = true;
  if constexpr (requires { p.varlen_bits; }) {
    // A caller without lengths may have left the bits unset: the constructor cannot set them, because programs for
    // 0.13, whose struct may be smaller, run with 0.14's library too.
    c.varlen_bits = p.lengths_q || p.lengths_k ? p.varlen_bits : kDenseBits;
    c.cu_seqlens_q = p.lengths_q;
    c.cu_seqlens_k = p.lengths_k;
    c.varlen = c.varlen_bits == kPaddedBits ? kPadded : kCompact;
    if (c.varlen_bits == kStridedBits) {
      c.starts_q = p.positions_q;
      c.starts_k = p.positions_k;
    } else if (c.varlen_bits == kUsedKeysBits) {
      c.starts_q = p.lengths_q;
      c.starts_k = p.positions_k;
    }
  } else {
    c.varlen = p.varlen;
    c.cu_seqlens_q = p.cu_seqlens_q;
    c.cu_seqlens_k = p.cu_seqlens_k;
  }
  if constexpr (requires { p.starts_q; }) {
    c.starts_q = p.starts_q;
    c.starts_k = p.starts_k;
  }
  c.max_seqlen_q = p.max_seqlen_q;
  c.max_seqlen_k = p.max_seqlen_k;
  return c;
}

template <class Params>
Error forward(const attn_fwd_params& params, Stream stream, LseForm lse_form) {
  const auto& p = reinterpret_cast<const Params&>(params);
  ForwardCall c = common<ForwardCall>("attn_fwd", p, stream, lse_form);
  c.seed_output = p.seed_output;
  c.offset_output = p.offset_output;
  c.encoded_softmax = p.encoded_softmax;
  return rapt::aot::forward(c);
}

template <class Params>
Error backward(const attn_bwd_params& params, Stream stream, LseForm lse_form, bool deterministic) {
  const auto& p = reinterpret_cast<const Params&>(params);
  BackwardCall c = common<BackwardCall>("attn_bwd", p, stream, lse_form);
  c.dout = p.dout;
  c.dq = p.dq;
  c.dk = p.dk;
  c.dv = p.dv;
  c.dbias = p.dbias;
  c.deterministic = deterministic;
  return rapt::aot::backward(c);
}

Error unknown_version(const char* function, int32_t version, const char* known) {
  const Error e = rapt::aot::fail(kInvalidSymbol, "params_version is %d, must be %s", version, known);
  rapt::aot::report(function, "Install a newer Rapt, or put AOTriton back with `rapt install-aotriton --undo`.");
  return e;
}

// Only the file's name tells the forward passes of 0.10 and 0.11 apart, so 0.10's backward pass asks for the name too.
// Under any other name, both have the natural lse.
LseForm form_of_10_and_11() { return {.log2 = rapt::aot::release() == 10, .padded = true}; }

}  // namespace

attn_fwd_params::attn_fwd_params() : every_version{} {}
attn_bwd_params::attn_bwd_params() : every_version{} {}

Error attn_fwd(const attn_fwd_params& params, int32_t version, Stream stream, const attn_options*) {
  switch (version) {
    case 1: return forward<ForwardParams1>(params, stream, form_of_10_and_11());
    case 3: return forward<ForwardParams3>(params, stream, {});
    case 4: return forward<ForwardParams4>(params, stream, {});
    default: return unknown_version("attn_fwd", version, "1, 3 or 4 (AOTriton 0.10 to 0.14)");
  }
}

Error attn_bwd(const attn_bwd_params& params, int32_t version, Stream stream, const attn_options* options) {
  switch (version) {
    case 1: return backward<BackwardParams1>(params, stream, form_of_10_and_11(), false);
    case 3: return backward<BackwardParams3>(params, stream, {.log2 = false, .padded = true}, false);
    case 6: return backward<BackwardParams6>(params, stream, {}, options != nullptr && options->deterministic);
    case 7: return backward<BackwardParams7>(params, stream, {}, options != nullptr && options->deterministic);
    default: return unknown_version("attn_bwd", version, "1, 3, 6 or 7 (AOTriton 0.10 to 0.14)");
  }
}

}  // namespace aotriton::v3::flash
