// The end of a split in a split kernel. The waves' results, each over other keys of the same 16 rows, are merged in the
// order of the waves. The merged result is a partial result, or is folded into the row's result.
#pragma once

#include "kernels/nvidia/tile/fold.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

// Eight rows of a wave's O pass through shared memory at a time: they fit into one buffer of a ring.
inline constexpr int kRowsAtOnce = 8;

template <class T, bool General, int Dims, int Waves>
struct Merging {
  using Row = Softmax<T, General>;
  static constexpr int kExchangeBytes = kRowsAtOnce * Dims * static_cast<int>(sizeof(float));

  struct Merged {
    float weights[Waves];
    float sum, factor;  // over all waves' keys; the factor of out
    FoldWeights of_part, of_row;
    rapt_abi_partial part, row;  // folded so far
    char* out;
  };

  rapt_abi_partial results[Waves][kTile];
  Merged rows[kTile];
  int exchanges[Waves];  // where in shared memory a wave has its rows of O

  // Called by each wave. A barrier must follow.
  DEVICE_MEMBER void put_softmax(const Row (&softmax)[1][2], int exchange, int wave, int lane) {
    exchanges[wave] = exchange;
    for_rows<1>([&](int m, int half) {
      const Row& own = softmax[m][half];
      const float sum = query_sum(own.sum + own.rest);
      if (lane % 4 == 0) results[wave][row_in_wave(m, half, lane)] = {own.reference, sum};
    });
  }
  DEVICE void put(const TileC (&accumulators)[1][Dims / 8], int half, char* exchange, int lane) {
    auto* const to = reinterpret_cast<float*>(exchange);
#pragma unroll
    for (int d = 0; d < Dims / 8; ++d)
      *reinterpret_cast<float2*>(to + place(lane / 4, d * 8 + lane % 4 * 2)) = {accumulators[0][d][2 * half],
                                                                                accumulators[0][d][2 * half + 1]};
  }

  // Called by one thread per row: computes the waves' weights. Returns the split's softmax.
  DEVICE_MEMBER rapt_abi_partial merge(int row) {
    rapt_abi_partial merged = no_keys();
#pragma unroll
    for (int w = 0; w < Waves; ++w)
      if (results[w][row].sum != 0) merged.reference = max(merged.reference, results[w][row].reference);
#pragma unroll
    for (int w = 0; w < Waves; ++w) {
      const rapt_abi_partial of_wave = results[w][row];
      rows[row].weights[w] = weight_of(of_wave, merged.reference, Row::kPower);
      merged.sum += rows[row].weights[w] * of_wave.sum;
    }
    rows[row].sum = merged.sum;
    return merged;
  }

  // Element `dim` of a merged row.
  DEVICE_MEMBER float merged(const char* shared, int row, int dim) const {
    float x = 0;
#pragma unroll
    for (int w = 0; w < Waves; ++w) {
      const float* const o = reinterpret_cast<const float*>(shared + exchanges[w]);
      x += rows[row].weights[w] * o[place(row % kRowsAtOnce, dim)];
    }
    return x;
  }

 private:
  // In an exchange, groups of eight elements change places with the row, so that half a wave's stores go to different
  // banks.
  DEVICE int place(int row, int dim) { return row * Dims + (dim ^ row % 4 * 8); }
};

}  // namespace rapt::nvidia
