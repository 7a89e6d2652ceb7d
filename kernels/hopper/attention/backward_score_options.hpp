// Options on scores in the backward pass, in tiles of 64 by 64 scores.
#pragma once

#include "kernels/hopper/attention/score_options.hpp"

namespace rapt::nvidia {

inline constexpr int kScoreRows = 64;
using ScoreTile = ScorePanels<kScoreRows, 64>;

// What a stage has of `groups` times 64 queries: their bias, then their mask.
template <int Groups>
struct StageOfScores {
  static constexpr int kBytes = 2 * Groups * ScoreTile::kBytes;
  uint32_t address;

  DEVICE_MEMBER ScoreTile bias(int group) const { return {address + static_cast<uint32_t>(group * ScoreTile::kBytes)}; }
  DEVICE_MEMBER ScoreTile mask(int group) const { return bias(Groups + group); }

  DEVICE_MEMBER void load(const rapt_hopper_scores& s, Barrier arrival, const Coordinates& first) const {
    arrival.arrive_expecting(Groups * (s.bias.boxes * s.bias.box_bytes + s.mask.boxes * s.mask.box_bytes));
#pragma unroll 1
    for (int group = 0; group < Groups; ++group) {
      const Coordinates own = {first.column, first.row + group * kScoreRows, first.head, first.batch};
      if (s.bias.boxes > 0) copy(s.bias, bias(group), arrival, own, own.column);
      if (s.mask.boxes > 0) copy(s.mask, mask(group), arrival, own, own.column / 2);
    }
  }

 private:
  DEVICE void copy(const rapt_hopper_score_tiles& t, const ScoreTile& to, Barrier arrival, const Coordinates& from,
                   int column) {
    copy_box(to.address, t.map, arrival,
             {column, from.row * t.per_query, from.head * t.per_head, from.batch * t.per_batch});
  }
};

DEVICE bool has_tiles(const rapt_hopper_scores& s) { return s.bias.boxes + s.mask.boxes > 0; }

// Scores are a warp's of 16 keys, transposed: a lane's are of keys lane / 4 and 8 more, and of queries 2 (lane % 4) + 8
// i and the next ones.
struct TransposedScores {
  using Scores = Accumulators<kScoreRows / 8>;
  Scores& s;
  int first_key, lane;  // within the tile

  // s = s * scale + bias
  template <class T>
  DEVICE_MEMBER void add_bias(const ScoreTile& tile, const rapt_hopper_score_tiles& t, float scale) const {
    const int query = (lane / 16 * 8 + lane % 8) * t.per_query, piece = first_key / 8 + lane / 8 % 2;  // its address
    const uint32_t row = tile.address + query * ScoreTile::Tile::kRowBytes + (piece ^ query % 8) * 16;
#pragma unroll
    for (int i = 0; i < kScoreRows / 16; ++i) {
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
      const int query = (2 * (lane % 4) + e % 2) * t.per_query, key = first_key + lane / 4 + e / 2 * 8;
      const uint32_t row = tile.address + query * ScoreTile::Tile::kRowBytes + (key / 16 ^ query % 8) * 16 + key % 16;
#pragma unroll
      for (int i = 0; i < kScoreRows / 8; ++i)
        if (load_shared_8(row + i * 8 * ScoreTile::Tile::kRowBytes * t.per_query) == 0) s[i][e] = kMasked;
    }
  }

  // s = s * scale + bias of ALiBi. `distance`: of the lane's first key from the diagonal of its first query.
  DEVICE_MEMBER void add_slopes(float scale, float slope, int distance) const {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const auto first = static_cast<float>(distance + e / 2 * 8 - e % 2);
#pragma unroll
      for (int i = 0; i < kScoreRows / 8; ++i)
        s[i][e] = __builtin_fmaf(s[i][e], scale, -slope * __builtin_fabsf(first - static_cast<float>(8 * i)));
    }
  }
};

// Softcap of scores, and 1 - tanh^2 in `slopes`.
template <int Tiles>
DEVICE void cap_with_slopes(Accumulators<Tiles>& s, Accumulators<Tiles>& slopes, float scale, float softcap,
                            const rapt_hopper_softcap& c) {
  cap(s, scale, softcap, c);
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float t = s[i][e] * c.inverse;
      slopes[i][e] = __builtin_fmaf(-t, t, 1);
    }
}

template <int Tiles>
DEVICE void multiply_all(Accumulators<Tiles>& s, float factor) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) s[i][e] *= factor;
}
template <int Tiles>
DEVICE void multiply_all(Accumulators<Tiles>& s, const Accumulators<Tiles>& factors) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) s[i][e] *= factors[i][e];
}

}  // namespace rapt::nvidia
