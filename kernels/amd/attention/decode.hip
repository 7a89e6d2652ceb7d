// Attention of few queries to long KV, often a cache, with the memory's bandwidth as the limit. A workgroup computes 16
// rows of q, all of which share a head of k, over one split of its keys. Its waves take turns of RAPT_BLOCK_K keys; each
// reads its rows of K and V straight into registers, the next ones while it computes, and has a softmax of its own. At
// the end the waves' results are added in LDS, in the order of the waves.
//
// A variant is RAPT_HEAD_DIM (any head_dim and head_dim_v up to it), RAPT_DTYPE and RAPT_GENERAL.
#include "kernels/amd/tile/decode_rows.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using R = Rows16<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr bool kGeneral = RAPT_GENERAL;
inline constexpr int kSize = sizeof(T::element);
inline constexpr int kSteps = kHeadDim / R::step, kBlocks = kKeys / R::keys;
// A row of V is loaded in chunks of 16 lanes, each with kEach neighbouring dimensions, of which each product takes one.
inline constexpr int kChunks = (kHeadDim / 16 * kSize + 15) / 16, kEach = kHeadDim / 16 / kChunks;
inline constexpr int kChunkDims = 16 * kEach;
using Part = vec<T::element, kEach>;
using Row = Softmax<T, kGeneral, RowLanes>;

// LDS has q first, and at the end the waves' results, kTogether dimensions of each lane's chunk at a time.
inline constexpr int kTogether = kEach < 4 ? kEach : kEach % 4 == 0 ? 4 : 3, kResultDims = 16 * kTogether;
inline constexpr int kRowBytes = kHeadDim * kSize + 16, kResultStride = kResultDims + 1;
inline constexpr int kResultBytes = kWaves * kDecodeRows * kResultStride * 4;
inline constexpr int kLds = kDecodeRows * kRowBytes > kResultBytes ? kDecodeRows * kRowBytes : kResultBytes;
struct WaveSums {
  float reference[kWaves][kDecodeRows], sum[kWaves][kDecodeRows];
};

// A lane's scores of a block, as kernels/common sees them.
struct RowScores {
  static constexpr int count = R::scores;
  static constexpr int group = 1;  // a cache's first key may be in any row

  float (&s)[count];
  int lane;

  DEVICE_MEMBER float get(int i) const { return s[i]; }
  DEVICE_MEMBER void set(int i, float x) const { s[i] = x; }
  DEVICE_MEMBER void scale(float factor) const {
#pragma unroll
    for (int i = 0; i < count; ++i) s[i] *= factor;
  }
  DEVICE_MEMBER int key(int i) const { return first_key() + i; }
  DEVICE_MEMBER int first_key() const { return lane / 16 * count; }
  DEVICE int step(int i) { return i; }
};

// A wave's part of the result: its column of O^T and the softmax of its row.
struct WaveResult {
  Row softmax;
  Result16 o[kChunks][kEach] = {};
};

// The next rows of K, as fragments, and of V, as they are.
struct NextKeys {
  R::A k[kBlocks][R::products][kSteps];
  Part v[kBlocks][R::scores][kChunks];
};

using Rows = DecodeRows<T>;

template <Rows::Access A>
DEVICE void load_k(Rows& rows, int first, NextKeys& next) {
  const int lane = opaque_thread_id() % kWave;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    rows.find(first + b * R::keys, R::key_row(0, lane));
#pragma unroll
    for (int p = 0; p < R::products; ++p) {
      const char* const row = rows.at(R::key_row(p, lane));
#pragma unroll
      for (int c = 0; c < kSteps; ++c)
        next.k[b][p][c] = __builtin_bit_cast(
            R::A, rows.template load<16 / kSize, A>(row, c * R::step + R::a_offset(lane) / kSize));
    }
  }
}

template <Rows::Access A>
DEVICE void load_v(Rows& rows, int first, NextKeys& next) {
  const int lane = opaque_thread_id() % kWave;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    rows.find(first + b * R::keys, R::value_row(0, lane));
#pragma unroll
    for (int i = 0; i < R::scores; ++i) {
      const char* const row = rows.at(R::value_row(i, lane));
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
        next.v[b][i][c] = rows.template load<kEach, A>(row, c * kChunkDims + R::column(lane) * kEach);
    }
  }
}

// Calls load(access) with a constant.
template <class Load>
DEVICE void with_access(Rows::Access access, Load load) {
  if (access == Rows::kWhole) load.template operator()<Rows::kWhole>();
  else if (access == Rows::kVectors) load.template operator()<Rows::kVectors>();
  else load.template operator()<Rows::kElements>();
}

// Dimension `e` of a chunk, of the rows of V of a part of the keys.
template <int Rows>
DEVICE R::A value_column(const Part (&v)[R::scores][kChunks], int part, int chunk, int e) {
  vec<T::element, Rows> x;
#pragma unroll
  for (int i = 0; i < Rows; ++i) x[i] = v[part * Rows + i][chunk][e];
  return __builtin_bit_cast(R::A, x);
}

DEVICE void replace_values(int pass, NextKeys& next) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int i = 0; i < R::scores; ++i)
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
#pragma unroll
        for (int e = 0; e < kEach; ++e) {
          Part& x = next.v[b][i][c];
          x[e] = T::round(replaced(pass, T::to_float(x[e])));
        }
}

// The softmax of a row over the whole split, from those of the waves.
struct SplitRow {
  float reference, sum;
  float factors[kWaves];  // of the waves' results
};

DEVICE SplitRow split_row(const WaveSums& sums, int row, float power) {
  SplitRow s;
  s.reference = kLowest;
#pragma unroll
  for (int w = 0; w < kWaves; ++w) s.reference = max(s.reference, sums.reference[w][row]);
  s.sum = 0;
#pragma unroll
  for (int w = 0; w < kWaves; ++w) {
    s.factors[w] = exp2((sums.reference[w][row] - s.reference) * power);
    s.sum += s.factors[w] * sums.sum[w][row];
  }
  return s;
}

// Made anew where options need it: keeping it through the loop would raise SGPR pressure.
DEVICE Block block_of_head(DecodeArguments& a, int head) {
  return decode_block(a, opaque_uniform(workgroup_id())).block(a.problem, head);
}

// One wave's keys of the split.
DEVICE void attend(DecodeArguments& a, char* lds, int pass, WaveResult& result) {
  Problem& p = a.problem;
  const DecodeBlock block = decode_block(a, opaque_uniform(workgroup_id()));
  const CacheRows k_rows(a, block, a.k), v_rows(a, block, a.v);
  const Keys keys = decode_keys(a, block);
  const int thread = opaque_thread_id(), lane = thread % kWave, wave = uniform(thread / kWave);
  const DecodeRow row = decode_row(p, block, lane % 16);
  const Query query = query_of(p, block.block(p, 0), row.query);

  Rows k(k_rows, p.head_dim, keys), v(v_rows, p.head_dim_v, keys);
  const auto k_access = k.access(16 / kSize, kHeadDim, aligned(k_rows.group(keys.begin / kRowGroup), k_rows.seq));
  const auto v_access = v.access(kEach, kHeadDim, aligned(v_rows.group(keys.begin / kRowGroup), v_rows.seq));
  const int step = kWaves * kKeys, begin = keys.begin / kKeys * kKeys + wave * kKeys;
  const float scale = kGeneral ? exponent_scale(pass, kLog2e) : exponent_scale(pass, p.scale_log2);

  NextKeys next;
  const auto next_k = [&](int first) { with_access(k_access, [&]<Rows::Access A> { load_k<A>(k, first, next); }); };
  const auto next_v = [&](int first) { with_access(v_access, [&]<Rows::Access A> { load_v<A>(v, first, next); }); };
  if (begin < keys.end) {
    next_k(begin);
    next_v(begin);
  }
  if (pass != kAll) barrier();  // after the vote of the pass before
  stage_q<T, kHeadDim, kThreads>(opaque_copy(a), block, opaque_thread_id(),
                                 [&](int row, int x) { return lds + row * kRowBytes + x * kSize; });
  barrier();
  R::B q[kSteps];
#pragma unroll
  for (int c = 0; c < kSteps; ++c)
    q[c] = *reinterpret_cast<const R::B*>(lds + lane % 16 * kRowBytes + c * R::step * kSize + R::b_offset(lane));
#pragma unroll 1
  for (int first = begin; first < keys.end; first += step) {
    float s[kBlocks][R::scores];
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int i = 0; i < R::products; ++i) {
        Result16 x = {};
#pragma unroll
        for (int c = 0; c < kSteps; ++c) x = R::multiply(next.k[b][i][c], q[c], x);
        constexpr int each = R::scores / R::products;
#pragma unroll
        for (int r = 0; r < each; ++r) s[b][i * each + r] = x[r];
      }
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int i = 0; i < R::scores; ++i) keep_above(s[b][i]);
    if (first + step < keys.end) next_k(first + step);

    float maximum = -__builtin_inff();
    const bool partial = first < keys.full_begin || first + kKeys > keys.full_end;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const int first_key = first + b * R::keys - block.first_key;
      if constexpr (kGeneral) {
        DecodeArguments& again = opaque_copy(a);
        transform_logits(again.problem, block_of_head(again, row.head), query, first_key, RowScores{s[b], lane});
      } else if (partial)
        exclude(RowScores{s[b], lane}, query.begin - first_key, query.end - first_key);
#pragma unroll
      for (int i = 0; i < R::scores; ++i) maximum = max(maximum, s[b][i]);
    }
    if constexpr (!kGeneral) maximum *= scale;
    Row& softmax = result.softmax;
    if (any_lane(softmax.outgrown(maximum))) {
      const float factor = softmax.raise_reference(maximum, kGeneral ? scale : 1);
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
#pragma unroll
        for (int e = 0; e < kEach; ++e) result.o[c][e] *= factor;
    }
    float sum = 0;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < R::scores; ++i) {
        float& x = s[b][i];
        x = exp2(kGeneral ? (x - softmax.reference) * scale : __builtin_fmaf(x, scale, -softmax.reference));
        sum += x;
      }
    }
    softmax.add(sum);
    if (kGeneral && pass < kAbove && opaque_copy(a).problem.keep_threshold < 65536) {
      DecodeArguments& again = opaque_copy(a);
      const Block of_head = block_of_head(again, row.head);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b)
        drop(again.problem, of_head, query, first + b * R::keys - block.first_key, RowScores{s[b], lane});
    }

    if (pass != kAll) replace_values(pass, next);
    constexpr int rows_of_part = R::scores / R::steps;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int part = 0; part < R::steps; ++part) {
        const R::B weights = R::weights(s[b], part);
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
#pragma unroll
          for (int e = 0; e < kEach; ++e)
            result.o[c][e] = R::multiply(value_column<rows_of_part>(next.v[b], part, c, e), weights, result.o[c][e]);
      }
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int e = 0; e < kEach; ++e) keep_above(result.o[c][e]);
    if (first + step < keys.end) next_v(first + step);
  }
}

// Adds the waves' results and stores them. Returns whether one of them has an Inf or NaN that may come from a key that
// its row does not attend.
DEVICE bool store(DecodeArguments& a, int pass, WaveResult& result, char* lds, WaveSums& sums) {
  Problem& p = a.problem;
  const DecodeBlock block = decode_block(a, opaque_uniform(workgroup_id()));  // again: keeping it through the loop would raise SGPR pressure
  const int thread = opaque_thread_id(), lane = thread % kWave, wave = uniform(thread / kWave);
  const float total = RowLanes::sum(result.softmax.sum + result.softmax.rest);
  if (lane < 16) {
    sums.reference[wave][lane] = result.softmax.reference;
    sums.sum[wave][lane] = total;
  }
  auto* const results = reinterpret_cast<float*>(lds);

  constexpr int threads_of_row = kThreads / kDecodeRows, pieces = kEach / kTogether;
  const int own = thread / threads_of_row, first_dim = thread % threads_of_row;
  const DecodeRow row = decode_row(p, block, own);
  const bool exists = row.query < block.q.count;
  const int rows = p.seqlen_q * p.group;
  const int64_t partial =
      ((static_cast<int64_t>(block.batch) * p.heads_k + block.head_k) * rows + block.first + own) * a.splits + block.split;
  char* const out = first_row_of(a.out, block.batch, block.q, row.head) + row.query * a.out.seq;
  float* const partial_out = a.partial.out + partial * p.head_dim_v;
  const bool split = a.splits > 1;

  SplitRow s;
  Row softmax;
  float factor = 1, zero = 0;
#pragma unroll
  for (int piece = 0; piece < kChunks * pieces; ++piece) {
    const int c = piece / pieces, first = piece % pieces * kTogether;
    barrier();
#pragma unroll
    for (int e = 0; e < kTogether; ++e)
#pragma unroll
      for (int r = 0; r < static_cast<int>(sizeof(Result16) / 4); ++r)
        results[(wave * kDecodeRows + lane % 16) * kResultStride + R::result_row(r, lane) * kTogether + e] =
            result.o[c][first + e][r];
    barrier();
    if (piece == 0) {
      s = split_row(sums, own, kGeneral ? exponent_scale(pass, kLog2e) : 1);
      softmax.reference = s.reference;
      softmax.sum = s.sum;
      if (!split) factor = softmax.finish_total(sink_of<kGeneral>(p, block.block(p, row.head))) * (kGeneral ? p.keep_scale : 1);
    }
    if (!exists) continue;
#pragma unroll 1
    for (int x = first_dim; x < kResultDims; x += threads_of_row) {
      const int dim = c * kChunkDims + x / kTogether * kEach + first + x % kTogether;
      if (dim >= p.head_dim_v) break;
      float o = 0;
#pragma unroll
      for (int w = 0; w < kWaves; ++w) o += s.factors[w] * results[(w * kDecodeRows + own) * kResultStride + x];
      zero = __builtin_fmaf(o, 0, zero);
      auto* const element = reinterpret_cast<T::element*>(out + dim * kSize);
      if (pass < kAbove) {
        if (split) partial_out[dim] = o;
        else *element = T::round(o * factor);
      } else if (o != 0) {
        const float infinity = pass == kAbove ? __builtin_inff() : -__builtin_inff();
        if (split) partial_out[dim] += infinity;
        else *element = T::round(T::to_float(*element) + infinity);
      }
    }
  }
  if (!exists || pass >= kAbove) return false;
  if (first_dim == 0) {
    if (split) a.partial.softmax[partial] = {s.reference, s.sum};
    else store_lse(a, block.block(p, row.head), row.query, softmax.lse());
  }
  return zero != 0 && s.sum == s.sum;
}

// The new keys of the split.
DEVICE void append_new(DecodeArguments& a) {
  const DecodeBlock block = decode_block(a, opaque_uniform(workgroup_id()));
  append<T, kThreads>(a, block, opaque_thread_id(), CacheRows(a, block, a.k), CacheRows(a, block, a.v),
                      block.split * a.split_rows, (block.split + 1) * a.split_rows);
  global_barrier();
}

DEVICE bool decode(DecodeArguments& a, char* lds, WaveSums& sums, int pass) {
  if (pass == kAll && a.new_keys.seqlen > 0) append_new(opaque_copy(a));
  WaveResult result;
  attend(opaque_copy(a), lds, pass, result);
  const bool again = store(opaque_copy(a), pass, result, lds, sums);
  return pass != kAll || vote<kWaves>(again, lds);
}

DEVICE bool has_keys(DecodeArguments& a) {
  const DecodeBlock block = decode_block(a, workgroup_id());
  return block.split < splits_with_keys(a, block);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kThreads, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_decode_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLds];
  __shared__ static WaveSums sums;
  if (DecodeArguments& a = opaque_copy(arguments<DecodeArguments>()); a.splits > 1 && !has_keys(a)) return;
#pragma nounroll
  for (int pass = kAll; pass < kPasses; ++pass)
    if (!decode(opaque_copy(arguments<DecodeArguments>()), lds, sums, pass)) break;
}
