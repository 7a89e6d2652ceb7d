// A caller of one release of AOTriton, compiled with that release's headers and linked with libaotriton_v2. It computes
// causal attention and its gradients on a GPU and compares them with a plain loop; from 0.11 on also of packed
// sequences, filling in the structs as PyTorch does. run_clients.py builds and runs it with AOTriton's headers,
// prefix_test.py with Rapt's.
#include <array>  // the first releases' own headers lack it
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#if RELEASE == 12
#define AOTRITON_V2_API_FLASH_ATTN_H  // as PyTorch does: g++ does not take the attributes in there
#endif
#include <aotriton/flash.h>

#include "rapt/rapt.hpp"

namespace {

constexpr int kBatch = 2, kHeads = 4, kRows = 37, kDim = 64;
constexpr int kCount = kBatch * kHeads * kRows * kDim;
constexpr double kScale = 0.125;

using T4 = aotriton::TensorView<4>;
using T2 = aotriton::TensorView<2>;

float from_bf16(uint16_t x) {
  const uint32_t bits = uint32_t{x} << 16;
  float value;
  static_assert(sizeof value == sizeof bits);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
uint16_t to_bf16(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// [batch, heads, rows, dim], stored as [batch, rows, heads, dim].
struct Tensor {
  std::vector<uint16_t> host = std::vector<uint16_t>(kCount, 0x7fc0);
  rapt::DeviceMemory device{{RAPT_ROCM, 0}, kCount * 2};

  static size_t index(int b, int h, int i, int x) {
    return static_cast<size_t>(((b * kRows + i) * kHeads + h) * kDim + x);
  }
  double at(int b, int h, int i, int x) const { return static_cast<double>(from_bf16(host[index(b, h, i, x)])); }
  void send() { device.copy_from_host(host.data()); }
  void fetch() { device.copy_to_host(host.data()); }
  void randomize(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (uint16_t& x : host) x = to_bf16(normal(random));
    send();
  }
  T4 view(bool packed = false) {
    if (packed)
      return {reinterpret_cast<intptr_t>(device.data()),
              {1, kHeads, kBatch * kRows, kDim},
              {kCount, kDim, kHeads * kDim, 1},
              aotriton::kBFloat16};
    return {reinterpret_cast<intptr_t>(device.data()),
            {kBatch, kHeads, kRows, kDim},
            {kRows * kHeads * kDim, kDim, kHeads * kDim, 1},
            aotriton::kBFloat16};
  }
};

struct Everything {
  Tensor q, k, v, out, dout, dq, dk, dv;
  rapt::DeviceMemory lse_memory{{RAPT_ROCM, 0}, kBatch* kHeads* kRows * 4};
  T2 lse{reinterpret_cast<intptr_t>(lse_memory.data()), {kBatch * kHeads, kRows}, {kRows, 1}, aotriton::kFloat32};
  T4 none{0, {0, 0, 0, 0}, {0, 0, 0, 0}, aotriton::kBFloat16};
  const int32_t starts[kBatch + 1] = {0, kRows, 2 * kRows};
  rapt::DeviceMemory starts_memory{{RAPT_ROCM, 0}, sizeof starts};
};

#if RELEASE <= 9
int forward(Everything& e) {
  using aotriton::v2::flash::attn_fwd;
  const float scale = static_cast<float>(kScale);
#if RELEASE == 4
  return attn_fwd(e.q.view(), e.k.view(), e.v.view(), scale, e.lse, e.out.view(), 0, 0, 0, e.none, true, nullptr);
#elif RELEASE <= 6
  return attn_fwd(e.q.view(), e.k.view(), e.v.view(), e.none, scale, e.lse, e.out.view(), 0, 0, 0, e.none, true,
                  nullptr);
#else
  const aotriton::TensorView<0> no_scalar(0, aotriton::kUInt64);
  return attn_fwd(e.q.view(), e.k.view(), e.v.view(), e.none, scale, e.lse, e.out.view(), 0, no_scalar, no_scalar, 0,
                  no_scalar, no_scalar, e.none, true,
#if RELEASE == 9
                  no_scalar,
#endif
                  nullptr);
#endif
}

int backward(Everything& e) {
  using aotriton::v2::flash::attn_bwd;
  const float scale = static_cast<float>(kScale);
#if RELEASE == 4
  return attn_bwd(e.q.view(), e.k.view(), e.v.view(), scale, e.out.view(), e.dout.view(), e.dq.view(), e.dk.view(),
                  e.dv.view(), e.lse, e.lse, 0, 0, 0, true, nullptr);
#elif RELEASE <= 6
  return attn_bwd(e.q.view(), e.k.view(), e.v.view(), e.none, scale, e.out.view(), e.dout.view(), e.dq.view(),
                  e.dk.view(), e.dv.view(), e.none, e.lse, e.lse, 0, 0, 0, true, nullptr);
#else
  const aotriton::TensorView<0> no_scalar(0, aotriton::kUInt64);
  return attn_bwd(e.q.view(), e.k.view(), e.v.view(), e.none, scale, e.out.view(), e.dout.view(), e.dq.view(),
                  e.dk.view(), e.dv.view(), e.none, e.lse, e.lse, 0, no_scalar, no_scalar, 0, true, nullptr);
#endif
}
#else
#if RELEASE >= 11
// Memory for AOTriton's other algorithms, which Rapt must not ask for.
template <int Rank>
struct Asked {
#if RELEASE >= 12
  using Argument = aotriton::LazyTensor<Rank>*;
#else
  using Argument = void*;
#endif
  static aotriton::TensorView<Rank> acquire(Argument) { std::abort(); }
  static void dispose(Argument) {}
  static aotriton::LazyTensor<Rank> of(void* cookie) {
    return aotriton::LazyTensor<Rank>{.cookie = cookie, .acquire = &acquire, .dispose = &dispose};
  }
};

template <class Params>
void set_lengths(Params& p, Everything& e) {
  const aotriton::TensorView<1> starts(reinterpret_cast<intptr_t>(e.starts_memory.data()), {kBatch + 1}, {1},
                                       aotriton::kInt32);
  e.starts_memory.copy_from_host(e.starts);
  p.Max_seqlen_q = p.Max_seqlen_k = kRows;
#if RELEASE >= 14
  p.seqinfo_q0 = p.seqinfo_k0 = starts;
  using namespace aotriton::v3::flash;
  const VarlenMode packed = {
      .stacked = VarlenStacked::THD, .length = VarlenLength::CUMULATIVE, .position = VarlenPosition::REUSE};
  p.varlen_bits = VarlenBits{.qmode = packed, .kmode = packed};
#else
  p.cu_seqlens_q = p.cu_seqlens_k = starts;
  p.varlen_type = aotriton::v3::flash::VarlenType::CompactVarlen;
#endif
}
#endif

template <class Params>
void fill(Params& p, Everything& e, bool packed) {
  using namespace aotriton::v3::flash;
  p.Q = e.q.view(packed);
  p.K = e.k.view(packed);
  p.V = e.v.view(packed);
  p.B = e.none;
  p.Sm_scale = static_cast<float>(kScale);
  p.L = e.lse;
  p.Out = e.out.view(packed);
  p.dropout_p = 0;
  p.philox_offset2 = 0;
  p.causal_type = CausalType::WindowedAttention;
  p.window_left = p.window_right = WindowValue::TopLeftAligned;
#if RELEASE >= 11
  if (!packed) return;
#if RELEASE >= 12
  p.L = T2(reinterpret_cast<intptr_t>(e.lse_memory.data()), {kHeads, kBatch * kRows}, {kBatch * kRows, 1},
           aotriton::kFloat32);
#endif
  set_lengths(p, e);
#endif
}

int forward(Everything& e, bool packed = false) {
  aotriton::v3::flash::attn_fwd_params p;
  fill(p, e, packed);
  return aotriton::v3::flash::attn_fwd(p, p.kVersion, nullptr);
}

int backward(Everything& e, bool packed = false) {
  aotriton::v3::flash::attn_bwd_params p;
  fill(p, e, packed);
  p.DO = e.dout.view(packed);
  p.DQ = e.dq.view(packed);
  p.DK = e.dk.view(packed);
  p.DV = e.dv.view(packed);
  p.DB = e.none;
#if RELEASE >= 11
  p.D = Asked<2>::of(&e);
  p.DQ_ACC = Asked<4>::of(&e);
#endif
  return aotriton::v3::flash::attn_bwd(p, p.kVersion, nullptr);
}
#endif

// Causal attention of one head, and its gradients, into [row][dim].
struct Reference {
  using Rows = std::vector<std::array<double, kDim>>;
  Rows out = Rows(kRows), dq = Rows(kRows), dk = Rows(kRows), dv = Rows(kRows);
  std::vector<double> lse = std::vector<double>(kRows);

  Reference(const Everything& e, int b, int h) {
    for (int i = 0; i < kRows; ++i) row(e, b, h, i);
  }

  void row(const Everything& e, int b, int h, int i) {
    std::array<double, kRows> p = {}, dp = {};
    double sum = 0, delta = 0;
    for (int j = 0; j <= i; ++j) {
      for (int x = 0; x < kDim; ++x) p[j] += kScale * e.q.at(b, h, i, x) * e.k.at(b, h, j, x);
      sum += p[j] = std::exp(p[j]);
    }
    lse[i] = std::log(sum);
    for (int j = 0; j <= i; ++j) {
      p[j] /= sum;
      for (int x = 0; x < kDim; ++x) {
        out[i][x] += p[j] * e.v.at(b, h, j, x);
        dp[j] += e.dout.at(b, h, i, x) * e.v.at(b, h, j, x);
        dv[j][x] += p[j] * e.dout.at(b, h, i, x);
      }
      delta += p[j] * dp[j];
    }
    for (int j = 0; j <= i; ++j)
      for (int x = 0; x < kDim; ++x) {
        dq[i][x] += kScale * p[j] * (dp[j] - delta) * e.k.at(b, h, j, x);
        dk[j][x] += kScale * p[j] * (dp[j] - delta) * e.q.at(b, h, i, x);
      }
  }
};

// The largest error, relative to the largest value of its kind.
double compare(Everything& e, bool packed = false) {
  std::vector<float> lse(kBatch * kHeads * kRows);
  e.lse_memory.copy_to_host(lse.data());
  for (Tensor* t : {&e.out, &e.dq, &e.dk, &e.dv}) t->fetch();
  double worst = 0;
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < kHeads; ++h) {
      const Reference r(e, b, h);
      for (int i = 0; i < kRows; ++i) {
        const double base = RELEASE <= 10 ? std::log(2.0) : 1;
        const int row = packed && RELEASE >= 12 ? (h * kBatch + b) * kRows + i : (b * kHeads + h) * kRows + i;
        worst = std::fmax(worst, std::fabs(lse[static_cast<size_t>(row)] * base - r.lse[i]));
        for (int x = 0; x < kDim; ++x)
          for (const auto& [ours, theirs] : {std::pair{e.out.at(b, h, i, x), r.out[i][x]},
                                             {e.dq.at(b, h, i, x), r.dq[i][x]},
                                             {e.dk.at(b, h, i, x), r.dk[i][x]},
                                             {e.dv.at(b, h, i, x), r.dv[i][x]}})
            worst = ours == ours ? std::fmax(worst, std::fabs(ours - theirs) / 4) : INFINITY;
      }
    }
  return worst;
}

bool report(Everything& e, int f, int b, bool packed) {
  rapt::synchronize({RAPT_ROCM, 0});
  const double error = compare(e, packed);
  std::printf("AOTriton 0.%d%s: attn_fwd returned %d, attn_bwd %d, largest error %.1e\n", RELEASE,
              packed ? ", packed" : "", f, b, error);
  return f == 0 && b == 0 && error < 0.02;
}

}  // namespace

int main() {
  Everything e;
  e.q.randomize(1);
  e.k.randomize(2);
  e.v.randomize(3);
  e.dout.randomize(4);
  int f = forward(e), b = backward(e);
  bool ok = report(e, f, b, false);
#if RELEASE >= 11
  for (Tensor* t : {&e.out, &e.dq, &e.dk, &e.dv}) t->host.assign(kCount, 0x7fc0), t->send();
  f = forward(e, true), b = backward(e, true);
  ok = report(e, f, b, true) && ok;
#endif
  return ok && aotriton::v2::flash::check_gpu(nullptr) == 0 ? 0 : 1;
}
