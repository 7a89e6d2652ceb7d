#include "cli/verify/drop_in.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "aotriton/abi/params.hpp"
#include "cli/inputs/error.hpp"
#include "cli/install/aotriton.hpp"

template class aotriton::TensorView<1>;  // the library has its own copies, which this command is not linked with
template class aotriton::TensorView<2>;
template class aotriton::TensorView<4>;

namespace rapt::cli {

namespace {

namespace aot = aotriton;
namespace v3 = aotriton::v3::flash;

constexpr int kForwardVersion = 3, kBackwardVersion = 6;  // of the structs of 0.12
using ForwardFunction = aot::Error (*)(const v3::ForwardParams3&, int32_t, aot::Stream, const v3::attn_options*);
using BackwardFunction = aot::Error (*)(const v3::BackwardParams6&, int32_t, aot::Stream, const v3::attn_options*);
constexpr const char* kForward =
    "_ZN8aotriton2v35flash8attn_fwdERKNS1_15attn_fwd_paramsEiNS_14StreamTemplateIP12ihipStream_tEEPKNS1_12attn_"
    "optionsE";
constexpr const char* kBackward =
    "_ZN8aotriton2v35flash8attn_bwdERKNS1_15attn_bwd_paramsEiNS_14StreamTemplateIP12ihipStream_tEEPKNS1_12attn_"
    "optionsE";

void* function_of(void* handle, const std::string& library, const char* name) {
  if (void* const function = dlsym(handle, name)) return function;
  throw InputError(fmt::format("{} has no {}", library, name));
}

aot::DType dtype_of(rapt_dtype dtype) {
  return dtype.code == RAPT_BFLOAT ? aot::kBFloat16 : dtype.bits == 16 ? aot::kFloat16 : aot::kFloat32;
}

template <int Rank>
aot::TensorView<Rank> view(const rapt_tensor& t, std::array<int, Rank> order) {
  std::array<int64_t, 4> strides = {1, 1, 1, 1};
  for (int i = t.ndim - 1; i >= 0; --i)
    strides[i] = t.strides != nullptr ? t.strides[i] : i + 1 < t.ndim ? strides[i + 1] * t.shape[i + 1] : 1;
  typename aot::TensorView<Rank>::Numbers sizes, steps;
  for (size_t i = 0; i < Rank; ++i) {
    sizes[i] = static_cast<uint64_t>(t.shape[order[i]]);
    steps[i] = static_cast<uint64_t>(strides[order[i]]);
  }
  return {reinterpret_cast<intptr_t>(t.data) + static_cast<intptr_t>(t.byte_offset), sizes, steps, dtype_of(t.dtype)};
}

// [batch, seqlen, heads, head_dim] as [batch, heads, seqlen, head_dim]
aot::T4 rows(const Tensor& tensor) { return view<4>(tensor.c(), {0, 2, 1, 3}); }

// Rapt's lse, [batch, heads, seqlen] and compact, as AOTriton's [batch * heads, seqlen].
aot::T2 lse_view(const Tensor& tensor) {
  const rapt_tensor t = tensor.c();
  return {reinterpret_cast<intptr_t>(t.data) + static_cast<intptr_t>(t.byte_offset),
          {static_cast<uint64_t>(t.shape[0] * t.shape[1]), static_cast<uint64_t>(t.shape[2])},
          {static_cast<uint64_t>(t.shape[2]), 1},
          aot::kFloat32};
}

// What both structs have. Views that stay as they are made are null.
template <class Params>
void fill(Params& p, const rapt::Attention& a, const Tensor& out, const Tensor& lse) {
  p.q = rows(a.q);
  p.k = rows(a.k);
  p.v = rows(a.v);
  p.bias = aot::T4::get_null_tensor(dtype_of(a.q.c().dtype));
  p.scale = static_cast<float>(a.softmax_scale.value_or(1 / std::sqrt(static_cast<double>(a.q.c().shape[3]))));
  p.lse = lse_view(lse);
  p.out = rows(out);
  p.max_seqlen_q = p.max_seqlen_k = 0;
  p.dropout = 0;
  p.offset2 = 0;
  p.causal = a.causal == RAPT_NOT_CAUSAL ? v3::kNotCausal : v3::kWindow;
  p.varlen = v3::kDense;
  p.window_left = p.window_right = a.causal == RAPT_CAUSAL ? v3::kBottomRight : v3::kTopLeft;
}

void check(aot::Error error, const std::string& library, const char* function) {
  if (error != aot::kSuccess)
    throw Error(error == aot::kNotSupported ? RAPT_UNSUPPORTED : RAPT_INTERNAL_ERROR,
                fmt::format("{} of {} returned hipError_t {}", function, library, static_cast<int>(error)));
}

}  // namespace

DropIn::DropIn(std::string library) : library_(std::move(library)) {
  void* const handle = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw InputError(fmt::format("{} does not load: {}", library_, dlerror()));
  forward_ = function_of(handle, library_, kForward);
  backward_ = function_of(handle, library_, kBackward);
}

void DropIn::forward(const rapt::Attention& a, const Tensor& out, const Tensor& lse) const {
  v3::ForwardParams3 p{};
  fill(p, a, out, lse);
  check(reinterpret_cast<ForwardFunction>(forward_)(p, kForwardVersion, nullptr, nullptr), library_, "attn_fwd");
}

void DropIn::backward(const rapt::Attention& a, const Tensor& out, const Tensor& lse, const Tensor& dout,
                      const rapt::Gradients& gradients) const {
  v3::BackwardParams6 p{};
  fill(p, a, out, lse);
  p.dout = rows(dout);
  p.dq = rows(*gradients.dq);
  p.dk = rows(*gradients.dk);
  p.dv = rows(*gradients.dv);
  p.dbias = aot::T4::get_null_tensor(dtype_of(a.q.c().dtype));
  check(reinterpret_cast<BackwardFunction>(backward_)(p, kBackwardVersion, nullptr, nullptr), library_, "attn_bwd");
}

std::string drop_in_library() {
  std::string why_not;
  const std::optional<TorchLibraries> torch = libraries_of_python(why_not);
  if (torch && !torch->replaced.empty()) return (torch->folder / torch->replaced.front()).string();
  return find_replacement().library.string();
}

}  // namespace rapt::cli
