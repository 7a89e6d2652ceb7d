#include "aotriton/call/lse.hpp"

#include <algorithm>
#include <numbers>

#include "aotriton/base/failure.hpp"

namespace rapt::aot {

namespace {

constexpr int64_t kBytes = sizeof(float);

}  // namespace

bool Lse::padded() const { return attention_.packed() && (call_.lse_form.padded || call_.padded()); }

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

// Checks the caller's form of lse. Rapt checks its own form.
Error Lse::check_form() const {
  const T2& t = call_.lse;
  const bool of_batch = !attention_.packed() || padded();
  const int64_t heads = attention_.heads_q() * (of_batch ? attention_.batch() : 1);
  const int64_t rows = of_batch ? attention_.seqlen_q() : attention_.total_q();
  if (!t && heads * rows > 0) return fail(aotriton::kInvalidValue, "lse is null");
  if (t.dtype() != aotriton::kFloat32) return fail(aotriton::kInvalidValue, "lse is not fp32");
  if (static_cast<int64_t>(t.size(0)) == heads && static_cast<int64_t>(t.size(1)) >= rows) return aotriton::kSuccess;
  return fail(aotriton::kInvalidValue, "lse has shape [%lld, %lld], must be [%lld, %lld]",
              static_cast<long long>(t.size(0)), static_cast<long long>(t.size(1)), static_cast<long long>(heads),
              static_cast<long long>(rows));
}

void Lse::set(const T2& t) {
  tensor_.set_lse(t, attention_.place(), attention_.batch(), attention_.heads_q(), attention_.packed());
}

Error Lse::use_callers() {
  if (const Error e = check_form()) return e;
  set(call_.lse);
  return aotriton::kSuccess;
}

Error Lse::use_scratch() {
  if (const Error e = check_form()) return e;
  const int64_t rows = attention_.total_q();
  const int64_t heads = attention_.heads_q() * (attention_.packed() ? 1 : attention_.batch());
  if (const Error e = scratch_.allocate(static_cast<size_t>(heads * rows) * sizeof(float))) return e;
  const T2 t(reinterpret_cast<intptr_t>(scratch_.data()), {static_cast<uint64_t>(heads), static_cast<uint64_t>(rows)},
             {static_cast<uint64_t>(rows), 1}, aotriton::kFloat32);
  set(t);
  return aotriton::kSuccess;
}

Error Lse::convert(const rapt_aot_rows& from, const rapt_aot_rows& to, float factor) const {
  rapt_aot_convert_lse a = {};
  a.from = from;
  a.to = to;
  if (attention_.packed()) a.cu_seqlens = static_cast<const int32_t*>(call_.cu_seqlens_q.data_ptr());
  a.pairs = pairs_of(attention_.batch(), attention_.heads_q());
  a.pads = to.first == nullptr;
  a.rows = static_cast<int32_t>(a.pads ? attention_.seqlen_q() : std::min(attention_.seqlen_q(), attention_.total_q()));
  a.factor = factor;
  return launch(attention_.device(), call_.stream, {blocks(a.rows, 256), static_cast<uint32_t>(a.pairs.step), 1}, a);
}

Error Lse::prepare_to_write() {
  if (!given(call_.lse)) return aotriton::kSuccess;
  return like_rapts() ? use_callers() : use_scratch();
}

Error Lse::write() {
  const bool differs = call_.lse_form.log2 || !like_rapts() || attention_.rows_without_keys();
  if (c() == nullptr || !differs) return aotriton::kSuccess;
  return convert(rapts(), callers(), call_.lse_form.log2 ? std::numbers::log2e_v<float> : 1.0f);
}

// Rows without keys have +Inf. Rapt's kernels take it as they take their own -Inf.
Error Lse::read() {
  if (!call_.lse_form.log2 && like_rapts()) return use_callers();
  if (const Error e = use_scratch()) return e;
  return convert(callers(), rapts(), call_.lse_form.log2 ? std::numbers::ln2_v<float> : 1.0f);
}

}  // namespace rapt::aot
