// The rows of q and k that a workgroup of a split kernel has, and where a cache's rows are.
#pragma once

#include "kernels/common/keys.hpp"

namespace rapt::RAPT_VENDOR {

inline constexpr int kQueryRows = 16;  // rows of q of a workgroup
inline constexpr int kRowGroup = 16;   // this many neighbouring rows of a cache, from a multiple on, share a page

// Divisor is rapt_abi_divisor in constant memory.
template <class Divisor>
DEVICE int divide(int n, const Divisor& by) {
  return static_cast<int>(static_cast<uint32_t>(uint64_t{2 * static_cast<uint32_t>(n)} * by.factor >> 32) >> by.shift);
}

struct SplitBlock {
  int batch, head_k, split;
  int first;       // row of the tile; row r is query r / group of head r % group
  Span q;          // rows of the sequence
  int cache_row;   // cache row of the sequence, if there is a cache
  int first_key;   // row of k of the first key; earlier rows are padding
  int keys, used;  // `used`: the row after the last key, without new keys
  Span packed_k;   // rows of the sequence, if k is packed

  // In the form of kernels/common: one head of q, and the sequence's keys.
  DEVICE_MEMBER Block block(Problem& p, int head) const {
    return {head, batch, q, {packed_k.first, keys}, 0, p.top_left ? 0 : keys - q.count};
  }
};

// The fields that all blocks of a sequence share.
DEVICE SplitBlock split_sequence(SplitArguments& a, int batch) {
  Problem& p = a.problem;
  SplitBlock b = {};
  b.batch = batch;
  b.q = sequence(p.cu_seqlens_q, b.batch, p.total_q, p.seqlen_q);
  b.packed_k = sequence(p.cu_seqlens_k, b.batch, p.total_k, p.seqlen_k);
  const int fresh = a.new_keys.seqlen;
  b.used = a.cache.seqused ? clamp(load_uniform(a.cache.seqused + b.batch), 0, p.seqlen_k - fresh)
                           : b.packed_k.count - fresh;
  b.first_key = a.cache.leftpad ? clamp(load_uniform(a.cache.leftpad + b.batch), 0, b.used + fresh) : 0;
  b.keys = b.used + fresh - b.first_key;
  b.cache_row = a.cache.batch_idx ? clamp(load_uniform(a.cache.batch_idx + b.batch), 0, a.cache.batches - 1) : b.batch;
  return b;
}

DEVICE SplitBlock split_block(SplitArguments& a, int id) {  // of workgroup `id`
  const int of_tiles = divide(id, a.by_row_tiles), of_splits = divide(of_tiles, a.by_splits);
  const int batch = divide(of_splits, a.by_heads_k);
  SplitBlock b = split_sequence(a, batch);
  b.first = (id - of_tiles * a.row_tiles) * kQueryRows;
  b.split = of_tiles - of_splits * a.splits;
  b.head_k = of_splits - batch * a.problem.heads_k;
  return b;
}

// The number of splits that may have keys. They come first; later splits write nothing.
DEVICE int splits_with_keys(SplitArguments& a, const SplitBlock& b) {
  return min(divide(b.used + a.new_keys.seqlen + a.split_rows - 1, a.by_split_rows), a.splits);
}

// One row of the tile: a query of one head. It may not exist.
struct SplitRow {
  int query, head;
};
DEVICE SplitRow split_row(SplitArguments& a, const SplitBlock& b, int row) {
  const int r = b.first + row, group = a.problem.group;
#ifdef __CUDACC__
  const int query = r / group;  // nvcc divides again where it needs `query`, and keeps `head` in registers
#else
  const int query = divide(r, a.by_group);
#endif
  return {query, b.head_k * group + r - query * group};
}
// The number of rows of the tile that exist. They come first.
DEVICE int query_rows(Problem& p, const SplitBlock& b) { return clamp(b.q.count * p.group - b.first, 0, kQueryRows); }

// The number of row `row` of the tile among the partial results.
DEVICE int64_t partial_row(SplitArguments& a, const SplitBlock& b, int row) {
  Problem& p = a.problem;
  const int64_t head = static_cast<int64_t>(b.batch) * p.heads_k + b.head_k;
  return (head * p.seqlen_q * p.group + b.first + row) * a.splits + b.split;
}

// Rows of k that some row of the tile attends, within [begin, end).
DEVICE Keys split_keys(SplitArguments& a, const SplitBlock& b, int begin, int end) {
  Problem& p = a.problem;
  const int first_query = divide(b.first, a.by_group), last_query = divide(b.first + kQueryRows - 1, a.by_group);
  const Keys keys = keys_of(p, b.block(p, 0), first_query, last_query - first_query + 1);
  const auto row = [&](int key) { return clamp(key + b.first_key, begin, end); };
  return {row(keys.begin), row(keys.end), row(keys.full_begin), row(keys.full_end)};
}
// The same within the split.
DEVICE Keys split_keys(SplitArguments& a, const SplitBlock& b) {
  const int begin = b.split * a.split_rows;
  return split_keys(a, b, begin, begin + a.split_rows);
}

// The rows of k or v of one head and sequence.
class CacheRows {
 public:
  template <class Rows>
  DEVICE_MEMBER CacheRows(SplitArguments& a, const SplitBlock& b, const Rows& rows)
      : cache_(a.cache), seq(rows.seq), page_bytes_(rows.batch) {
    const int batch = a.cache.block_table ? 0 : b.cache_row;
    data_ = static_cast<char*>(rows.data) + batch * rows.batch + b.packed_k.first * rows.seq + b.head_k * rows.head;
    pages_ = a.cache.block_table ? a.cache.block_table + b.batch * a.cache.block_table_row : nullptr;
  }

  // Every row lies a multiple of these strides from here.
  DEVICE_MEMBER const char* origin() const { return data_; }
  DEVICE_MEMBER int64_t strides() const { return pages_ == nullptr ? seq : seq | page_bytes_; }

  // Row r, of group r / kRowGroup, is at group(r / kRowGroup) + r * seq. It must exist: its page is read.
  DEVICE_MEMBER char* group(int group) const {
    if (pages_ == nullptr) return data_;
    const int place = divide(group * kRowGroup, cache_.by_page);
    const int page = clamp(load_uniform(pages_ + place), 0, cache_.batches - 1);
    return data_ + page * page_bytes_ - static_cast<int64_t>(place) * cache_.page * seq;
  }

 private:
#ifdef __CUDACC__
  const rapt_abi_cache& cache_;
#else
  Constant<rapt_abi_cache>& cache_;
#endif
 public:
  const int64_t seq;  // stride in bytes

 private:
  const int64_t page_bytes_;
  char* data_;
  const int32_t* pages_;
};

}  // namespace rapt::RAPT_VENDOR
