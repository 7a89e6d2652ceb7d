// delta, the inner products of rows of dout and out: the diagonal of dO O^T. It uses the instruction that computes dO
// V^T, so that both are equal to the last bit where a row of out is a row of V. A query that attends one key then has
// no gradient.
#pragma once

#include "kernels/nvidia/isa/arguments.hpp"
#include "kernels/nvidia/tile/products.hpp"
#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// The lane's 4 bytes of 16 bytes of a row with `dims` elements, from `dim` on; zeros behind them, and if `row` is null.
template <class T>
DEVICE uint32_t load_word(const char* row, int dim, int dims, bool vectors) {
  using element = typename T::element;
  const auto* const elements = reinterpret_cast<const element*>(row);
  dim += thread_id() % 4 * (4 / static_cast<int>(sizeof(element)));
  if (row == nullptr || dim >= dims) return 0;
  if constexpr (sizeof(element) == 4) return bits(elements[dim]);
  else if (vectors) return *reinterpret_cast<const uint32_t*>(elements + dim);
  else return elements[dim] | (dim + 1 < dims ? static_cast<uint32_t>(elements[dim + 1]) << 16 : 0);
}

// A lane's words of its two rows of 16, l / 4 and l / 4 + 8, as operands B. They are loaded before they are needed, so
// that a workgroup that computes nothing else waits for memory only once.
template <class T, int Dims>
struct RowWords {
  uint32_t x[Dims / kStep<T>][2][2];

  // Rows of out; null if they do not exist.
  DEVICE_MEMBER void load(const char* const (&rows)[2], int dims, bool vectors) {
#pragma unroll
    for (int dim = 0; dim < Dims; dim += kStep<T>)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          x[dim / kStep<T>][half][i] = load_word<T>(rows[half], dim + i * kStep<T> / 2, dims, vectors);
  }
};

// Elements of the lane's rows of out from `dim` on; its first row of 16 is `row` of the block's sequence.
template <class T, int Dims>
DEVICE RowWords<T, Dims> words_of_out(BackwardArguments& a, const Block& block, int row, int dim = 0) {
  const char* const of_head =
      first_row_of(a.out, block.batch, block.q, block.head) + dim * static_cast<int>(sizeof(typename T::element));
  const int lane = thread_id() % kWave, dims = a.problem.head_dim_v - dim;
  const char* rows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int own = row + row_in_wave(0, half, lane);
    rows[half] = own < block.q.count ? of_head + own * a.out.seq : nullptr;
  }
  RowWords<T, Dims> words;
  words.load(rows, dims, aligned(of_head, a.out.seq) && dims % 2 == 0);
  return words;
}

// The products of rows of `dout`, which is staged, from `row` on, with the rows of out. Each lane receives the products
// of its two rows.
template <class T, int Dims, class Staged>
DEVICE void row_products(const Staged& dout, int row, const RowWords<T, Dims>& out, float (&products)[2]) {
  const int own = thread_id() % kWave / 4;
  TileC c[2] = {};
#pragma unroll
  for (int dim = 0; dim < Dims; dim += kStep<T>) {
    const Fragment a = dout.operand_a(row, dim);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto& words = out.x[dim / kStep<T>][half];
      multiply(c[half], a, words[0], words[1], T());
    }
  }
  // Row r of a tile has column r in lane 4 r + r / 2.
#pragma unroll
  for (int half = 0; half < 2; ++half)
    products[half] = __shfl_sync(~0u, own % 2 ? c[half][2 * half + 1] : c[half][2 * half], own * 4 + own / 2);
}

// The same where rows of out are staged too.
template <class T, class Staged>
DEVICE void row_products(const Staged& dout, int row, const Staged& out, float (&products)[2]) {
  RowWords<T, Staged::kDims> words;
#pragma unroll
  for (int dim = 0; dim < Staged::kDims; dim += kStep<T>) {
    const Fragment b = out.operands_b(row, dim);
#pragma unroll
    for (int i = 0; i < 4; ++i) words.x[dim / kStep<T>][i / 2][i % 2] = b.x[i];
  }
  row_products(dout, row, words, products);
}

// For float32, with the sums of add_float_products(): each of the four lanes that share a row has the whole sum.
template <int Dims, class Staged>
DEVICE void row_products(const Staged& dout, int row, const RowWords<fp32, Dims>& out, float (&products)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* const own = dout.at(row + half * 8 + thread_id() % kWave / 4);
    products[half] = 0;
#pragma unroll
    for (int dim = 0; dim < Dims; ++dim) {
      const uint32_t word = out.x[dim / kStep<fp32>][half][dim % kStep<fp32> / 4];
      products[half] = __builtin_fmaf(own[dim], from_bits(__shfl_sync(~0u, word, dim % 4, 4)), products[half]);
    }
  }
}

}  // namespace rapt::nvidia
