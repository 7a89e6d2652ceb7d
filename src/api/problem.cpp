// Problems as text, and what would run for one, over the C boundary.
#include <cstring>

#include "api/execution.hpp"
#include "api/guard.hpp"
#include "api/planned.hpp"
#include "problem/validator.hpp"

namespace rapt {

rapt_explanation* new_explanation(Explanation&& value);

Problem problem_from_public(const rapt_problem& given) {
  const rapt_problem g = read_versioned("problem", &given);
  Problem p;
  p.batch = g.batch;
  p.heads_q = g.heads_q;
  p.heads_k = g.heads_k;
  p.seqlen_q = g.seqlen_q;
  p.seqlen_k = g.seqlen_k;
  p.head_dim = g.head_dim;
  p.head_dim_v = g.head_dim_v;
  const auto dtype = dtype_from(g.dtype);
  if (!dtype)
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("problem.dtype is ", dtype_text(g.dtype), ", must be fp16, bf16, fp32 or fp64"));
  if (g.causal < RAPT_NOT_CAUSAL || g.causal > RAPT_CAUSAL_TOP_LEFT)
    throw Error(RAPT_INVALID_ARGUMENT, cat("problem.causal is ", g.causal, ", must be 0, 1 or 2"));
  if (g.varlen_count < 0 || (g.varlen_count > 0 && g.varlen == nullptr))
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("problem.varlen_count is ", g.varlen_count, g.varlen ? "" : " and problem.varlen is null"));
  p.dtype = *dtype;
  p.causal = static_cast<rapt_causal>(g.causal);
  if (g.has_window) p.window = Window{g.window_left, g.window_right};
  constexpr int32_t kAllBits = RAPT_PER_BATCH | RAPT_PER_HEAD | RAPT_PER_QUERY;
  if (g.has_bias) p.bias = g.bias_shape & kAllBits;
  if (g.has_mask) p.mask = g.mask_shape & kAllBits;
  p.alibi = g.has_alibi != 0;
  p.softcap = g.softcap;
  p.sink = g.has_sink != 0;
  p.dropout = g.dropout;
  if (g.has_scale) p.softmax_scale = g.softmax_scale;
  for (int64_t i = 0; i < g.varlen_count; ++i) p.varlen.emplace_back(g.varlen[2 * i], g.varlen[2 * i + 1]);
  p.page = g.page;
  p.deterministic = g.deterministic != 0;
  p.validate();
  return p;
}

rapt_op checked_op(rapt_op op) {
  if (op != RAPT_FORWARD && op != RAPT_BACKWARD)
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("op is ", static_cast<int32_t>(op), ", must be 0 (forward) or 1 (backward)"));
  return op;
}

namespace {

rapt_problem to_public(const Problem& p) {
  rapt_problem g = {};
  g.struct_size = sizeof g;
  g.batch = p.batch;
  g.heads_q = p.heads_q;
  g.heads_k = p.heads_k;
  g.seqlen_q = p.seqlen_q;
  g.seqlen_k = p.seqlen_k;
  g.head_dim = p.head_dim;
  g.head_dim_v = p.head_dim_v;
  g.dtype = dtype_code(p.dtype);
  g.causal = p.causal;
  g.has_window = p.window.has_value();
  g.window_left = p.window ? p.window->left : -1;
  g.window_right = p.window ? p.window->right : -1;
  g.has_bias = p.bias.has_value();
  g.bias_shape = p.bias.value_or(0);
  g.has_mask = p.mask.has_value();
  g.mask_shape = p.mask.value_or(0);
  g.has_alibi = p.alibi;
  g.has_sink = p.sink;
  g.softcap = p.softcap;
  g.dropout = p.dropout;
  g.has_scale = p.softmax_scale.has_value();
  g.softmax_scale = p.softmax_scale.value_or(0);
  g.page = p.page;
  g.deterministic = p.deterministic;
  return g;
}

}  // namespace

PlannedCall::PlannedCall(const Problem& p, rapt_device device) {
  static char present;  // options are told by a data pointer that is not null
  call.device = device;
  call.batch = p.batch;
  call.heads_q = p.heads_q;
  call.heads_k = p.heads_k;
  call.seqlen_q = p.seqlen_q;
  call.seqlen_k = p.seqlen_k;
  call.head_dim = p.head_dim;
  call.head_dim_v = p.head_dim_v;
  call.dtype = p.dtype;
  call.scale_given = p.softmax_scale.has_value();
  call.scale = p.softmax_scale.value_or(0);
  call.causal = p.causal;
  call.window_given = p.window.has_value();
  if (p.window) {
    call.window_left = p.window->left;
    call.window_right = p.window->right;
  }
  if (p.causal != RAPT_NOT_CAUSAL) call.window_right = 0;
  call.softcap = p.softcap;
  call.deterministic = p.deterministic;
  const auto scores = [](const std::optional<int32_t>& bits, ScoreView& view) {
    if (!bits) return;
    view.data = &present;
    view.batch = *bits & RAPT_PER_BATCH ? 1 : 0;
    view.head = *bits & RAPT_PER_HEAD ? 1 : 0;
    view.query = *bits & RAPT_PER_QUERY ? 1 : 0;
    view.key = 1;
  };
  scores(p.bias, call.bias);
  scores(p.mask, call.mask);
  if (p.alibi) call.alibi.data = &present;
  if (p.sink) call.sink.data = &present;
  call.dropout.probability = p.dropout;
  call.dq.data = call.dk.data = call.dv.data = &present;
  if (!p.varlen.empty()) {
    cu_q = cu_k = {0};
    for (const auto& [q, k] : p.varlen) {
      cu_q.push_back(cu_q.back() + static_cast<int32_t>(q));
      cu_k.push_back(cu_k.back() + static_cast<int32_t>(k));
    }
    call.cu_seqlens_q = cu_q.data();
    call.cu_seqlens_k = cu_k.data();
    call.total_q = cu_q.back();
    call.total_k = cu_k.back();
  }
  call.page = p.page;
  call.cache = p.page > 0;
  call.capacity = p.seqlen_k;
}

}  // namespace rapt

using namespace rapt;

extern "C" {

rapt_status rapt_problem_parse(const char* text, rapt_problem* problem, int64_t* varlen, size_t varlen_capacity) {
  return guarded([&] {
    require(text, "text");
    require(problem, "problem");
    const Problem p = Problem::parse(text);
    if (p.varlen.size() > varlen_capacity || (!p.varlen.empty() && varlen == nullptr))
      throw Error(RAPT_INVALID_ARGUMENT, cat("varlen_capacity is ", static_cast<uint64_t>(varlen_capacity),
                                             ", the text has ", static_cast<uint64_t>(p.varlen.size()), " sequences"));
    *problem = to_public(p);
    for (size_t i = 0; i < p.varlen.size(); ++i) {
      varlen[2 * i] = p.varlen[i].first;
      varlen[2 * i + 1] = p.varlen[i].second;
    }
    problem->varlen_count = static_cast<int64_t>(p.varlen.size());
    problem->varlen = p.varlen.empty() ? nullptr : varlen;
  });
}

rapt_status rapt_problem_print(const rapt_problem* problem, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    require(problem, "problem");
    const std::string out = problem_from_public(*problem).text();
    if (length) *length = out.size();
    if (capacity == 0) return;
    require(text, "text");
    if (capacity <= out.size())
      throw Error(RAPT_INVALID_ARGUMENT, cat("capacity is ", static_cast<uint64_t>(capacity), ", the text needs ",
                                             static_cast<uint64_t>(out.size() + 1)));
    std::memcpy(text, out.c_str(), out.size() + 1);
  });
}

rapt_status rapt_explain_problem(const rapt_problem* problem, rapt_op op, rapt_device device,
                                 const rapt_execution* execution, rapt_explanation** explanation) {
  return guarded([&] {
    require(problem, "problem");
    require(explanation, "explanation");
    checked_op(op);
    rapt_executor executor;
    const Wish wish = execution_of(execution, executor).wish;
    const Problem p = problem_from_public(*problem);
    if (op == RAPT_BACKWARD && p.page > 0)
      throw Error(RAPT_UNSUPPORTED, cat("problem.page is ", p.page, ", the backward pass takes no cache"));
    const PlannedCall planned(p, device);
    ForwardCall forward;
    static_cast<Call&>(forward) = planned.call;
    Explanation e = op == RAPT_FORWARD ? explain(forward, wish) : explain(planned.call, wish);
    e.problem = p.text();  // as asked: a call without tensors cannot tell every token
    *explanation = new_explanation(std::move(e));
  });
}
}
