// Adds to dV what rows of dO with Inf or NaN contribute, which a kernel's runs left out (runs.hpp). A key that such a
// row attends gets the row's Inf or NaN in each element. If dropout dropped the key, it gets NaN, as 0 times Inf is.
//
// A wave computes kWave keys by kWave elements. Each lane finds out whether a row attends its key, and then adds its
// element of the row to all keys that the row attends. Only rows whose delta = dO . O is not finite are looked at; if
// no kernel left statistics, those whose dO is not finite.
#pragma once

#include "kernels/common/huge.hpp"
#include "kernels/common/runs.hpp"
#include "kernels/common/scores.hpp"

namespace rapt::RAPT_VENDOR {

// The logit of one query and one key.
struct OneLogit {
  static constexpr int count = 1, group = 1;

  float& s;

  DEVICE_MEMBER float get(int) const { return s; }
  DEVICE_MEMBER void set(int, float x) const { s = x; }
  DEVICE_MEMBER void scale(float factor) const { s *= factor; }
  DEVICE_MEMBER int key(int) const { return 0; }
  DEVICE_MEMBER int first_key() const { return 0; }
  DEVICE int step(int) { return 0; }
};

template <class T>
DEVICE float element_of(const char* row, int dim) {
  constexpr int size = sizeof(typename T::element);
  return T::to_float(load_unaligned<typename T::element, size>(row + dim * size));
}

template <class T>
DEVICE bool is_finite(const char* row, int dims) {
  float zero = 0;  // 0 times each element: NaN if it is not finite
#pragma unroll 1
  for (int dim = 0; dim < dims; ++dim) zero += 0 * element_of<T>(row, dim);
  return zero == zero;
}

template <class T>
DEVICE float product_of(const char* q, const char* k, int dims) {
  float sum = 0;
#pragma unroll 1
  for (int dim = 0; dim < dims; ++dim) sum += element_of<T>(q, dim) * element_of<T>(k, dim);
  return sum;
}

// A wave's keys, one for each lane, and one element of their dV in each lane.
template <class T, bool General>
struct InfiniteSums {
  BackwardArguments& a;
  Block block;  // its head is one of q
  int key, dim;
  bool exists;    // the key
  const char* k;  // its row
  bool k_finite;
  Lanes above, below;  // keys to which +Inf and -Inf were added; NaN counts as both

  // Adds the lane's element of a row. All lanes have the same row.
  DEVICE_MEMBER void add(int row, float lse) {
    Problem& p = a.problem;
    float x = 0;
    if (dim < p.head_dim_v)
      x = element_of<T>(first_row_of(a.dout, block.batch, block.q, block.head) + row * a.dout.seq, dim);
    if (!any_lane(!is_finite(x))) return;
    const Query query = query_of(p, block, row);
    bool attends = exists && query.begin <= key && key < query.end, dropped = false;
    if (attends) {
      // A bias, a mask, or an Inf in q or K excludes keys, by a logit of -Inf. An Inf in q may exclude all keys: then
      // lse is finite only if there is a sink.
      float s = 0;
      if (!k_finite || !is_finite(lse) || p.sink.data != nullptr) {
        const char* const q = first_row_of(a.q, block.batch, block.q, block.head) + row * a.q.seq;
        s = product_of<T>(q, k, p.head_dim);
      }
      if constexpr (General) {
        transform_logits(p, block, query, key, OneLogit{s});
        float kept = 1;
        if (p.keep_threshold < 65536) drop(p, block, query, key, OneLogit{kept});
        dropped = kept == 0;
      }
      attends = s != kMasked;
    }
    const Lanes attending = lanes_where(attends), without = lanes_where(attends && dropped);
    if (is_finite(x)) return;
    above |= x < 0 ? without : attending;
    below |= x > 0 ? without : attending;
  }

  // Whether all elements are NaN already.
  DEVICE_MEMBER bool complete() const {
    const Lanes all = lanes_where(exists);
    return !any_lane(dim < a.problem.head_dim_v && (above & below) != all);
  }

  DEVICE_MEMBER void add_to(char* rows, int64_t seq) const {
    if (dim >= a.problem.head_dim_v) return;
    const int first_key = key - thread_id() % kWave;
    for (Lanes left = above | below; left != 0; left &= left - 1) {
      const int i = first_of(left);
      auto* const element = reinterpret_cast<typename T::element*>(rows + (first_key + i) * seq) + dim;
      float x = T::to_float(*element);
      if (is_infinite(x)) x = 0;  // a sum of finite products, beyond the type's range
      if (above >> i & 1) x += __builtin_inff();
      if (below >> i & 1) x -= __builtin_inff();
      *element = T::round(x);
    }
  }
};

// The rows of one head of q, by their statistics.
struct RowsOfStatistics {
  const rapt_abi_row_statistics* data;

  DEVICE RowsOfStatistics of(BackwardArguments& a, const Block& block) {
    return {statistics_of(a, block.batch, block.q, block.head)};
  }
  DEVICE_MEMBER bool finite(int row) const { return is_finite(data[row].delta); }
  DEVICE_MEMBER float lse(int row) const { return data[row].lse; }
};

// The same where no kernel left statistics.
template <class T>
struct RowsOfDout {
  const char *dout, *lses;
  int64_t row_bytes, lse_bytes;
  int dims;

  DEVICE RowsOfDout of(BackwardArguments& a, const Block& block) {
    const float* const lses = lse_at(a, block.batch, block.head, block.q, 0);
    return {first_row_of(a.dout, block.batch, block.q, block.head), reinterpret_cast<const char*>(lses), a.dout.seq,
            a.lse.query, a.problem.head_dim_v};
  }
  DEVICE_MEMBER bool finite(int row) const { return is_finite<T>(dout + row * row_bytes, dims); }
  DEVICE_MEMBER float lse(int row) const { return *reinterpret_cast<const float*>(lses + row * lse_bytes); }
};

// The waves that share the keys: all of a workgroup.
struct AllWaves {
  DEVICE void wait() { global_barrier(); }
  DEVICE int number() { return uniform(thread_id() / kWave); }
};

// For `Keys` keys from block.first_row on in the block's head of k. Their dV has been stored, by the `Waves` waves.
template <class T, bool General, int Keys, int Waves, class Sharing = AllWaves, class Rows = RowsOfStatistics>
DEVICE void add_infinite_rows(BackwardArguments& a, const Block& block) {
  if (a.dv.data == nullptr) return;
  Sharing::wait();
  Problem& p = a.problem;
  const int lane = thread_id() % kWave, end = min(block.first_row + Keys, block.k.count);
  constexpr int groups = (Keys + kWave - 1) / kWave;
#pragma unroll 1
  for (int part = Sharing::number(); part < groups * ((p.head_dim_v + kWave - 1) / kWave); part += Waves) {
    const int first_key = block.first_row + part % groups * kWave, key = first_key + lane;
    if (first_key >= end) continue;
    const char* const k = first_row_of(a.k, block.batch, block.k, block.head) + min(key, end - 1) * a.k.seq;
    InfiniteSums<T, General> sums = {
        a, block, key, part / groups * kWave + lane, key < end, k, is_finite<T>(k, p.head_dim), 0, 0};
    const Queries rows = queries_of(p, block, first_key, min(kWave, end - first_key));
#pragma unroll 1
    for (int g = 0; g < p.group && !sums.complete(); ++g) {
      sums.block.head = block.head * p.group + g;
      const Rows of_head = Rows::of(a, sums.block);
#pragma unroll 1
      for (int first = rows.begin; first < rows.end && !sums.complete(); first += kWave) {
        const int row = min(first + lane, rows.end - 1);
        Lanes left = lanes_where(first + lane < rows.end && !of_head.finite(row));
#pragma unroll 1
        for (; left != 0 && !sums.complete(); left &= left - 1) {
          const int next = first + first_of(left);
          sums.add(next, of_head.lse(next));
        }
      }
    }
    sums.add_to(first_row_of(a.dv, block.batch, block.k, block.head), a.dv.seq);
  }
}

}  // namespace rapt::RAPT_VENDOR
