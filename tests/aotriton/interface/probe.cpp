// Compiled with the headers of one release of AOTriton. It prints the offsets of the fields of its structs. It also
// refers to every function that a caller of that release may call: the object's undefined symbols name them.
//
// make_table.py compiles it without optimisation, so that inline members of extern templates are calls too.
#include <array>  // which the first releases' own headers lack
#include <cstddef>
#include <cstdio>

#include <aotriton/flash.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

namespace {

template <class T>
void print_size(const char* name) {
  std::printf("size %s %zu\n", name, sizeof(T));
}

// A field that this release has.
#define FIELD(name)                                    \
  if constexpr (requires(const Params& p) { p.name; }) \
  std::printf("field %s%d %s %zu\n", function, Params::kVersion, #name, offsetof(Params, name))

template <class Params>
void print_fields(const char* function) {
  std::printf("size %s%d %zu\n", function, Params::kVersion, sizeof(Params));
  FIELD(Q);
  FIELD(K);
  FIELD(V);
  FIELD(B);
  FIELD(A);
  FIELD(Sm_scale);
  FIELD(L);
  FIELD(Out);
  FIELD(DO);
  FIELD(DK);
  FIELD(DV);
  FIELD(DQ);
  FIELD(DB);
  FIELD(D);
  FIELD(cu_seqlens_q);
  FIELD(cu_seqlens_k);
  FIELD(Max_seqlen_q);
  FIELD(Max_seqlen_k);
  FIELD(seq_strides_q);
  FIELD(seq_strides_k);
  FIELD(seqinfo_q0);
  FIELD(seqinfo_k0);
  FIELD(seqinfo_q1);
  FIELD(seqinfo_k1);
  FIELD(dropout_p);
  FIELD(philox_seed_ptr);
  FIELD(philox_offset1);
  FIELD(philox_offset2);
  FIELD(philox_seed_output);
  FIELD(philox_offset_output);
  FIELD(encoded_softmax);
  FIELD(persistent_atomic_counter);
  FIELD(causal_type);
  FIELD(varlen_type);
  FIELD(window_left);
  FIELD(window_right);
  FIELD(DQ_ACC);
  FIELD(varlen_bits);
}

const volatile void* used;
template <class Function>
void use(Function* function) {
  used = reinterpret_cast<const volatile void*>(function);
}

template <int Rank>
void use_tensor() {
  using View = aotriton::TensorView<Rank>;
  const View nothing;
  const View t(0, std::array<uint64_t, Rank>{}, std::array<uint64_t, Rank>{}, aotriton::kFloat16);
  const bool given = t;
  const auto kept = {t.size(0),
                     t.stride(0),
                     t.sizes()[0],
                     t.strides()[0],
                     reinterpret_cast<uint64_t>(t.data_ptr()),
                     static_cast<uint64_t>(t.dtype()),
                     static_cast<uint64_t>(given)};
  used = kept.begin();
  if constexpr (requires { View::get_null_tensor(aotriton::kFloat16); })
    used = View::get_null_tensor(aotriton::kFloat16).data_ptr();
  if constexpr (requires { t.size_ptr(); }) used = t.size_ptr(), used = t.stride_ptr();
  if constexpr (requires { t.kparam_data_ptr(); }) used = t.kparam_data_ptr(), used = t.kparam_stride(0);
}

void print_layout() {
  print_size<aotriton::TensorView<1>>("TensorView<1>");
  print_size<aotriton::TensorView<2>>("TensorView<2>");
  print_size<aotriton::TensorView<4>>("TensorView<4>");
  print_size<aotriton::Stream>("Stream");
#if RELEASE >= 7
  print_size<aotriton::TensorView<0>>("TensorView<0>");
#endif
#if RELEASE >= 10
  print_fields<aotriton::v3::flash::attn_fwd_params>("attn_fwd");
  print_fields<aotriton::v3::flash::attn_bwd_params>("attn_bwd");
#endif
}

void use_v2() {
  namespace v2 = aotriton::v2::flash;
  use(&v2::check_gpu);
#if RELEASE <= 12
  use(&v2::attn_fwd);
  use(&v2::attn_bwd);
#endif
#if RELEASE >= 7 && RELEASE <= 12
  use(&v2::attn_fwd_compact_varlen);
  use(&v2::attn_bwd_compact_varlen);
#endif
#if RELEASE >= 9 && RELEASE <= 12
  use(&v2::attn_bwd_fused);
#endif
#if RELEASE >= 9
  use(&v2::debug_simulate_encoded_softmax);
#endif
}

void use_v3() {
#if RELEASE >= 10
  namespace v3 = aotriton::v3::flash;
  use(&v3::attn_fwd);
  use(&v3::attn_bwd);
  const v3::attn_fwd_params forward;
  const v3::attn_bwd_params backward;
  used = &forward;
  used = &backward;
#endif
}

void use_gpus() {
#if RELEASE <= 9
  use(&aotriton::getArchFromStream);
#else
  use(&aotriton::getGpuFromStream);
#endif
#if RELEASE >= 9
  use(&aotriton::isArchExperimentallySupported);
  use(&aotriton::getMultiProcessorCount);
#endif
#if RELEASE >= 13
  use(&aotriton::isArchTechPreview);
#endif
}

}  // namespace

int main() {
#ifdef LAYOUT
  print_layout();
#else
  use_tensor<1>();
  use_tensor<2>();
  use_tensor<3>();
  use_tensor<4>();
  use_v2();
  use_v3();
  use_gpus();
#endif
}
