// Options on scores in the order of kernels/common/scores.hpp, in few instructions. Scores are a warp's: 16 rows. What
// an option leaves for a key that a row does not attend is excluded later.
#pragma once

#include "kernels/common/scores.hpp"
#include "kernels/hopper/arguments.h"
#include "kernels/hopper/isa/shared_loads.hpp"
#include "kernels/hopper/isa/special_functions.hpp"
#include "kernels/hopper/tile/panels.hpp"

namespace rapt::nvidia {

// A tile of a bias or mask in shared memory. Panel i of a bias has keys 64 i to 64 i + 63, a mask's only panel has 128
// keys. A tile that all queries share has one row.
template <int Rows, int Keys>
struct ScorePanels {
  using Tile = Panels<Rows, Keys>;
  static constexpr int kBytes = Tile::kBytes;
  uint32_t address;

  DEVICE_MEMBER void load(const rapt_hopper_score_tiles& t, Barrier arrival, const Coordinates& first) const {
    arrival.arrive_expecting(t.boxes * t.box_bytes);
    const int key = t.boxes == 2 ? first.column : first.column / 2;
#pragma unroll 1
    for (int i = 0; i < t.boxes; ++i)
      copy_box(address + i * Tile::kPanelBytes, t.map, arrival,
               {key + i * Tile::kColumns, first.row * t.per_query, first.head * t.per_head, first.batch * t.per_batch});
  }

  // s = s * scale + bias
  template <class T>
  DEVICE_MEMBER void add_bias(Accumulators<Keys / 8>& s, float scale, const rapt_hopper_score_tiles& t, int first_row,
                              int lane) const {
    const int own = (first_row + lane % 16) * t.per_query;  // whose address the lane passes
#pragma unroll
    for (int i = 0; i < Keys / 16; ++i) {
      const Fragment pairs = Tile{address}.load(own, i, lane);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const uint32_t pair = pairs.x[e / 2];
        float& score = s[2 * i + e / 4][e % 4];
        score = __builtin_fmaf(score, scale, T::to_float(static_cast<uint16_t>(e % 2 == 0 ? pair : pair >> 16)));
      }
    }
  }

  // Excludes keys whose byte is 0.
  DEVICE_MEMBER void apply_mask(Accumulators<Keys / 8>& s, const rapt_hopper_score_tiles& t, int first_row,
                                int lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int own = (first_row + lane / 4 + 8 * half) * t.per_query;
      const uint32_t row = address + own * Tile::kRowBytes + own % 8 * 16 + 2 * (lane % 4);
#pragma unroll
      for (int i = 0; i < Keys / 8; ++i) {
        const uint32_t pair = load_shared_16((row ^ i / 2 * 16) + i % 2 * 8);
        s[i][2 * half] = pair & 0xff ? s[i][2 * half] : kMasked;
        s[i][2 * half + 1] = pair > 0xff ? s[i][2 * half + 1] : kMasked;
      }
    }
  }
};

// A head's slope of ALiBi; 0 if there is none.
DEVICE float slope_of(Problem& p, int head, int batch) {
  const char* const slopes = reinterpret_cast<const char*>(p.alibi.data);
  return slopes == nullptr ? 0 : *reinterpret_cast<const float*>(slopes + batch * p.alibi.batch + head * p.alibi.head);
}
// s = s * scale + bias of ALiBi. `distance`: of the lane's first key from the diagonal of its first row.
template <int Tiles>
DEVICE void add_slopes(Accumulators<Tiles>& s, float scale, float slope, int distance) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto first = static_cast<float>(distance - 8 * half);
#pragma unroll
    for (int i = 0; i < Tiles; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = s[i][2 * half + e];
        score = __builtin_fmaf(score, scale, -slope * __builtin_fabsf(first + static_cast<float>(8 * i + e)));
      }
  }
}
// The same for keys up to the diagonal, where it is linear.
template <int Tiles>
DEVICE void add_slopes_to_diagonal(Accumulators<Tiles>& s, float scale, float slope, int distance) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float first = slope * static_cast<float>(distance - 8 * half);
#pragma unroll
    for (int i = 0; i < Tiles; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = s[i][2 * half + e];
        score = __builtin_fmaf(score, scale, __builtin_fmaf(static_cast<float>(8 * i + e), slope, first));
      }
  }
}

DEVICE float polynomial(const float (&coefficients)[4], float x) {
  float y = __builtin_fmaf(x, coefficients[3], coefficients[2]);
  y = __builtin_fmaf(x, y, coefficients[1]);
  return __builtin_fmaf(x, y, coefficients[0]);
}

// Whether a square of a lane's scores exceeds `limit`. If not `Lean`, the squares stay in registers for what follows.
template <bool Lean, int Tiles>
DEVICE bool square_exceeds(const Accumulators<Tiles>& s, float limit) {
  if constexpr (Lean) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < Tiles; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) most = __builtin_fmaxf(most, __builtin_fabsf(s[i][e]));
    return most * most > limit;
  }
  int most = 0;  // as integers, which keeps the order of floats that are not below 0
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; e += 2)
      most = __vimax3_s32(most, __float_as_int(s[i][e] * s[i][e]), __float_as_int(s[i][e + 1] * s[i][e + 1]));
  return most > __float_as_int(limit);
}

// s = softcap * tanh(s * scale / softcap)
template <bool Lean, int Tiles>
DEVICE void cap(Accumulators<Tiles>& s, float scale, float softcap, const rapt_hopper_softcap& c) {
  // Mostly all scores are small. Then the unit for special functions has only the softmax's exponentials to compute.
  if (!any_lane(square_exceeds<Lean>(s, c.most_square))) {
#pragma unroll
    for (int i = 0; i < Tiles; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[i][e] *= polynomial(c.coefficients, s[i][e] * s[i][e]);
    return;
  }
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float tanh[] = RAPT_TANH_POLYNOMIAL, x = s[i][e] * scale * c.inverse, square = x * x;
      const float far = __builtin_fmaf(-2, rough_reciprocal(exp2(2 * kLog2e * x) + 1), 1);
      s[i][e] = softcap * (square < RAPT_TANH_MOST_SQUARE ? x * polynomial(tanh, square) : far);
    }
}

}  // namespace rapt::nvidia
