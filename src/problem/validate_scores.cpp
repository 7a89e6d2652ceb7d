#include "problem/validate_parts.hpp"

namespace rapt {

void check_scores(Validator& v, const char* name, const rapt_tensor* given, const Call& call, ScoreView& view) {
  const Tensor* t = v.tensor(name, given, 4, 4);
  if (!t) return;
  const bool is_mask = std::string_view(name) == "mask";
  if (is_mask) v.dtype(*t, {{RAPT_BOOL, 8, 1}, {RAPT_UINT, 8, 1}});
  else v.dtype(*t, {dtype_code(call.dtype), dtype_code(DType::fp32)});
  const int64_t full[4] = {call.batch, call.heads_q, call.seqlen_q, call.seqlen_k};
  bool fits = true;
  for (int32_t i = 0; i < 4; ++i) {
    // a cache's longest sequence may be shorter than the cache that the caller's bias was made for
    const bool wide = i == 3 && call.has_cache && t->shape[i] >= full[i];
    fits &= t->shape[i] == 1 || t->shape[i] == full[i] || wide;
  }
  if (!fits)
    v.bad.add(cat(name, " has shape ", shape_text(t->shape, 4),
                  ", each size must be 1 or that of [batch, heads_q, seqlen_q, seqlen_k] = ", shape_text(full, 4)));
  view.data = t->data;
  if (const auto dtype = dtype_from(t->dtype)) view.dtype = *dtype;
  int64_t* const stride[4] = {&view.batch, &view.head, &view.query, &view.key};
  for (int32_t i = 0; i < 4; ++i) {
    *stride[i] = t->shape[i] == 1 ? 0 : t->stride[i];
    view.shape[i] = t->shape[i];
  }
  if (name[0] == 'd') v.written(*t);
  else v.read(*t);
}

void check_alibi(Validator& v, const rapt_tensor* given, Call& call) {
  const Tensor* t = v.tensor("alibi_slopes", given, 1, 2);
  if (!t) return;
  v.dtype(*t, {dtype_code(DType::fp32)});
  if (t->ndim == 1) v.shape(*t, {call.heads_q}, "[heads_q]");
  else v.shape(*t, {call.batch, call.heads_q}, "[batch, heads_q]");
  call.alibi = {t->data, DType::fp32, t->ndim == 2 ? t->stride[0] : 0, t->stride[t->ndim - 1]};
  v.read(*t);
}

void check_sink(Validator& v, const char* name, const rapt_tensor* given, const Call& call, HeadVector& view) {
  const Tensor* t = v.tensor(name, given, 1, 1);
  if (!t) return;
  v.dtype(*t, {dtype_code(call.dtype), dtype_code(DType::fp32), dtype_code(DType::fp16), dtype_code(DType::bf16)});
  v.shape(*t, {call.heads_q}, "[heads_q]");
  view.data = t->data;
  if (const auto dtype = dtype_from(t->dtype)) view.dtype = *dtype;
  view.head = t->stride[0];
  if (name[0] == 'd') v.written(*t);
  else v.read(*t);
}

}  // namespace rapt
