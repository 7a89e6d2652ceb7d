// K and V of one tile of keys, from global memory through registers into LDS: K as it is, V transposed, so that both are
// read as fragments of rows. Registers hold the next tile while this one is computed.
//
// Rows lie in the order of Matrix::slot and are padded by 16 bytes: 4 banks further a row, 16-byte reads of a fragment
// find no bank conflict, nor do the writes. Each access has a place that is the same for the whole wave (scalar
// registers) and one that is the lane's for every access: so few vector registers and instructions go into addresses.
#pragma once

#include "kernels/amd/matrix.hpp"

namespace rapt::amd {

template <class T, int HeadDim, int Keys, int Waves>
class Stage {
 public:
  static constexpr int element_bytes = sizeof(typename T::element);
  static constexpr int k_stride = HeadDim * element_bytes + 16, v_stride = Keys * element_bytes + 16;
  static constexpr int k_bytes = Keys * k_stride, bytes = k_bytes + HeadDim * v_stride;

  // k and v: row 0 of the sequence; strides in bytes.
  DEVICE_MEMBER Stage(const char* k, int64_t k_seq, int head_dim, const char* v, int64_t v_seq, int head_dim_v,
                      int seqlen_k, char* lds)
      : k_{k, k_seq, head_dim}, v_{v, v_seq, head_dim_v}, seqlen_k_(seqlen_k), lds_(lds),
        wave_(uniform(thread_id() / kWave)) {}

  // Starts the loads of keys [first, first + Keys); those from seqlen_k on become zeros.
  DEVICE_MEMBER void load(int first) {
    const bool whole = first + Keys <= seqlen_k_;
    if (k_.vectors) {
      const int offset = k_.offset(k_lane_row(lane()), k_lane_dim(lane()));
      const auto load = [&](int row, int dim, int at) {
        return load_unaligned<u32x4, element_bytes>(k_.at(first + row, dim), static_cast<uint32_t>(at));
      };
      if (whole && k_.head_dim == HeadDim) {
        const int at = here(offset);
        for_k([&](int i, int row, int dim) { k_part_[i] = load(row, dim, at); });
      } else {
        const int again = thread_id_again() % kWave, rows = seqlen_k_ - first - k_lane_row(again);
        const int dims = k_.head_dim - k_lane_dim(again);
        for_k([&](int i, int row, int dim) {
          k_part_[i] = u32x4(0);
          if (row < rows && dim < dims) k_part_[i] = load(row, dim, here(offset));
        });
      }
    }
    if (v_.vectors) {
      const int offset = v_.offset(v_lane_row(lane()), v_lane_dim(lane()));
      const auto load = [&](int row, int dim, int at) {
        return load_unaligned<Four, element_bytes>(v_.at(first + row, dim), static_cast<uint32_t>(at));
      };
      if (whole && v_.head_dim == HeadDim) {
        const int at = here(offset);
        for_v([&](int i, int row, int dim) {
#pragma unroll
          for (int j = 0; j < 4; ++j) v_part_[i][j] = load(row + j, dim, at);
        });
      } else {
        const int again = thread_id_again() % kWave, rows = seqlen_k_ - first - v_lane_row(again);
        const int dims = v_.head_dim - v_lane_dim(again);
        for_v([&](int i, int row, int dim) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            v_part_[i][j] = Four(0);
            if (row + j < rows && dim < dims) v_part_[i][j] = load(row + j, dim, here(offset));
          }
        });
      }
    }
  }

  // Writes what was loaded for keys [first, first + Keys).
  DEVICE_MEMBER void store(int first) const {
    if (k_.vectors) {
      char* const k = lds_ + M::slot(k_lane_row(lane())) * k_stride + k_lane_dim(lane()) * element_bytes;
      for_k([&](int i, int row, int dim) {
        *reinterpret_cast<u32x4*>(k + (M::slot(row) * k_stride + dim * element_bytes)) = k_part_[i];
      });
    } else {
      copy(k_, first, [&](int row, int dim) { return M::slot(row) * k_stride + dim * element_bytes; });
    }
    if (v_.vectors) {
      char* const v = lds_ + k_bytes + M::slot(v_lane_dim(lane())) * v_stride + v_lane_row(lane()) * element_bytes;
      for_v([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          *reinterpret_cast<Four*>(v + (M::slot(dim + j) * v_stride + row * element_bytes)) = column(v_part_[i], j);
      });
    } else {
      copy(v_, first, [&](int row, int dim) { return k_bytes + M::slot(dim) * v_stride + row * element_bytes; });
    }
  }

  // The rows at one place of the matrix unit.
  DEVICE_MEMBER const char* k_row(int slot) const { return lds_ + slot * k_stride; }
  DEVICE_MEMBER const char* v_row(int slot) const { return lds_ + k_bytes + slot * v_stride; }

 private:
  using M = Matrix<T>;
  using Four = vec<uint32_t, element_bytes>;  // 4 elements

  struct Rows {
    const char* data;
    int64_t seq;
    int head_dim;
    // Loaded 16 bytes at once (of V 4 elements), from a scalar address and a lane's offset of 32 bits.
    bool vectors = aligned(data, seq) && head_dim % (16 / element_bytes) == 0 && seq >= 0 && seq < 0x7FFFFFFF / Keys;

    DEVICE_MEMBER const char* at(int row, int dim) const { return data + row * seq + dim * element_bytes; }
    DEVICE_MEMBER int offset(int row, int dim) const { return row * static_cast<int>(seq) + dim * element_bytes; }
  };

  // K: a wave loads 64 bytes of kWave / 4 rows at once. Lanes 4 apart have rows 4 places apart in LDS: other banks.
  static constexpr int k_dims = 64 / element_bytes, k_rows = kWave / 4, k_across = HeadDim / k_dims;
  static constexpr int k_pieces = Keys / k_rows * k_across, k_loads = (k_pieces + Waves - 1) / Waves;
  // V: 8 blocks of 4 keys by kWave / 8 blocks of 4 dimensions. Lanes 8 apart have neighbouring places in LDS.
  static constexpr int v_rows = 32, v_dims = kWave / 2, v_down = Keys / v_rows;
  static constexpr int v_pieces = v_down * (HeadDim / v_dims), v_loads = (v_pieces + Waves - 1) / Waves;
  static_assert(Keys % k_rows == 0 && Keys % v_rows == 0 && HeadDim % k_dims == 0 && HeadDim % v_dims == 0);

  DEVICE int lane() { return thread_id() % kWave; }
  DEVICE int k_lane_dim(int lane) { return lane % 4 * (16 / element_bytes); }
  DEVICE int k_lane_row(int lane) { return M::unslot((lane & 4) | (lane >> 3 & 3) | (lane >> 2 & 8)); }
  DEVICE int v_lane_row(int lane) { return lane % 8 * 4; }
  DEVICE int v_lane_dim(int lane) {
    return 4 * (kWave == 64 ? (lane >> 2 & 2) | (lane >> 4 & 1) | (lane >> 3 & 4) : (lane >> 2 & 2) | (lane >> 4 & 1));
  }

  // f(i, row, dim): the wave's i-th piece begins there.
  template <class F>
  DEVICE_MEMBER void for_k(F f) const {
#pragma unroll
    for (int i = 0; i < k_loads; ++i) {
      const int piece = i * Waves + wave_;
      if (k_pieces % Waves != 0 && piece >= k_pieces) break;
      f(i, M::unslot(piece / k_across * k_rows), piece % k_across * k_dims);
    }
  }
  template <class F>
  DEVICE_MEMBER void for_v(F f) const {
#pragma unroll
    for (int i = 0; i < v_loads; ++i) {
      const int piece = i * Waves + wave_;
      if (v_pieces % Waves != 0 && piece >= v_pieces) break;
      f(i, piece % v_down * v_rows, piece / v_down * v_dims);
    }
  }

  // Rows that begin anywhere, or end within a vector: element by element, straight to `place`.
  template <class F>
  DEVICE_MEMBER void copy(const Rows& from, int first, F place) const {
    using element = typename T::element;
#pragma nounroll
    for (int n = thread_id_again(); n < Keys * HeadDim; n += Waves * kWave) {
      const int row = n / HeadDim, dim = n % HeadDim;
      element x = {};
      if (first + row < seqlen_k_ && dim < from.head_dim)
        x = load_unaligned<element, element_bytes>(from.at(first + row, dim));
      *reinterpret_cast<element*>(lds_ + place(row, dim)) = x;
    }
  }

  // Column j of 4 rows of 4 elements.
  DEVICE u32x2 column(const u32x2* row, int j) {
    const uint32_t select = j % 2 ? 0x07060302u : 0x05040100u;
    return {__builtin_amdgcn_perm(row[1][j / 2], row[0][j / 2], select),
            __builtin_amdgcn_perm(row[3][j / 2], row[2][j / 2], select)};
  }
  DEVICE u32x4 column(const u32x4* row, int j) { return {row[0][j], row[1][j], row[2][j], row[3][j]}; }

  const Rows k_, v_;
  const int seqlen_k_;
  char* const lds_;
  const int wave_;
  u32x4 k_part_[k_loads];
  Four v_part_[v_loads][4];
};

}  // namespace rapt::amd
