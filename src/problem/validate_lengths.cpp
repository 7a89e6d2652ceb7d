// Validation of lengths: cu_seqlens of packed sequences, and all parts of a KV cache.
#include <vector>

#include "problem/validate_parts.hpp"

namespace rapt {

namespace {

// A compact int32 index tensor, or null after adding a violation.
const int32_t* indices(Validator& v, const char* name, const rapt_tensor* given, std::initializer_list<int64_t> shape,
                       const char* meaning) {
  const int32_t ndim = static_cast<int32_t>(shape.size());
  const Tensor* t = v.tensor(name, given, ndim, ndim, Validator::Place::call_device_or_host);
  if (!t || !v.dtype(*t, {kInt32}) || !v.shape(*t, shape, meaning)) return nullptr;
  if (t->shape[ndim - 1] > 1 && t->stride[ndim - 1] != 1) {
    v.bad.add(cat(name, " has stride ", t->stride[ndim - 1], " in its last dimension, must be 1"));
    return nullptr;
  }
  v.read(*t);
  return reinterpret_cast<const int32_t*>(t->data);
}

// Checks cu_seqlens against the packed tensor's rows; returns the longest sequence.
int64_t check_cu_seqlens(Validator& v, const char* name, const int32_t* cu, int64_t batch, int64_t total) {
  int64_t longest = 0;
  if (cu[0] != 0) v.bad.add(cat(name, "[0] is ", cu[0], ", must be 0"));
  for (int64_t b = 0; b < batch; ++b) {
    if (cu[b + 1] < cu[b]) {
      v.bad.add(cat(name, "[", b + 1, "] is ", cu[b + 1], ", must not be less than the ", cu[b], " before it"));
      return longest;
    }
    longest = std::max<int64_t>(longest, cu[b + 1] - cu[b]);
  }
  if (cu[batch] > total) v.bad.add(cat(name, " ends at ", cu[batch], ", beyond the tensor's ", total, " rows"));
  return longest;
}

int64_t with_given_max(Validator& v, const char* name, int64_t given, int64_t longest) {
  if (given != 0 && given < longest)
    v.bad.add(cat(name, " is ", given, ", must be 0 or at least the longest sequence, ", longest));
  return std::max(given, longest);
}

// The longest sequence, as the caller promises it: the lengths are in device memory, which is not read. It may exceed
// the total of rows, as with lengths in host memory, because a bias has this size.
int64_t promised_max(Validator& v, const char* name, int64_t given, int64_t total) {
  if (given < 0 || (given == 0 && total > 0))
    v.bad.add(cat(name, " is ", given, ", must be the longest sequence where cu_seqlens are in device memory"));
  return given;
}

}  // namespace

void check_varlen(Validator& v, const rapt_varlen& varlen, const CallTensors& t, Call& call) {
  const Tensor* rows =
      v.tensor("varlen.cu_seqlens_q", varlen.cu_seqlens_q, 1, 1, Validator::Place::call_device_or_host);
  if (!rows) return;
  if (rows->shape[0] < 1) {
    v.bad.add("varlen.cu_seqlens_q has 0 elements, must have batch + 1");
    return;
  }
  call.batch = rows->shape[0] - 1;
  const int32_t* q = indices(v, "varlen.cu_seqlens_q", varlen.cu_seqlens_q, {call.batch + 1}, "[batch + 1]");
  const int32_t* k =
      t.packed_k ? indices(v, "varlen.cu_seqlens_k", varlen.cu_seqlens_k, {call.batch + 1}, "[batch + 1]") : nullptr;
  call.cu_seqlens_q = q;
  call.cu_seqlens_k = k;
  if (t.packed_k && (varlen.cu_seqlens_k->device.type == RAPT_CPU) != (rows->device.type == RAPT_CPU)) {
    v.bad.add(cat("varlen.cu_seqlens_k is on ", device_text(varlen.cu_seqlens_k->device),
                  ", must be in the same memory as cu_seqlens_q, on ", device_text(rows->device)));
    return;
  }
  if (rows->device.type != RAPT_CPU) {
    call.device_lengths = true;
    call.check_lengths = varlen.check_device_seqlens != 0;
    call.seqlen_q = promised_max(v, "varlen.max_seqlen_q", varlen.max_seqlen_q, t.q->shape[0]);
    if (t.packed_k) call.seqlen_k = promised_max(v, "varlen.max_seqlen_k", varlen.max_seqlen_k, t.k->shape[0]);
    return;
  }
  if (q)
    call.seqlen_q = with_given_max(v, "varlen.max_seqlen_q", varlen.max_seqlen_q,
                                   check_cu_seqlens(v, "varlen.cu_seqlens_q", q, call.batch, t.q->shape[0]));
  if (k)
    call.seqlen_k = with_given_max(v, "varlen.max_seqlen_k", varlen.max_seqlen_k,
                                   check_cu_seqlens(v, "varlen.cu_seqlens_k", k, call.batch, t.k->shape[0]));
}

namespace {

void check_new_keys(Validator& v, const rapt_kv_cache& cache, const CallTensors& t, Call& call) {
  if (!cache.new_k && !cache.new_v && !cache.rotary_cos && !cache.rotary_sin) return;
  NewKeys& fresh = call.new_keys;
  if (!call.seqused_k) v.bad.add("kv_cache.new_k and kv_cache.rotary_cos need kv_cache.seqused_k");
  if (!cache.new_k != !cache.new_v) v.bad.add("kv_cache.new_k and kv_cache.new_v must be given together");
  if (!cache.rotary_cos != !cache.rotary_sin)
    v.bad.add("kv_cache.rotary_cos and kv_cache.rotary_sin must be given together");
  if (cache.new_k && cache.new_v) {
    const Tensor *k = v.tensor("kv_cache.new_k", cache.new_k, 4, 4),
                 *value = v.tensor("kv_cache.new_v", cache.new_v, 4, 4);
    if (!k || !value) return;
    v.dtype(*k, {t.q->dtype});
    v.dtype(*value, {t.q->dtype});
    v.contiguous_rows(*k);
    v.contiguous_rows(*value);
    v.shape(*k, {call.batch, kAnySize, call.heads_k, call.head_dim}, "[batch, seqlen_new, heads_k, head_dim]");
    v.shape(*value, {call.batch, k->shape[1], call.heads_k, call.head_dim_v},
            "[batch, seqlen_new, heads_k, head_dim_v]");
    call.seqlen_new = k->shape[1];
    fresh.k = {k->data, k->stride[0], k->stride[1], k->stride[2]};
    fresh.v = {value->data, value->stride[0], value->stride[1], value->stride[2]};
    v.read(*k);
    v.read(*value);
    v.written(*t.k);
    // In one pool of pages, block_table says which pages are of k and which of v.
    v.written(*t.v, cache.block_table ? t.k : nullptr);
  }
  if (cache.rotary_cos && cache.rotary_sin) {
    const Tensor *c = v.tensor("kv_cache.rotary_cos", cache.rotary_cos, 2, 2),
                 *s = v.tensor("kv_cache.rotary_sin", cache.rotary_sin, 2, 2);
    if (!c || !s) return;
    v.dtype(*c, {t.q->dtype, dtype_code(DType::fp32)});
    v.dtype(*s, {c->dtype});
    v.contiguous_rows(*c);
    v.contiguous_rows(*s);
    v.shape(*s, {c->shape[0], c->shape[1]}, "the shape of rotary_cos");
    if (c->shape[1] > call.head_dim / 2)
      v.bad.add(cat("kv_cache.rotary_cos has ", c->shape[1],
                    " columns (rotary_dim / 2), must be at most head_dim / 2 = ", call.head_dim / 2));
    fresh.cos = c->data;
    fresh.sin = s->data;
    fresh.positions = c->shape[0];
    fresh.cos_row = c->stride[0];
    fresh.sin_row = s->stride[0];
    if (const auto dtype = dtype_from(c->dtype)) fresh.rotary_dtype = *dtype;
    call.rotary_dim = 2 * c->shape[1];
    call.rotary_interleaved = cache.rotary_interleaved != 0;
    v.read(*c);
    v.read(*s);
  }
}

void check_positions(Validator& v, const Call& call) {
  if (call.rotary_dim == 0 || !call.seqused_k) return;
  for (int64_t b = 0; b < call.batch; ++b) {
    const int64_t queries = call.cu_seqlens_q ? call.cu_seqlens_q[b + 1] - call.cu_seqlens_q[b] : call.seqlen_q;
    const int64_t needed = call.seqused_k[b] + std::max(queries, call.seqlen_new);
    if (needed <= call.new_keys.positions) continue;
    v.bad.add(cat("kv_cache.rotary_cos has ", call.new_keys.positions, " positions, sequence ", b, " needs ", needed));
    return;
  }
}

// Per sequence: the rows in use fit in the cache, page numbers are valid, and no two sequences append to the same
// place.
void check_cache_contents(Validator& v, Call& call) {
  std::vector<int64_t> written;
  call.seqlen_k = 0;
  for (int64_t b = 0; b < call.batch; ++b) {
    const int64_t used = call.seqused_k ? call.seqused_k[b] : call.capacity, end = used + call.seqlen_new;
    const int64_t pad = call.leftpad_k ? call.leftpad_k[b] : 0;
    if (used < 0 || end > call.capacity) {
      v.bad.add(cat("kv_cache.seqused_k[", b, "] is ", used, ", with ", call.seqlen_new, " new keys must be in 0 to ",
                    call.capacity, call.block_table ? ", the rows of block_table's pages" : ""));
      return;
    }
    if (pad < 0 || pad > end) {
      v.bad.add(cat("kv_cache.leftpad_k[", b, "] is ", pad, ", must be in 0 to ", end));
      return;
    }
    call.seqlen_k = std::max(call.seqlen_k, end - pad);
    if (call.cache_batch_idx) {
      const int64_t row = call.cache_batch_idx[b];
      if (row < 0 || row >= call.cache_batches) {
        v.bad.add(cat("kv_cache.cache_batch_idx[", b, "] is ", row, ", must be in 0 to ", call.cache_batches - 1));
        return;
      }
      if (call.seqlen_new > 0) written.push_back(row);
    }
    if (!call.block_table) continue;
    for (int64_t i = pad / call.page; i * call.page < end; ++i) {
      const int64_t block = call.block_table[b * call.block_table_row + i];
      if (block < 0 || block >= call.cache_batches) {
        v.bad.add(
            cat("kv_cache.block_table[", b, "][", i, "] is ", block, ", must be in 0 to ", call.cache_batches - 1));
        return;
      }
      if ((i + 1) * call.page > used && call.seqlen_new > 0) written.push_back(block);
    }
  }
  std::sort(written.begin(), written.end());
  if (std::adjacent_find(written.begin(), written.end()) != written.end())
    v.bad.add(cat(call.block_table ? "kv_cache.block_table" : "kv_cache.cache_batch_idx",
                  " makes two sequences append to the same place"));
}

// Checks the sizes of a cache whose lengths are in device memory: kernels clamp the lengths to these sizes.
void check_cache_sizes(Validator& v, const CallTensors& t, Call& call) {
  call.seqlen_k = call.capacity;
  if (call.seqlen_new > call.capacity)
    v.bad.add(
        cat("kv_cache.new_k has ", call.seqlen_new, " rows, a sequence of the cache has room for ", call.capacity));
  if (t.k->shape[0] == 0 && call.batch > 0 && call.capacity > 0)
    v.bad.add(cat("k has 0 ", call.block_table ? "pages" : "batches", ", must have at least 1"));
  if (call.rotary_dim > 0 && call.new_keys.positions == 0)
    v.bad.add("kv_cache.rotary_cos has 0 positions, must have at least 1");
}

}  // namespace

void check_cache(Validator& v, const rapt_kv_cache& cache, const CallTensors& t, Call& call) {
  call.has_cache = true;
  call.whole_cache = cache.seqused_k == nullptr;
  call.has_leftpad = cache.leftpad_k != nullptr;
  call.has_batch_idx = cache.cache_batch_idx != nullptr;
  if (cache.block_table && cache.cache_batch_idx)
    v.bad.add("kv_cache.cache_batch_idx is given with a block_table, which already maps sequences to the cache");
  call.capacity = t.k->shape[1];
  call.cache_batches = t.k->shape[0];
  if (cache.seqused_k) call.seqused_k = indices(v, "kv_cache.seqused_k", cache.seqused_k, {call.batch}, "[batch]");
  if (cache.leftpad_k) call.leftpad_k = indices(v, "kv_cache.leftpad_k", cache.leftpad_k, {call.batch}, "[batch]");
  if (cache.cache_batch_idx)
    call.cache_batch_idx = indices(v, "kv_cache.cache_batch_idx", cache.cache_batch_idx, {call.batch}, "[batch]");
  else if (!cache.block_table && t.k->shape[0] != call.batch)
    v.bad.add(cat("k has batch ", t.k->shape[0], ", must have q's ", call.batch,
                  " where no cache_batch_idx or block_table is given"));
  if (cache.block_table) {
    call.block_table =
        indices(v, "kv_cache.block_table", cache.block_table, {call.batch, kAnySize}, "[batch, max_blocks]");
    call.page = t.k->shape[1];
    if (call.page < 1) v.bad.add("k has pages of 0 rows, must have at least 1");
    if (const Tensor* table =
            v.tensor("kv_cache.block_table", cache.block_table, 2, 2, Validator::Place::call_device_or_host)) {
      call.block_table_row = table->stride[0];
      call.capacity = call.page * table->shape[1];
    }
  }
  v.bad.throw_if_any();
  check_new_keys(v, cache, t, call);
  v.bad.throw_if_any();
  if (call.device.type != RAPT_CPU) return check_cache_sizes(v, t, call);
  check_positions(v, call);
  check_cache_contents(v, call);
}

void validate_lengths(Call call) {
  Validator v;
  const auto check = [&](const char* name, const char* max_name, const int32_t* cu, int64_t total, int64_t most) {
    const int64_t longest = check_cu_seqlens(v, name, cu, call.batch, total);
    if (longest > most) v.bad.add(cat(max_name, " is ", most, ", must be at least the longest sequence, ", longest));
  };
  if (call.cu_seqlens_q)
    check("varlen.cu_seqlens_q", "varlen.max_seqlen_q", call.cu_seqlens_q, call.total_q, call.seqlen_q);
  if (call.cu_seqlens_k)
    check("varlen.cu_seqlens_k", "varlen.max_seqlen_k", call.cu_seqlens_k, call.total_k, call.seqlen_k);
  if (call.has_cache) {
    check_positions(v, call);
    check_cache_contents(v, call);
  }
  v.bad.throw_if_any();
}

}  // namespace rapt
