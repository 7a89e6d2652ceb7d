// Options on scores in the backward pass, in tiles of 64 by 64 scores.
#pragma once

#include "kernels/hopper/attention/score_options.hpp"
#include "kernels/hopper/isa/permute.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

inline constexpr bool kScores = RAPT_GENERAL;  // takes bias, mask, ALiBi and softcap
inline constexpr int kScoreRows = 64;
using ScoreTile = ScorePanels<kScoreRows, 64>;

// What a stage has of a bias and a mask: QueryTiles times 64 queries, or KeyTiles times 64 keys; the other number is 1.
// A mask's tiles have 128 keys each.
template <int QueryTiles, int KeyTiles>
struct StageOfScores {
  static constexpr int kBiases = QueryTiles * KeyTiles, kMasks = QueryTiles * ((KeyTiles + 1) / 2);
  static constexpr int kBytes = (kBiases + kMasks) * ScoreTile::kBytes;
  static_assert(QueryTiles == 1 || KeyTiles == 1);
  uint32_t address;

  DEVICE_MEMBER ScoreTile bias(int n) const { return {address + static_cast<uint32_t>(n * ScoreTile::kBytes)}; }
  DEVICE_MEMBER ScoreTile mask(int n) const { return bias(kBiases + n); }

  DEVICE_MEMBER void load(const rapt_hopper_scores& s, Barrier arrival, const Coordinates& first) const {
    arrival.arrive_expecting(kBiases * s.bias.boxes * s.bias.box_bytes + kMasks * s.mask.boxes * s.mask.box_bytes);
#pragma unroll 1
    for (int i = 0; s.bias.boxes > 0 && i < kBiases; ++i) {
      const int row = QueryTiles > 1 ? i * kScoreRows : 0, column = KeyTiles > 1 ? i * kScoreRows : 0;
      copy(s.bias, bias(i), arrival, first, first.row + row, first.column + column);
    }
#pragma unroll 1
    for (int i = 0; s.mask.boxes > 0 && i < kMasks; ++i)
      copy(s.mask, mask(i), arrival, first, first.row + i * kScoreRows, first.column / 2);
  }

 private:
  DEVICE void copy(const rapt_hopper_score_tiles& t, const ScoreTile& to, Barrier arrival, const Coordinates& from,
                   int row, int column) {
    copy_box(to.address, t.map, arrival, {column, row * t.per_query, from.head * t.per_head, from.batch * t.per_batch});
  }
};

DEVICE bool has_tiles(const rapt_hopper_scores& s) { return s.bias.boxes + s.mask.boxes > 0; }

// Scores of a warp's 16 keys, transposed: a lane's are of keys lane / 4 and 8 more, and of queries 2 (lane % 4) + 8 i
// and the next ones.
template <int Tiles>
struct ScoresOfKeys {
  Accumulators<Tiles>& s;
  int first_key, first_key_of_mask, lane;  // within tiles of a bias, and of a mask

  // s = s * scale + bias
  template <class T>
  DEVICE_MEMBER void add_bias(const ScoreTile& tile, const rapt_hopper_score_tiles& t, float scale) const {
    const int query = (lane / 16 * 8 + lane % 8) * t.per_query, piece = first_key / 8 + lane / 8 % 2;  // its address
    const uint32_t row = tile.address + query * ScoreTile::Tile::kRowBytes + (piece ^ query % 8) * 16;
#pragma unroll
    for (int i = 0; i < Tiles / 2; ++i) {
      const Fragment pairs = load_transposed(row + i * 16 * ScoreTile::Tile::kRowBytes * t.per_query);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const uint32_t pair = pairs.x[e / 2];
        float& score = s[2 * i + e / 4][e % 4];
        score = __builtin_fmaf(score, scale, T::to_float(static_cast<uint16_t>(e % 2 == 0 ? pair : pair >> 16)));
      }
    }
  }

  // Excludes keys whose byte is 0.
  DEVICE_MEMBER void apply_mask(const ScoreTile& tile, const rapt_hopper_score_tiles& t) const {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int query = (2 * (lane % 4) + e % 2) * t.per_query, key = first_key_of_mask + lane / 4 + e / 2 * 8;
      const uint32_t row = tile.address + query * ScoreTile::Tile::kRowBytes + (key / 16 ^ query % 8) * 16 + key % 16;
#pragma unroll
      for (int i = 0; i < Tiles; ++i)
        if (load_shared_8(row + i * 8 * ScoreTile::Tile::kRowBytes * t.per_query) == 0) s[i][e] = kMasked;
    }
  }

  // s = s * scale + bias of ALiBi. `distance`: of the lane's first key from the diagonal of its first query.
  DEVICE_MEMBER void add_slopes(float scale, float slope, int distance) const {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const auto first = static_cast<float>(distance + e / 2 * 8 - e % 2);
#pragma unroll
      for (int i = 0; i < Tiles; ++i)
        s[i][e] = __builtin_fmaf(s[i][e], scale, -slope * __builtin_fabsf(first - static_cast<float>(8 * i)));
    }
  }

  // Excludes queries, from `first_row` on, that do not attend a key. `own_key`: the warp's first one.
  DEVICE_MEMBER void exclude(Problem& p, const Block& block, int own_key, int first_row) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Queries queries = queries_of(p, block, own_key + row_in_wave(0, half, lane), 1);
      nvidia::exclude(TileLogits<Tiles>{s, half, lane}, queries.begin - first_row, queries.end - first_row);
    }
  }
};

// The slope of softcap at tanh t is 1 - t^2. It is kept as 16 bits: a float of four bits of exponent and 12 below, with
// denormal ones, which are as exact as a float32 of the difference. fp16 would round dS once more as much.
inline constexpr float kSlopeUnit = 0x1p-112f;  // puts the exponents up to 1 into four bits
inline constexpr uint32_t kSlopeShift = 11;
DEVICE uint32_t shifted_slope(float t) {
  return bits(max(__builtin_fmaf(-t, t * kSlopeUnit, kSlopeUnit), 0.0f)) + (1u << kSlopeShift) / 2;
}
DEVICE uint32_t encoded_slopes(float first, float second) {
  return permute_bytes(shifted_slope(first) >> kSlopeShift, shifted_slope(second) << (16 - kSlopeShift), 0x7610);
}
DEVICE float decoded_slope(uint16_t x) { return __uint_as_float(uint32_t{x} << kSlopeShift) * (1 / kSlopeUnit); }

// Where scores are, for ALiBi.
struct SlopeOfHead {
  float slope;
  int distance;
};

// Factors that make logits of scores, in natural units and in the log2 domain.
struct Units {
  float natural, log2;
};

// Applies the problem's options to scores, but for exclusions by position. Returns what the scores are still to be
// multiplied by. `keep_tanh(factor)` is called after softcap: tanh is the scores times the factor. `slope()` is a
// SlopeOfHead, and `read(f)` calls f(tile of the bias, tile of the mask).
template <class T, class ScoresOf, class Keep, class Slope, class Read>
DEVICE Units apply_options(const ScoresOf& scores, const Keep& keep_tanh, Problem& p, const rapt_hopper_scores& options,
                           const Slope& slope, const Read& read) {
  float scale = p.scale;
  if (p.softcap > 0) {
    cap<true>(scores.s, scale, p.softcap, options.softcap);
    keep_tanh(options.softcap.inverse);
    scale = 1;
  }
  if (p.alibi.data != nullptr) {
    const SlopeOfHead own = slope();
    scores.add_slopes(scale, own.slope, own.distance);
    scale = 1;
  }
  if (has_tiles(options))
    read([&](const ScoreTile& bias, const ScoreTile& mask) {
      if (options.bias.boxes > 0) {
        scores.template add_bias<T>(bias, options.bias, scale);
        scale = 1;
      }
      if (options.mask.boxes > 0) scores.apply_mask(mask, options.mask);
    });
  return {scale, scale * kLog2e};
}

// P of scores. `lse(i)` is of tile i's four elements, as statistics have it: in natural units if `natural`.
template <int Tiles, class Lse>
DEVICE void weigh_scores(Accumulators<Tiles>& s, const Units& units, bool natural, const Lse& lse) {
  const auto weigh_as = [&](const auto& power) {
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
      const float4 of = lse(i);
      s[i][0] = exp2(power(s[i][0], of.x)), s[i][1] = exp2(power(s[i][1], of.y));
      s[i][2] = exp2(power(s[i][2], of.z)), s[i][3] = exp2(power(s[i][3], of.w));
    }
  };
  if (natural) weigh_as([&](float x, float of) { return __builtin_fmaf(x, units.natural, -of) * kLog2e; });
  else weigh_as([&](float x, float of) { return __builtin_fmaf(x, units.log2, -of); });
}

}  // namespace rapt::nvidia
