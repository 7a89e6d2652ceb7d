#include "aotriton/call/packing.hpp"

#include <algorithm>
#include <utility>

#include "aotriton/base/failure.hpp"
#include "aotriton/call/tensors.hpp"
#include "aotriton/hip/kernels.hpp"

namespace rapt::aot {

namespace {

constexpr size_t kAlign = 256;

// The most rows that all sequences together have.
uint64_t rows(const T4& t) { return t.size(0) * t.size(2); }

}  // namespace

size_t Packing::bytes_of_copy(const T4& t) const {
  const size_t bytes = rows(t) * t.size(1) * t.size(3) * static_cast<size_t>(bytes_of(t.dtype()));
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

rapt_aot_rows Packing::rows_of(const T4& t, Side side) const {
  const int64_t bytes = bytes_of(t.dtype());
  const auto stride = [&](int i) { return static_cast<int64_t>(t.stride(i)) * bytes; };
  const T1& starts = side == Side::q ? call_.starts_q : call_.starts_k;
  return {static_cast<char*>(t.data_ptr()), call_.strided() ? 0 : stride(0), stride(1), stride(2),
          call_.strided() ? static_cast<const int32_t*>(starts.data_ptr()) : nullptr};
}

rapt_aot_rows Packing::packed_rows_of(const T4& packed, Side side) const {
  const int64_t bytes = bytes_of(packed.dtype());
  const T1& cu_seqlens = side == Side::q ? call_.cu_seqlens_q : call_.cu_seqlens_k;
  return {static_cast<char*>(packed.data_ptr()), 0, static_cast<int64_t>(packed.stride(1)) * bytes,
          static_cast<int64_t>(packed.stride(2)) * bytes, static_cast<const int32_t*>(cu_seqlens.data_ptr())};
}

Error Packing::check_lengths() const {
  const uint64_t size = call_.cu_seqlens_q.size(0);
  if (size == 0) return fail(aotriton::kInvalidValue, "cu_seqlens_q has 0 elements, must have batch + 1");
  if (!call_.cu_seqlens_k)
    return fail(aotriton::kInvalidValue, "cu_seqlens_k is null, must be given with cu_seqlens_q");
  if (call_.strided() && !call_.starts_k)
    return fail(aotriton::kInvalidValue, "seq_strides_k is null, must be given with seq_strides_q");
  struct Numbers {
    const char* name;
    const T1* tensor;
    uint64_t least;
  };
  for (const auto& [name, t, least] : {Numbers{"cu_seqlens_q", &call_.cu_seqlens_q, size},
                                       {"cu_seqlens_k", &call_.cu_seqlens_k, size},
                                       {"seq_strides_q", &call_.starts_q, size - 1},
                                       {"seq_strides_k", &call_.starts_k, size - 1}}) {
    if (!*t || (t->dtype() == aotriton::kInt32 && t->size(0) >= least && (t->stride(0) == 1 || t->size(0) < 2)))
      continue;
    return fail(aotriton::kInvalidValue, "%s must have at least %llu elements of int32, one after the other", name,
                static_cast<unsigned long long>(least));
  }
  for (const auto& [name, longest] :
       {std::pair{"max_seqlen_q", call_.max_seqlen_q}, {"max_seqlen_k", call_.max_seqlen_k}})
    if (longest < 0) return fail(aotriton::kInvalidValue, "%s is %d, must be at least 0", name, longest);
  return aotriton::kSuccess;
}

Error Packing::check(const Named& named) const {
  const auto& [name, tensor] = named;
  const T4& t = *tensor;
  const auto size = [&](int i) { return static_cast<long long>(t.size(i)); };
  if (t.size(3) > 1 && t.stride(3) != 1)
    return fail(aotriton::kInvalidValue, "%s has stride %lld in its last dimension, must be 1", name,
                static_cast<long long>(t.stride(3)));
  const auto sequences = call_.padded() ? static_cast<long long>(call_.cu_seqlens_q.size(0)) - 1 : 1;
  if (size(0) != sequences)
    return fail(aotriton::kInvalidValue, "%s has batch %lld, must be %lld", name, size(0), sequences);
  return aotriton::kSuccess;
}

Error Packing::reserve(std::initializer_list<Named> tensors) {
  if (const Error e = check_lengths()) return e;
  size_t bytes = 0;
  for (const Named& named : tensors) {
    if (!*named.tensor) continue;
    if (const Error e = check(named)) return e;
    bytes += bytes_of_copy(*named.tensor);
  }
  return scratch_.allocate(bytes);
}

Error Packing::pack(T4& tensor, Side side, bool filled) {
  if (!tensor) return aotriton::kSuccess;
  const T4 from = tensor;
  const uint64_t heads = from.size(1), dims = from.size(3);
  tensor = T4(reinterpret_cast<intptr_t>(scratch_.data()) + static_cast<intptr_t>(used_), {1, heads, rows(from), dims},
              {0, dims, heads * dims, 1}, from.dtype());
  used_ += bytes_of_copy(from);
  return filled ? copy(from, side, rows_of(from, side), packed_rows_of(tensor, side)) : aotriton::kSuccess;
}

Error Packing::unpack(const T4& packed, const T4& tensor, Side side) const {
  if (!tensor) return aotriton::kSuccess;
  return copy(tensor, side, packed_rows_of(packed, side), rows_of(tensor, side));
}

Error Packing::copy(const T4& like, Side side, const rapt_aot_rows& from, const rapt_aot_rows& to) const {
  const T1& cu_seqlens = side == Side::q ? call_.cu_seqlens_q : call_.cu_seqlens_k;
  const auto most = static_cast<int64_t>(like.size(2));
  const int64_t longest = std::min<int64_t>(side == Side::q ? call_.max_seqlen_q : call_.max_seqlen_k, most);
  rapt_aot_copy_rows a = {};
  a.from = from;
  a.to = to;
  a.cu_seqlens = static_cast<const int32_t*>(cu_seqlens.data_ptr());
  a.pairs = pairs_of(static_cast<int64_t>(cu_seqlens.size(0)) - 1, static_cast<int64_t>(like.size(1)));
  a.halves = static_cast<int32_t>(like.size(3)) * bytes_of(like.dtype()) / 2;
  return launch(device_, call_.stream, {static_cast<uint32_t>(longest), static_cast<uint32_t>(a.pairs.step), 1}, a);
}

Error KeySums::replace_lengths(Call& call) {
  const T1& lengths = call.cu_seqlens_k;
  if (!call.cu_seqlens_q || !lengths || !call.starts_k)
    return fail(aotriton::kInvalidValue, "seqinfo_q0, seqinfo_k0 and seqinfo_k1 must be given with used keys");
  const uint64_t count = call.cu_seqlens_q.size(0) - 1;
  if (lengths.dtype() != aotriton::kInt32 || lengths.size(0) < count || (lengths.stride(0) != 1 && count > 1))
    return fail(aotriton::kInvalidValue, "seqinfo_k0 must have at least %llu elements of int32, one after the other",
                static_cast<unsigned long long>(count));
  if (const Error e = scratch_.allocate((count + 1) * sizeof(int32_t))) return e;
  rapt_aot_sum_lengths a = {};
  a.lengths = static_cast<const int32_t*>(lengths.data_ptr());
  a.sums = static_cast<int32_t*>(scratch_.data());
  a.count = static_cast<int32_t>(count);
  call.cu_seqlens_k = T1(reinterpret_cast<intptr_t>(a.sums), {count + 1}, {1}, aotriton::kInt32);
  return launch(device_, call.stream, {1, 1, 1}, a);
}

}  // namespace rapt::aot
