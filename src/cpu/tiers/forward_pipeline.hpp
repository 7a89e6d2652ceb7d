// Runs groups of queries whose strips are whole tiles without edges or options. The tile unit and the vector units work
// at the same time: a group's exponentials alternate with tile products of the next group's S and the previous group's
// O.
#pragma once

#include "cpu/tiers/softmax.hpp"

namespace rapt::cpu::RAPT_TIER {

struct PipelinedGroup {
  const float* q;  // [words][kGroupLanes]
  Rows k, v;       // v: [head_dim_v][pairs of keys]
  int64_t rows;    // keys, a multiple of kBlockRows
  float* o;        // [head_dim_v][kGroupLanes]
  float *m, *l;    // [kGroupLanes]
  bool fresh;      // O is not initialised
};

#if defined(__AMX_BF16__)
struct TilePipeline {
  float scale_log2;
  int64_t words, dim_v;
  float *s[2], *p[2];  // [keys][kGroupLanes], [pairs of keys][kGroupLanes]

  void run(const PipelinedGroup* groups, int64_t count) const {
    for (int64_t b = 0; b < groups[0].rows / kBlockRows; ++b) score_block(groups[0], s[0], b);
    for (int64_t i = 0; i < count; ++i)
      softmax(i > 0 ? groups + i - 1 : nullptr, groups[i], i + 1 < count ? groups + i + 1 : nullptr, i % 2);
    for (int64_t b = 0; b < dim_v / kBlockRows; ++b) value_block(groups[count - 1], p[(count - 1) % 2], b);
  }

 private:
  void score_block(const PipelinedGroup& of, float* to, int64_t b) const {
    tile_block<false>(of.k.data + b * kBlockRows * of.k.row, of.k.row, of.q, kGroupLanes, words,
                      to + b * kBlockRows * kGroupLanes, kGroupLanes);
  }
  void value_block(const PipelinedGroup& of, const float* from, int64_t b) const {
    const float* v = of.v.data + b * kBlockRows * of.v.row;
    float* o = of.o + b * kBlockRows * kGroupLanes;
    if (of.fresh) tile_block<false>(v, of.v.row, from, kGroupLanes, of.rows / 2, o, kGroupLanes);
    else tile_block<true>(v, of.v.row, from, kGroupLanes, of.rows / 2, o, kGroupLanes);
  }

  // `now` is in buffer `turn` of the two.
  __attribute__((noinline)) void softmax(const PipelinedGroup* last, const PipelinedGroup& now,
                                         const PipelinedGroup* next, int turn) const {
    F most[kVectors], shift[kVectors], alpha[kVectors], sums[kVectors] = {};
    for (F& x : most) x = splat(-INFINITY);
    fold_max(s[turn], now.rows, kGroupLanes, most);
    raise_maximum(most, scale_log2, 1.f, now.m, shift, alpha);
    const float factor = scale_huge(s[turn], now.rows, scale_log2, shift);
    // Keys whose exponentials fit in the processor's window together with a block of tiles.
    constexpr int64_t kChunk = kTileRows;
    const int64_t chunks = now.rows / kChunk, value_blocks = last ? dim_v / kBlockRows : 0,
                  blocks = value_blocks + (next ? next->rows / kBlockRows : 0);
    for (int64_t c = 0; c < chunks; ++c) {
      for (int64_t b = blocks * c / chunks; b < blocks * (c + 1) / chunks; ++b)
        if (b < value_blocks) value_block(*last, p[1 - turn], b);
        else score_block(*next, s[1 - turn], b - value_blocks);
      exponentials<true, false>(s[turn] + c * kChunk * kGroupLanes, kChunk, factor, shift, sums,
                                p[turn] + c * kChunk / 2 * kGroupLanes);
    }
    for (int i = 0; i < kVectors; ++i) store(now.l + i * kLanes, fma(load(now.l + i * kLanes), alpha[i], sums[i]));
    if (!now.fresh) scale_lanes(dim_v, now.o, kGroupLanes, alpha);
  }
};
#endif

}  // namespace rapt::cpu::RAPT_TIER
