// P V of decode: o[r] += sum over a block's keys of p[r][j] v[j], with a tile of RT rows by NV vectors of O in
// registers for all keys. P has DecodeRows' layout.
#pragma once

#include "cpu/tiers/decode_products.hpp"

namespace rapt::cpu::RAPT_TIER {

// With several rows bf16 is bound by arithmetic, and P V uses the dot instruction, which rounds P to bf16.
template <class T, class Layout>
inline constexpr bool kDecodePairs = kDecodeDot<T> && Layout::kShared;

// Rows of O in registers at a time, and vectors of each.
inline constexpr int kValueSums = kLanes >= 16 ? 16 : 8;

template <class T, class Layout>
class DecodeValues {
  static constexpr int R = Layout::R, W = Layout::W;

 public:
  DecodeValues(const DecodeBlock& block, int64_t groups, const float* p, const Bf16* narrow, int64_t dim, float* o,
               int64_t o_row, DecodeAhead& ahead)
      : block_(block),
        groups_(groups),
        p_(p),
        narrow_(narrow),
        dim_(dim),
        o_(o),
        o_row_(o_row),
        all_ahead_(ahead),
        ahead_(ahead) {}

  void run() {
    if constexpr (!Layout::kShared) {
      rows<R>(0);
    } else {
      int64_t g = 0;
      for (; g + 2 <= groups_; g += 2) rows<2 * R>(R * g);
      if (g < groups_) rows<R>(R * g);
    }
    all_ahead_ = ahead_;
  }

 private:
  template <int RT>
  void rows(int64_t r0) {
    constexpr int NV = kValueSums / (RT == 1 ? 2 : RT);
    int64_t x = 0;
#if defined(__AVX512BF16__)
    if constexpr (kDecodePairs<T, Layout>) {
      for (; x + NV * kLanes <= dim_; x += NV * kLanes) pairs<RT, NV, false>(r0, x);
      for (; x + 2 * kLanes <= dim_; x += 2 * kLanes) pairs<RT, 2, false>(r0, x);
      if (x < dim_) pairs<RT, 2, true>(r0, x);
      return;
    }
#endif
    for (; x + NV * kLanes <= dim_; x += NV * kLanes) columns<RT, NV>(r0, x);
    if constexpr (NV > 2)
      for (; x + NV / 2 * kLanes <= dim_; x += NV / 2 * kLanes) columns<RT, NV / 2>(r0, x);
    for (; x + kLanes <= dim_; x += kLanes) columns<RT, 1>(r0, x);
    if (x < dim_) tail<RT>(r0, x);
  }

  // P of row r0 + r begins at p + offset(r) for each W keys.
  static constexpr int64_t offset(int r) { return r / R * kLanes + r % R * W; }

  template <int RT, int NV>
  __attribute__((noinline)) void columns(int64_t r0, int64_t x) {
    constexpr int kLines = lines_of(1, NV * kLanes * sizeof(T));
    DecodeAhead ahead = ahead_;
    F acc[RT][NV];
    float* o = o_ + r0 * o_row_ + x;
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] =
        load(o + r * o_row_ + n * kLanes);
    const float* p = p_ + r0 / R * kLanes;
    for (int64_t j = 0; j < block_.count; p += groups_ * kLanes) {
      for (int64_t i = 0; i < W && j < block_.count; ++i, ++j) {
        if constexpr (Layout::kShared) ahead.lines<kLines>();
        const T* v = block_.value<T>(j) + x;
        F vn[NV];
        RAPT_UNROLL for (int n = 0; n < NV; ++n) {
          if (!Layout::kShared && n % vectors_of_line(kLanes * sizeof(T)) == 0) ahead.line();
          vn[n] = load_as_float(v + n * kLanes);
        }
        RAPT_UNROLL for (int r = 0; r < RT; ++r) {
          const F weight = splat(p[offset(r) + i]);
          RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] = fma(weight, vn[n], acc[r][n]);
        }
      }
    }
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n)
        store(o + r * o_row_ + n * kLanes, acc[r][n]);
    ahead_ = ahead;
  }

  template <int RT>
  __attribute__((noinline)) void tail(int64_t r0, int64_t x) {
    for (int64_t j = 0; j < block_.count; ++j) {
      const F v = load_words<false>(block_.value<T>(j), x, dim_);
      for (int r = 0; r < RT; ++r) {
        float* o = o_ + (r0 + r) * o_row_ + x;
        store(o, fma(splat(p_[Layout::at(groups_, r0 + r, j)]), v, load(o)));
      }
    }
  }

#if defined(__AVX512BF16__)
  // Keys in pairs: words (v[j][x], v[j + 1][x]) times (p[j], p[j + 1]). Unpacking two rows gives such words in the
  // order of unpacked_place, which O keeps.
  template <int RT, int NV, bool kTail>
  __attribute__((noinline)) void pairs(int64_t r0, int64_t x) {
    static constexpr Bf16 kZeros[kMaxHeadDim] = {};
    constexpr int kLines = lines_of(2, NV * kLanes * sizeof(T));
    const __mmask32 mask = kTail ? (1u << (dim_ - x)) - 1 : ~0u;
    DecodeAhead ahead = ahead_;
    F acc[RT][NV];
    float* o = o_ + r0 * o_row_ + x;
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] =
        load(o + r * o_row_ + n * kLanes);
    const Bf16* p = narrow_ + r0 / R * kLanes;
    for (int64_t j = 0; j < block_.count; p += groups_ * kLanes) {
      for (int64_t i = 0; i < W && j < block_.count; i += 2, j += 2) {
        ahead.lines<kLines>();
        const Bf16* a = block_.value<Bf16>(j) + x;
        const Bf16* b = j + 1 < block_.count ? block_.value<Bf16>(j + 1) + x : kZeros;
        F v[NV];
        RAPT_UNROLL for (int n = 0; n < NV; n += 2) {
          const __m512i va = row_part<kTail>(a + n * kLanes, mask), vb = row_part<kTail>(b + n * kLanes, mask);
          v[n] = (F)_mm512_unpacklo_epi16(va, vb);
          v[n + 1] = (F)_mm512_unpackhi_epi16(va, vb);
        }
        RAPT_UNROLL for (int r = 0; r < RT; ++r) {
          float pair;
          std::memcpy(&pair, p + offset(r) + i, sizeof pair);
          RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] = dot2(acc[r][n], splat(pair), v[n]);
        }
      }
    }
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n)
        store(o + r * o_row_ + n * kLanes, acc[r][n]);
    ahead_ = ahead;
  }

  template <bool kTail>
  static RAPT_INLINE __m512i row_part(const Bf16* from, __mmask32 mask) {
    return kTail ? _mm512_maskz_loadu_epi16(mask, from) : _mm512_loadu_si512(from);
  }
#endif

  const DecodeBlock& block_;
  const int64_t groups_;
  const float* p_;
  const Bf16* narrow_;
  const int64_t dim_;
  float* const o_;
  const int64_t o_row_;
  DecodeAhead& all_ahead_;
  DecodeAhead ahead_;
};

// Where unpacking two rows puts element x: pairs of vectors hold the lower and the upper halves of each 16 bytes.
inline int64_t unpacked_place(int64_t x) {
  return x / (2 * kLanes) * (2 * kLanes) + x / 4 % 2 * kLanes + x / 8 % (kLanes / 4) * 4 + x % 4;
}

}  // namespace rapt::cpu::RAPT_TIER
