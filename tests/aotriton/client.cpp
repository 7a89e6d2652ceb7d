#include "client.hpp"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numbers>
#include <stdexcept>

namespace test {

namespace {

using namespace aotriton;
namespace v2 = aotriton::v2::flash;
namespace v3 = aotriton::v3::flash;

// Element (b, h, i) of an lse in the caller's form, as an index.
int64_t lse_index(const Calling& how, const Problem& p, int64_t b, int64_t h, int64_t i) {
  if (!p.packed()) return (b * p.c.heads_q + h) * p.c.seqlen_q + i;
  if (how.padded || how.lengths == Lengths::padded) return (b * p.c.heads_q + h) * longest(p, true) + i;
  const std::vector<int64_t> at = starts(p, true, how.lengths);
  return h * at.back() + at[static_cast<size_t>(b)] + i;
}

int64_t own_index(const Problem& p, int64_t b, int64_t h, int64_t i) { return lse_index({}, p, b, h, i); }

Tensor callers_lse(const Calling& how, const Inputs& in) {
  const rapt_problem& p = in.problem.c;
  if (!in.problem.packed()) return Tensor(kFp32, {p.batch * p.heads_q, p.seqlen_q});
  if (how.padded || how.lengths == Lengths::padded)
    return Tensor(kFp32, {p.batch * p.heads_q, longest(in.problem, true)});
  return Tensor(kFp32, {p.heads_q, starts(in.problem, true, how.lengths).back()});
}

template <class Body>
void each_row(const Problem& p, const Body& body) {
  for (int64_t b = 0; b < p.c.batch; ++b)
    for (int64_t h = 0; h < p.c.heads_q; ++h)
      for (int64_t i = 0; i < p.seqlen_q(b); ++i) body(b, h, i);
}

// A row that attends nothing has +Inf, so -Inf is an error.
void take_lse(const Calling& how, const Problem& p, const Tensor& from, Tensor& to) {
  each_row(p, [&](int64_t b, int64_t h, int64_t i) {
    const double x = from.at(lse_index(how, p, b, h, i));
    const double natural = how.log2 ? x * std::numbers::ln2 : x;
    to.set(own_index(p, b, h, i), x == -INFINITY ? NAN : x == INFINITY ? -INFINITY : natural);
  });
}

void give_lse(const Calling& how, const Problem& p, const Tensor& from, Tensor& to) {
  each_row(p, [&](int64_t b, int64_t h, int64_t i) {
    const double x = from.at(own_index(p, b, h, i));
    to.set(lse_index(how, p, b, h, i), x == -INFINITY ? INFINITY : how.log2 ? x * std::numbers::log2e : x);
  });
}

Tensor callers_rows(const Calling& how, const Inputs& in, const Tensor& t, bool of_q) {
  return how.lengths == Lengths::packed ? t : spread(t, in.problem, of_q, how.lengths);
}

Tensor starts_tensor(const Problem& p, bool of_q, Lengths lengths) {
  const std::vector<int64_t> at = starts(p, of_q, lengths);
  Tensor t(rapt::kInt32, {static_cast<int64_t>(at.size())});
  t.fill([&](int64_t i) { return static_cast<double>(at[static_cast<size_t>(i)]); });
  return t;
}

// A result in the caller's form, which becomes Rapt's.
class Result {
 public:
  Result(const Calling& how, const Inputs& in, Tensor& to, bool of_q)
      : how_(how), problem_(in.problem), to_(to), of_q_(of_q) {
    if (how.lengths != Lengths::packed) spread_ = spread(to, in.problem, of_q, how.lengths);
  }
  T4 view(Views& views) { return views.rows_written(spread_ ? spread_ : to_); }
  void take() {
    if (spread_) gather(spread_, problem_, of_q_, how_.lengths, to_);
  }

 private:
  const Calling& how_;
  const Problem& problem_;
  Tensor& to_;
  const bool of_q_;
  Tensor spread_;
};

// The arguments of all interfaces.
struct Common {
  T4 q, k, v, bias = null4(), out;
  T2 lse;
  T1 cu_q = T1::get_null_tensor(aotriton::kInt32), cu_k = cu_q, starts_q = cu_q, starts_k = cu_q;
  int32_t max_q = 0, max_k = 0;
  float scale, dropout;
  T0 seed, offset1, none;
  uint64_t offset2 = 2, seed_value, offset_value;
  bool causal;
  std::pair<int32_t, int32_t> window = {0, 0};
  Stream stream;
  Lengths lengths;

  static T4 null4() { return T4::get_null_tensor(kFloat16); }

  Common(const Calling& how, Views& views, const Inputs& in) : stream(how.stream), lengths(how.lengths) {
    const rapt_problem& p = in.problem.c;
    q = views.rows(callers_rows(how, in, in.q, true));
    k = views.rows(callers_rows(how, in, in.k, false));
    v = views.rows(callers_rows(how, in, in.v, false));
    if (in.bias) bias = views.scores(in.bias, p);
    if (how.one_bias)
      bias = T4(reinterpret_cast<intptr_t>(bias.data_ptr()), bias.sizes(), {0, 0, bias.stride(2), bias.stride(3)},
                bias.dtype());
    if (in.problem.packed()) {
      cu_q = views.lengths(in.cu_seqlens_q);
      cu_k = views.lengths(in.cu_seqlens_k);
      if (lengths == Lengths::used_keys) {
        Tensor keys(rapt::kInt32, {in.problem.c.batch});
        keys.fill([&](int64_t b) { return static_cast<double>(in.problem.seqlen_k(b)); });
        cu_k = views.lengths(keys);
        starts_k = views.lengths(starts_tensor(in.problem, false, lengths));
      } else if (lengths == Lengths::strided) {
        starts_q = views.lengths(starts_tensor(in.problem, true, lengths));
        starts_k = views.lengths(starts_tensor(in.problem, false, lengths));
      }
      max_q = static_cast<int32_t>(longest(in.problem, true));
      max_k = static_cast<int32_t>(longest(in.problem, false));
    }
    scale = static_cast<float>(p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim)));
    dropout = static_cast<float>(p.dropout);
    seed_value = in.dropout_seed;
    offset_value = in.dropout_offset;
    seed = views.number(seed_value);
    offset1 = views.number(offset_value - offset2);
    causal = p.causal != RAPT_NOT_CAUSAL || p.has_window || how.window;
    const int32_t aligned = p.causal == RAPT_CAUSAL ? v3::kBottomRight : v3::kTopLeft;
    window = {p.window_left >= 0 ? static_cast<int32_t>(p.window_left) : aligned,
              p.causal != RAPT_NOT_CAUSAL ? aligned : static_cast<int32_t>(p.window_right)};
    if (how.window) window = *how.window;
  }
};

// A struct as a caller has it: memory of this version's size with other values in it, in which the library's
// constructor then runs.
template <class Params, class Constructed>
class CallersStruct {
 public:
  CallersStruct() {
    std::memset(storage_, 0xCD, sizeof storage_);
    new (storage_) Constructed;
  }
  Params* operator->() { return reinterpret_cast<Params*>(storage_); }
  const Constructed& get() const { return *reinterpret_cast<const Constructed*>(storage_); }

 private:
  alignas(Params) unsigned char storage_[sizeof(Params)];
};

// The sequences' lengths, as this version says them. Without lengths, 0.14's bits stay as they were in memory.
template <class Params>
void fill_lengths(Params& p, const Common& c) {
  p.max_seqlen_q = c.max_q;
  p.max_seqlen_k = c.max_k;
  const bool is_padded = c.lengths == Lengths::padded, is_strided = c.lengths == Lengths::strided;
  if constexpr (requires { p.varlen_bits; }) {
    p.lengths_q = c.cu_q;
    p.lengths_k = c.cu_k;
    p.positions_q = c.starts_q;
    p.positions_k = c.starts_k;
    p.varlen_bits = is_padded                         ? v3::kPaddedBits
                    : is_strided                      ? v3::kStridedBits
                    : c.lengths == Lengths::used_keys ? v3::kUsedKeysBits
                                                      : v3::kCompactBits;
  } else {
    p.cu_seqlens_q = c.cu_q;
    p.cu_seqlens_k = c.cu_k;
    p.varlen = is_padded ? v3::kPadded : is_strided ? v3::kStrided : v3::kCompact;
  }
  if constexpr (requires { p.starts_q; }) {
    if (!c.starts_q) return;
    p.starts_q = c.starts_q;
    p.starts_k = c.starts_k;
  }
}

template <class Params>
void fill(Params& p, const Common& c) {
  p.q = c.q;
  p.k = c.k;
  p.v = c.v;
  p.bias = c.bias;
  p.scale = c.scale;
  p.lse = c.lse;
  p.out = c.out;
  if (c.cu_q) fill_lengths(p, c);
  p.dropout = c.dropout;
  p.seed = c.seed;
  p.offset1 = c.offset1;
  p.offset2 = c.offset2;
  p.causal = c.causal ? v3::kWindow : v3::kNotCausal;
  p.window_left = c.window.first;
  p.window_right = c.window.second;
}

template <class Params>
Error forward_v3(const Common& c, int32_t version) {
  CallersStruct<Params, v3::attn_fwd_params> p;
  fill(*p.operator->(), c);
  p->seed_output = p->offset_output = p->counter = c.none;
  p->encoded_softmax = Common::null4();
  return v3::attn_fwd(p.get(), version, c.stream, nullptr);
}

Error call_forward(Api api, const Common& c) {
  const T4 none = Common::null4();
  const auto offset2 = static_cast<int64_t>(c.offset2);
  switch (api) {
    case Api::v04:
      return v2::attn_fwd(c.q, c.k, c.v, c.scale, c.lse, c.out, c.dropout, c.seed_value, c.offset_value, none, c.causal,
                          c.stream);
    case Api::v05:
      return v2::attn_fwd(c.q, c.k, c.v, c.bias, c.scale, c.lse, c.out, c.dropout, c.seed_value, c.offset_value, none,
                          c.causal, c.stream);
    case Api::v07:
      if (c.cu_q)
        return v2::attn_fwd_compact_varlen(c.q, c.k, c.v, c.cu_q, c.cu_k, c.max_q, c.max_k, c.bias, c.scale, c.lse,
                                           c.out, c.dropout, c.seed, c.offset1, offset2, c.none, c.none, none, c.causal,
                                           c.stream, nullptr);
      return v2::attn_fwd(c.q, c.k, c.v, c.bias, c.scale, c.lse, c.out, c.dropout, c.seed, c.offset1, offset2, c.none,
                          c.none, none, c.causal, c.stream, nullptr);
    case Api::v09:
    case Api::v09_fused:
      if (c.cu_q)
        return v2::attn_fwd_compact_varlen(c.q, c.k, c.v, c.bias, c.cu_q, c.cu_k, c.max_q, c.max_k, c.scale, c.lse,
                                           c.out, c.dropout, c.seed, c.offset1, offset2, c.none, c.none, none, c.causal,
                                           c.none, c.stream, nullptr);
      return v2::attn_fwd(c.q, c.k, c.v, c.bias, c.scale, c.lse, c.out, c.dropout, c.seed, c.offset1, offset2, c.none,
                          c.none, none, c.causal, c.none, c.stream, nullptr);
    case Api::v10:
    case Api::v11: return forward_v3<v3::ForwardParams1>(c, 1);
    case Api::v12: return forward_v3<v3::ForwardParams3>(c, 3);
    case Api::v14: return forward_v3<v3::ForwardParams4>(c, 4);
  }
  return kUnknown;
}

struct Gradients {
  T4 dout, dq, dk, dv, dbias = Common::null4();
};

template <class Params>
Error backward_v3(const Common& c, const Gradients& g, int32_t version) {
  CallersStruct<Params, v3::attn_bwd_params> p;
  fill(*p.operator->(), c);
  p->dout = g.dout;
  p->dq = g.dq;
  p->dk = g.dk;
  p->dv = g.dv;
  p->dbias = g.dbias;
  if constexpr (requires { p->dq_sum; }) {  // set as PyTorch does; asking for the memory would be an error
    p->delta = {&p, nullptr, nullptr};
    p->dq_sum = {&p, nullptr, nullptr};
  }
  return v3::attn_bwd(p.get(), version, c.stream, nullptr);
}

Error call_backward(Api api, const Common& c, const Gradients& g) {
  const auto offset2 = static_cast<int64_t>(c.offset2);
  const T2 delta = T2::get_null_tensor(kFloat32);
  switch (api) {
    case Api::v04:
      return v2::attn_bwd(c.q, c.k, c.v, c.scale, c.out, g.dout, g.dq, g.dk, g.dv, c.lse, delta, c.dropout,
                          c.seed_value, c.offset_value, c.causal, c.stream);
    case Api::v05:
      return v2::attn_bwd(c.q, c.k, c.v, c.bias, c.scale, c.out, g.dout, g.dq, g.dk, g.dv, g.dbias, c.lse, delta,
                          c.dropout, c.seed_value, c.offset_value, c.causal, c.stream);
    case Api::v07:
    case Api::v09:
      if (c.cu_q)
        return v2::attn_bwd_compact_varlen(c.q, c.k, c.v, c.cu_q, c.cu_k, c.max_q, c.max_k, c.bias, c.scale, c.out,
                                           g.dout, g.dq, g.dk, g.dv, g.dbias, c.lse, delta, c.dropout, c.seed,
                                           c.offset1, offset2, c.causal, c.stream, nullptr);
      return v2::attn_bwd(c.q, c.k, c.v, c.bias, c.scale, c.out, g.dout, g.dq, g.dk, g.dv, g.dbias, c.lse, delta,
                          c.dropout, c.seed, c.offset1, offset2, c.causal, c.stream, nullptr);
    case Api::v09_fused:
      return v2::attn_bwd_fused(c.q, c.k, c.v, c.bias, c.scale, c.out, g.dout, g.dq, g.dk, g.dv, g.dbias, c.lse,
                                c.dropout, c.seed, c.offset1, offset2, c.causal, c.stream, nullptr);
    case Api::v10: return backward_v3<v3::BackwardParams1>(c, g, 1);
    case Api::v11: return backward_v3<v3::BackwardParams3>(c, g, 3);
    case Api::v12: return backward_v3<v3::BackwardParams6>(c, g, 6);
    case Api::v14: return backward_v3<v3::BackwardParams7>(c, g, 7);
  }
  return kUnknown;
}

// PyTorch sets the device before it calls an operator: the null stream is the current device's.
void set_device(rapt_device device) {
  static const auto set = reinterpret_cast<int (*)(int)>(hip_function("hipSetDevice"));
  if (set(device.id) != 0) throw std::runtime_error("hipSetDevice failed");
}

void expect_success(Error error, const char* what) {
  if (error != kSuccess) throw std::runtime_error(std::string(what) + " returned hipError_t " + std::to_string(error));
}

}  // namespace

std::string name_of(Api api) {
  static const char* const names[] = {"v04", "v05", "v07", "v09", "v09_fused", "v10", "v11", "v12", "v14"};
  return names[static_cast<size_t>(api)];
}

void* hip_function(const char* name) {
  static void* const library = dlopen(std::getenv("RAPT_HIP_LIBRARY"), RTLD_NOW);
  return dlsym(library, name);
}

Results forward_through(const Calling& how, rapt_device device, const Inputs& in, Layout layout) {
  Results results = make_results(in, layout, false);
  Tensor lse = callers_lse(how, in);
  Views views(device);
  Common c(how, views, in);
  Result out(how, in, results.out, true);
  c.out = out.view(views);
  c.lse = views.matrix_written(lse);
  if (how.stream == nullptr) set_device(device);
  expect_success(call_forward(how.api, c), "attn_fwd");
  rapt::check(rapt_device_synchronize(device));
  views.fetch();
  out.take();
  take_lse(how, in.problem, lse, results.lse);
  return results;
}

Results backward_through(const Calling& how, rapt_device device, const Inputs& in, const Results& given,
                         Layout layout) {
  Results results = make_results(in, layout, true);
  results.out = given.out;
  results.lse = given.lse;
  Tensor lse = callers_lse(how, in);
  give_lse(how, in.problem, given.lse, lse);
  Views views(device);
  Common c(how, views, in);
  c.out = views.rows(callers_rows(how, in, given.out, true));
  c.lse = views.matrix(lse);
  Gradients g;
  Result dq(how, in, results.dq, true), dk(how, in, results.dk, false), dv(how, in, results.dv, false);
  g.dout = views.rows(callers_rows(how, in, in.dout, true));
  g.dq = dq.view(views);
  g.dk = dk.view(views);
  g.dv = dv.view(views);
  if (results.dbias) g.dbias = views.scores_written(results.dbias);
  if (how.stream == nullptr) set_device(device);
  expect_success(call_backward(how.api, c, g), "attn_bwd");
  rapt::check(rapt_device_synchronize(device));
  views.fetch();
  for (Result* result : {&dq, &dk, &dv}) result->take();
  return results;
}

}  // namespace test
