#include "aotriton/call/lse.hpp"

#include <numbers>

namespace rapt::aot {

namespace {

constexpr int64_t kBytes = sizeof(float);

}  // namespace

bool Lse::padded() const { return attention_.packed() && (call_.lse_form.padded || call_.padded); }

bool Lse::like_rapts() const { return !padded() && !call_.strided(); }

rapt_aot_rows Lse::rows(void* data, int64_t head, int64_t row, const T1& first) const {
  const bool packed = attention_.packed() && first;
  return {static_cast<char*>(data), packed ? 0 : attention_.heads_q() * head * kBytes, head * kBytes, row * kBytes,
          packed ? static_cast<const int32_t*>(first.data_ptr()) : nullptr};
}

rapt_aot_rows Lse::callers() const {
  const T2& t = call_.lse;
  const T1& first = call_.strided() ? call_.starts_q : call_.cu_seqlens_q;
  return rows(t.data_ptr(), static_cast<int64_t>(t.stride(0)), static_cast<int64_t>(t.stride(1)),
              padded() ? T1::get_null_tensor(aotriton::kInt32) : first);
}

rapt_aot_rows Lse::rapts() const {
  return scratch_.data() == nullptr ? callers() : rows(scratch_.data(), attention_.total_q(), 1, call_.cu_seqlens_q);
}

Error Lse::use_scratch() {
  const int64_t rows = attention_.total_q();
  const int64_t heads = attention_.heads_q() * (attention_.packed() ? 1 : attention_.batch());
  if (const Error e = scratch_.allocate(static_cast<size_t>(heads * rows) * sizeof(float))) return e;
  const T2 t(reinterpret_cast<intptr_t>(scratch_.data()), {static_cast<uint64_t>(heads), static_cast<uint64_t>(rows)},
             {static_cast<uint64_t>(rows), 1}, aotriton::kFloat32);
  tensor_.set_lse(t, attention_.place(), attention_.batch(), attention_.packed());
  return aotriton::kSuccess;
}

Error Lse::convert(const rapt_aot_rows& from, const rapt_aot_rows& to, float factor) const {
  rapt_aot_convert_lse a = {};
  a.from = from;
  a.to = to;
  if (attention_.packed()) a.cu_seqlens = static_cast<const int32_t*>(call_.cu_seqlens_q.data_ptr());
  a.rows = static_cast<int32_t>(attention_.seqlen_q());
  a.heads = static_cast<int32_t>(attention_.heads_q());
  a.pads = to.first == nullptr;
  a.factor = factor;
  const auto rows_of_heads = static_cast<uint32_t>(attention_.heads_q() * attention_.batch());
  return launch(attention_.device(), call_.stream, {blocks(a.rows, 256), rows_of_heads, 1}, a);
}

Error Lse::prepare_to_write() {
  if (!given(call_.lse)) return aotriton::kSuccess;
  if (!like_rapts()) return use_scratch();
  tensor_.set_lse(call_.lse, attention_.place(), attention_.batch(), attention_.packed());
  return aotriton::kSuccess;
}

Error Lse::write() {
  const bool differs = call_.lse_form.log2 || !like_rapts() || attention_.rows_without_keys();
  if (c() == nullptr || !differs) return aotriton::kSuccess;
  return convert(rapts(), callers(), call_.lse_form.log2 ? std::numbers::log2e_v<float> : 1.0f);
}

// Rapt's kernels take the +Inf of rows without keys as they take their own -Inf.
Error Lse::read() {
  if (!call_.lse_form.log2 && like_rapts()) {
    if (call_.lse) tensor_.set_lse(call_.lse, attention_.place(), attention_.batch(), attention_.packed());
    return aotriton::kSuccess;
  }
  if (const Error e = use_scratch()) return e;
  return convert(callers(), rapts(), call_.lse_form.log2 ? std::numbers::ln2_v<float> : 1.0f);
}

}  // namespace rapt::aot
