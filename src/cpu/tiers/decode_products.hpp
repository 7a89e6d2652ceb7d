// q K of decode. A vector of scores holds R query rows by W = kLanes / R keys.
//
//   scores [keys / W][groups of R rows][R][W]
//
// Thus a few rows' maxima, exponentials and sums are plain vectors, as in the tile kernels.
#pragma once

#include "cpu/tiers/decode_scratch.hpp"

namespace rapt::cpu::RAPT_TIER {

//
// kShared: several rows share each load of K and V.
template <int kRowsOfVector, bool kSharedLoads>
struct DecodeRows {
  static constexpr int R = kRowsOfVector, W = kLanes / R;
  static constexpr bool kShared = kSharedLoads;

  static RAPT_INLINE int64_t at(int64_t groups, int64_t r, int64_t j) {
    return (j / W * groups + r / R) * kLanes + r % R * W + j % W;
  }
};

// One key head's rows of a block of keys: K and V of its first head, and this head's offset from it in bytes.
struct DecodeBlock {
  const char* const* keys;
  const char* const* values;
  int64_t key_offset, value_offset;
  int64_t count;

  template <class T>
  RAPT_INLINE const T* key(int64_t j) const {
    return reinterpret_cast<const T*>(keys[j] + key_offset);
  }
  template <class T>
  RAPT_INLINE const T* value(int64_t j) const {
    return reinterpret_cast<const T*>(values[j] + value_offset);
  }
};

// Lines that `bytes` of each of `rows` rows cover, at least one.
constexpr int lines_of(int64_t rows, int64_t bytes) {
  return static_cast<int>(rows * bytes < 64 ? 1 : rows * bytes / 64);
}

// One or two rows, bound by memory: lanes along head_dim, keys one after the other in memory order. kLanes sums are
// reduced together. q: [R][padded words].
template <class T, int R>
struct DirectProducts {
  static constexpr bool kDot = kDecodeDot<T>;
  static constexpr int W = kLanes / R;

  static __attribute__((noinline)) void run(const DecodeBlock& block, const float* q, int64_t head_dim, float scale,
                                            float* scores, char*, DecodeAhead& all_ahead) {
    DecodeAhead ahead = all_ahead;
    constexpr int64_t kLineWords = kLanes * vectors_of_line(kLanes * (kDot ? 4 : sizeof(T)));
    const int64_t row = padded(words<kDot>(head_dim)), full = head_dim / (kDot ? 2 * kLanes : kLanes) * kLanes;
    for (int64_t j = 0; j < block.count; j += W) {
      F acc[kLanes] = {};
      RAPT_UNROLL for (int i = 0; i < W; ++i) {
        const T* k = block.key<T>(std::min(j + i, block.count - 1));
        for (int64_t w = 0; w < row; w += kLanes) {
          if (w % kLineWords == 0) ahead.line();
          const F key = w < full ? whole_words(k, w) : load_words<kDot>(k, w, head_dim);
          RAPT_UNROLL for (int r = 0; r < R; ++r) acc[r * W + i] =
              multiply_add<kDot>(acc[r * W + i], load(q + r * row + w), key);
        }
      }
      store(scores + j * R, sums(acc) * splat(scale));
    }
    all_ahead = ahead;
  }

  static RAPT_INLINE F whole_words(const T* row, int64_t w) {
    if constexpr (kDot) {
      F v;
      std::memcpy(&v, row + 2 * w, sizeof v);
      return v;
    } else {
      return load_as_float(row + w);
    }
  }
};

// Three rows and more, bound by arithmetic. A vector holds R rows by W words of head_dim, and W words of a key multiply
// the whole vector. So W vectors of sums reduce to one vector of scores. q: [words / W][G][R][W].
template <class T, int R, int G>
struct SharedProducts {
  static constexpr bool kDot = kDecodeDot<T>;
  static constexpr int W = kLanes / R;
  static constexpr int kElements = kDot ? 2 * W : W;
  // Whether the longest head exceeds the longest chain of multiply-adds; if so, run<true> adds a part to the scores.
  static constexpr bool kParts = kMaxHeadDim / W > kPartOfChain;
  static constexpr int kKeys = kLanes >= 16 ? (G <= 2 ? 8 : 4) : G <= 2 ? 4 : 2;  // at most 16 sums

  template <bool kAdd = false>
  static __attribute__((noinline)) void run(const DecodeBlock& block, const float* q, int64_t head_dim, float scale,
                                            float* scores, char* copies, DecodeAhead& all_ahead) {
    DecodeAhead ahead = all_ahead;
    const int64_t chunks = (head_dim + kElements - 1) / kElements, copy_bytes = chunks * kElements * sizeof(T);
    constexpr int kLines = lines_of(kKeys, kElements * sizeof(T));
    const F factor = splat(scale);
    for (int64_t j = 0; j < block.count; j += kKeys) {
      const T* k[kKeys];
      RAPT_UNROLL for (int i = 0; i < kKeys; ++i) {
        k[i] = block.key<T>(std::min(j + i, block.count - 1));
        if (head_dim % kElements != 0) {  // the last chunk goes on with zeros
          T* copy = reinterpret_cast<T*>(copies + i * copy_bytes);
          std::memset(static_cast<void*>(copy + head_dim / kElements * kElements), 0, kElements * sizeof(T));
          std::memcpy(static_cast<void*>(copy), k[i], static_cast<size_t>(head_dim) * sizeof(T));
          k[i] = copy;
        }
      }
      F acc[kKeys][G] = {};
      for (int64_t c = 0; c < chunks; ++c) {
        ahead.lines<kLines>();
        F rows[G];
        RAPT_UNROLL for (int g = 0; g < G; ++g) rows[g] = load(q + (c * G + g) * kLanes);
        RAPT_UNROLL for (int i = 0; i < kKeys; ++i) {
          const F key = repeated(k[i] + c * kElements);
          RAPT_UNROLL for (int g = 0; g < G; ++g) acc[i][g] = multiply_add<kDot>(acc[i][g], key, rows[g]);
        }
      }
      RAPT_UNROLL for (int i = 0; i < kKeys; i += W) {
        RAPT_UNROLL for (int g = 0; g < G; ++g) {
          F part[W];
          RAPT_UNROLL for (int x = 0; x < W; ++x) part[x] = acc[i + x][g];
          float* to = scores + ((j + i) / W * G + g) * kLanes;
          store(to, kAdd ? load(to) + part_sums<W>(part) * factor : part_sums<W>(part) * factor);
        }
      }
    }
    all_ahead = ahead;
  }

  static RAPT_INLINE F repeated(const T* words) {
    if constexpr (kDot || std::is_same_v<T, float>) return repeat_words<R>(words);
    else return repeat16<R>(words);
  }
};

}  // namespace rapt::cpu::RAPT_TIER
