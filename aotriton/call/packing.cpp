#include "aotriton/call/packing.hpp"

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

Error Packing::reserve(std::initializer_list<const T4*> tensors) {
  if (!call_.cu_seqlens_k)
    return fail(aotriton::kInvalidValue, "cu_seqlens_k is null, must be given with cu_seqlens_q");
  if (call_.strided() && !call_.starts_k)
    return fail(aotriton::kInvalidValue, "seq_strides_k is null, must be given with seq_strides_q");
  size_t bytes = 0;
  for (const T4* t : tensors)
    if (*t) bytes += bytes_of_copy(*t);
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
  const int32_t longest = side == Side::q ? call_.max_seqlen_q : call_.max_seqlen_k;
  rapt_aot_copy_rows a = {};
  a.from = from;
  a.to = to;
  a.cu_seqlens = static_cast<const int32_t*>(cu_seqlens.data_ptr());
  a.heads = static_cast<int32_t>(like.size(1));
  a.halves = static_cast<int32_t>(like.size(3)) * bytes_of(like.dtype()) / 2;
  const auto sequences = static_cast<uint32_t>(cu_seqlens.size(0) - 1);
  return launch(device_, call_.stream, {static_cast<uint32_t>(longest), static_cast<uint32_t>(a.heads) * sequences, 1},
                a);
}

}  // namespace rapt::aot
