// Keys in a KV cache. Tensor maps see its rows, or its pages, as sequences. A tile of keys lies in one page: pages have
// a multiple of a tile's rows, and no padding before the keys.
#pragma once

#include "kernels/common/split.hpp"

namespace rapt::nvidia {

using Cache = const rapt_abi_cache;

DEVICE bool has_cache(Cache& c) { return c.batches > 0; }

// The block with its sequence's keys.
DEVICE Block with_cached_keys(Cache& c, Problem& p, Block b) {
  const int used = c.seqused == nullptr ? p.seqlen_k : clamp(load_uniform(c.seqused + b.batch), 0, p.seqlen_k);
  const int first = c.leftpad == nullptr ? 0 : clamp(load_uniform(c.leftpad + b.batch), 0, used);
  b.k = {first, used - first};
  b.diagonal = p.top_left ? 0 : b.k.count - b.q.count;
  return b;
}

DEVICE int cache_row(Cache& c, int batch) {
  return c.batch_idx == nullptr ? batch : clamp(load_uniform(c.batch_idx + batch), 0, c.batches - 1);
}

// The page of a sequence's row, and the page's first row.
struct Page {
  int page, first_row;
};
DEVICE Page page_of(Cache& c, Problem& p, int batch, int row) {
  const int place = divide(min(row, p.seqlen_k - 1), c.by_page);
  const int page = load_uniform(c.block_table + batch * c.block_table_row + place);
  return {clamp(page, 0, c.batches - 1), place * c.page};
}

// Where a tile of keys is, as tensor maps see it.
struct KeyTile {
  int row, batch;
};

}  // namespace rapt::nvidia
