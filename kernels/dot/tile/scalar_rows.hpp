// Rows of K or V in scalar registers, for products with what a lane has of its own. All lanes use the same row, and an
// instruction of the vector unit takes one scalar operand: so rows take neither LDS nor vector registers.
//
// Scalar loads come in any order, so a wave can only wait for all of them. Rows come in pieces of 32 words: the next
// one is on its way while the current one is multiplied.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/common/not_finite.hpp"
#include "kernels/dot/tile/parked.hpp"

namespace rapt::amd {

using i32x4 = vec<int, 4>;
using i32x8 = vec<int, 8>;
using i32x16 = vec<int, 16>;
// Clang has no builtins for these loads. Words past the descriptor's length are 0.
extern "C" __device__ i32x4 scalar_load_4(i32x4 rows, int offset, int policy) __asm("llvm.amdgcn.s.buffer.load.v4i32");
extern "C" __device__ i32x8 scalar_load_8(i32x4 rows, int offset, int policy) __asm("llvm.amdgcn.s.buffer.load.v8i32");
extern "C" __device__ i32x16 scalar_load_16(i32x4 rows, int offset,
                                            int policy) __asm("llvm.amdgcn.s.buffer.load.v16i32");

// `Words` neighbouring words of each of `Rows` rows.
template <int Rows, int Words>
struct Piece {
  static constexpr int words = Words, rows = Rows;
  vec<int, Words> row[rows];

  // What follows comes after the loads have arrived.
  DEVICE_MEMBER void arrive() const {
#pragma unroll
    for (const auto& x : row) asm volatile("" ::"s"(x));
  }
};

// A wave's accesses to LDS before this come before those after it.
DEVICE void lanes_meet() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront", "local");
  __builtin_amdgcn_wave_barrier();
}

// The rows of one head, and of them the slice of Dims elements from `slice` on. Direct: rows are loaded as they are.
// Otherwise rows may begin at any element, and later passes replace elements. So the wave copies each tile to its own
// part of LDS, element by element, and its lanes hand it to the scalar registers.
template <class T, int Dims, bool Direct>
class ScalarRows {
 public:
  static constexpr int size = sizeof(typename T::element), words = Dims * size / 4;
  // A word of bf16 is two operands. The vector unit unpacks the lane's own for each four rows.
  static constexpr bool kUnpacks = __is_same(T, bf16);

  // `attended`: the rows that are read. The others are taken as zeros.
  DEVICE_MEMBER ScalarRows(const char* data, int64_t seq, int dims, int slice, const Keys& attended, int pass)
      : facts_({data + slice * size, seq, attended.begin, static_cast<uint32_t>(attended.end - attended.begin),
                max(dims - slice, 0) * size, pass}) {}

  // Bytes of LDS for a tile of `rows` rows.
  DEVICE constexpr int staged_bytes(int rows) { return rows * words * 4; }

  // S^T of the rows from `first` on: their products with the lane's row. `staged` is the wave's part of LDS.
  template <int Tiles, int Steps>
  DEVICE_MEMBER void multiply(int first, char* staged, u32x4 (&own)[Steps], Tile (&s)[Tiles]) const {
    using P = typename Choose<kUnpacks, Piece<4, 4>, Piece<2, 16>>::type;
#pragma unroll
    for (Tile& tile : s) tile = Tile{};
    for_pieces<P, Tiles * kTileRows>(first, staged, [&](const P& piece, int row, int word) {
      float sums[P::rows];
      if constexpr (kUnpacks) computed_here(own[word / 4]);  // unpacked here, not before the loop
#pragma unroll
      for (int r = 0; r < P::rows; ++r) sums[r] = s[(row + r) / kTileRows][(row + r) % kTileRows];
#pragma unroll
      for (int w = 0; w < P::words; ++w)
#pragma unroll
        for (int r = 0; r < P::rows; ++r)
          sums[r] =
              add_product<T>(static_cast<uint32_t>(piece.row[r][w]), own[(word + w) / 4][(word + w) % 4], sums[r]);
#pragma unroll
      for (int r = 0; r < P::rows; ++r) {
        computed_here(sums[r]);  // or the products would wait, with their rows, for the first use of S
        s[(row + r) / kTileRows][(row + r) % kTileRows] = sums[r];
      }
    });
  }

  // O^T += V^T P^T, with the weights `p` of the rows from `first` on. Pair: Weights or HalfWeights.
  template <class Pair, int Tiles, int DimTiles>
  DEVICE_MEMBER void accumulate(int first, char* staged, const Tile (&p)[Tiles], Tile (&o)[DimTiles]) const {
    using P = Piece<2, kUnpacks ? 8 : 16>;
    constexpr int each = 4 / size;  // elements of a word
    for_pieces<P, Tiles * kTileRows>(first, staged, [&](const P& piece, int row, int word) {
      const Tile& weights = p[row / kTileRows];
      const Pair pair(weights[row % kTileRows], weights[row % kTileRows + 1]);
#pragma unroll
      for (int w = 0; w < P::words; ++w) {
        const int dim = (word + w) * each;
        float sums[each];
#pragma unroll
        for (int i = 0; i < each; ++i) sums[i] = o[(dim + i) / kTileRows][(dim + i) % kTileRows];
        const auto a = static_cast<uint32_t>(piece.row[0][w]), b = static_cast<uint32_t>(piece.row[1][w]);
        if constexpr (__is_same(Pair, HalfWeights)) add_rows(a, b, pair, sums);
        else add_rows<T>(a, b, pair, sums);
#pragma unroll
        for (int i = 0; i < each; ++i) {
          computed_here(sums[i]);
          o[(dim + i) / kTileRows][(dim + i) % kTileRows] = sums[i];
        }
      }
    });
  }

 private:
  // Calls use(piece, row, word) for all pieces of the rows [first, first + Rows), each when it has arrived and while
  // the next one is on its way.
  template <class P, int Rows, class Use>
  DEVICE_MEMBER void for_pieces(int first, char* staged, Use use) const {
    constexpr int across = words / P::words, pieces = Rows / P::rows * across;
    static_assert(words % P::words == 0 && Rows % P::rows == 0);
    const Facts facts = facts_.here();
    first = opaque_uniform(first);
    if constexpr (!Direct) stage<Rows>(facts, first, staged);
    const char* at = facts.data + first * facts.seq;
    int place = first - facts.begin;
    i32x4 rows[P::rows];
    const auto load = [&](int i) {
      const int row = i / across * P::rows, word = i % across * P::words;
      if constexpr (!Direct) return gather<P>(staged + (row * words + word) * 4);
      P piece;
#pragma unroll
      for (int r = 0; r < P::rows; ++r) {
        if (word == 0) {
          rows[r] = descriptor(at, static_cast<uint32_t>(place + r) < facts.count ? facts.bytes : 0);
          at += facts.seq;
          asm volatile("" : "+s"(at));  // otherwise each row's distance from the first would take registers
        }
        if constexpr (P::words == 16) piece.row[r] = scalar_load_16(rows[r], word * 4, 0);
        else if constexpr (P::words == 4) piece.row[r] = scalar_load_4(rows[r], word * 4, 0);
        else piece.row[r] = scalar_load_8(rows[r], word * 4, 0);
      }
      if (word == 0) place = opaque_uniform(place + P::rows);
      return piece;
    };
    P next = load(0);
#pragma unroll
    for (int i = 0; i < pieces; ++i) {
      const P now = next;
      now.arrive();
      __builtin_amdgcn_sched_barrier(0);
      if (Direct && i + 1 < pieces) next = load(i + 1);
      __builtin_amdgcn_sched_barrier(0);
      use(now, i / across * P::rows, i % across * P::words);
      __builtin_amdgcn_sched_barrier(0);
      if (!Direct && i + 1 < pieces) next = load(i + 1);
    }
    if constexpr (!Direct) lanes_meet();
  }

  struct Facts {
    const char* data;  // of the slice
    int64_t seq;
    int begin;
    uint32_t count;
    int bytes;  // of a row, from the slice on
    int pass;
  };

  DEVICE i32x4 descriptor(const char* row, int bytes) {
    const auto address = reinterpret_cast<uint64_t>(row);
    constexpr int of_words = 0x00027000;  // the last word of a descriptor of words (Vega ISA document, 8.1.5)
    return {static_cast<int>(address), static_cast<int>(address >> 32), bytes, of_words};
  }

  // Copies the rows from `first` on to LDS. Elements outside are 0.
  template <int Rows>
  DEVICE_MEMBER void stage(const Facts& facts, int first, char* staged) const {
    using element = typename T::element;
    lanes_meet();
#pragma nounroll
    for (int n = opaque_thread_id() % kWave; n < Rows * Dims; n += kWave) {
      const int row = first + n / Dims, dim = n % Dims;
      element x = {};
      if (static_cast<uint32_t>(row - facts.begin) < facts.count && dim * size < facts.bytes)
        x = load_unaligned<element, size>(facts.data + row * facts.seq + dim * size);
      if (facts.pass != kAll) x = T::round(replaced(facts.pass, T::to_float(x)));
      reinterpret_cast<element*>(staged)[n] = x;
    }
    lanes_meet();
  }

  template <class P>
  DEVICE P gather(const char* staged) {
    const int lane = opaque_thread_id() % kWave, row = lane / P::words % P::rows;
    const int own = *reinterpret_cast<const int*>(staged + (row * words + lane % P::words) * 4);
    P piece;
#pragma unroll
    for (int r = 0; r < P::rows; ++r)
#pragma unroll
      for (int w = 0; w < P::words; ++w) piece.row[r][w] = __builtin_amdgcn_readlane(own, r * P::words + w);
    return piece;
  }

  const Parked<Facts> facts_;
};

}  // namespace rapt::amd
