// Merges the results of a workgroup's waves, each over other keys of the same 16 rows, in the order of the waves.
#pragma once

#include "kernels/common/softmax.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

template <class T, bool General, int Dims, int Waves>
struct WaveResults {
  using Row = Softmax<T, General>;
  // In float32, so long that a store's halves of a wave do not share banks.
  static constexpr int kStride = Dims + 8;
  // Weights are at least this: a weight of 0 would lose an Inf.
  static constexpr float kLeastWeight = 0x1p-126f;

  struct Part {
    float reference, sum;
  };
  struct Merged {
    float weights[Waves];
    float sum, factor;  // of all waves' keys; of out
    char* out;
  };

  float o[Waves][kTile][kStride];
  Part parts[Waves][kTile];
  Merged rows[kTile];

  // By each wave. A barrier must follow.
  DEVICE_MEMBER void put(const Row (&softmax)[1][2], const TileC (&accumulators)[1][Dims / 8], int wave, int lane) {
    for_rows<1>([&](int m, int half) {
      const int row = row_in_wave(m, half, lane);
      const Row& own = softmax[m][half];
      const float sum = query_sum(own.sum + own.rest);
      if (lane % 4 == 0) parts[wave][row] = {own.reference, sum};
#pragma unroll
      for (int d = 0; d < Dims / 8; ++d)
        *reinterpret_cast<float2*>(&o[wave][row][d * 8 + lane % 4 * 2]) = {accumulators[m][d][2 * half],
                                                                           accumulators[m][d][2 * half + 1]};
    });
  }

  // By one thread a row: its weights and softmax.
  DEVICE_MEMBER Row merge(int row) {
    Row merged;
#pragma unroll
    for (int w = 0; w < Waves; ++w)
      if (parts[w][row].sum != 0) merged.reference = max(merged.reference, parts[w][row].reference);
#pragma unroll
    for (int w = 0; w < Waves; ++w) {
      const Part part = parts[w][row];
      const float weight = exp2((part.reference - merged.reference) * Row::kPower);
      rows[row].weights[w] = part.sum != 0 ? max(weight, kLeastWeight) : 0;
      merged.sum += rows[row].weights[w] * part.sum;
    }
    rows[row].sum = merged.sum;
    return merged;
  }

  // Element `dim` of a row that is merged.
  DEVICE_MEMBER float merged(int row, int dim) const {
    float x = 0;
#pragma unroll
    for (int w = 0; w < Waves; ++w) x += rows[row].weights[w] * o[w][row][dim];
    return x;
  }
};

}  // namespace rapt::nvidia
