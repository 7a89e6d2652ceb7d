#include "support/run.hpp"

#include <stdexcept>

namespace test {

namespace {

std::vector<int64_t> with_last(std::vector<int64_t> shape, int64_t last) {
  shape.back() = last;
  return shape;
}

rapt_execution execution_for(const How& how) {
  auto execution = init<rapt_execution>();
  execution.backend = how.backend.c_str();
  execution.executor = how.executor;
  return execution;
}

}  // namespace

Attention::Attention(const Inputs& in)
    : c(init<rapt_attention>()),
      window(init<rapt_window>()),
      dropout(init<rapt_dropout>()),
      varlen(init<rapt_varlen>()),
      cache(init<rapt_kv_cache>()),
      scale_(in.problem.c.softmax_scale) {
  const rapt_problem& p = in.problem.c;
  c.q = hold(in.q);
  c.k = hold(in.k);
  c.v = hold(in.v);
  if (p.has_scale) c.softmax_scale = &scale_;
  c.causal = p.causal;
  c.softcap = p.softcap;
  window.left = p.window_left;
  window.right = p.window_right;
  window.top_left = p.window_top_left;
  if (p.has_window) c.window = &window;
  c.bias = hold(in.bias);
  c.mask = hold(in.mask);
  c.alibi_slopes = hold(in.alibi_slopes);
  c.sink = hold(in.sink);
  dropout.probability = p.dropout;
  dropout.seed = in.dropout_seed;
  dropout.offset = in.dropout_offset;
  if (p.dropout != 0) c.dropout = &dropout;
  varlen.cu_seqlens_q = hold(in.cu_seqlens_q);
  varlen.cu_seqlens_k = hold(in.cu_seqlens_k);
  if (in.problem.packed()) c.varlen = &varlen;
  cache.block_table = hold(in.block_table);
  cache.seqused_k = hold(in.seqused_k);
  if (p.page > 0) c.kv_cache = &cache;
}

const rapt_tensor* Attention::hold(const Tensor& tensor) {
  if (!tensor) return nullptr;
  return &held_.emplace_back(tensor.c());
}

std::vector<std::pair<std::string, const Tensor*>> Results::named() const {
  std::vector<std::pair<std::string, const Tensor*>> all;
  for (const auto& [name, tensor] : {std::pair{"out", &out},
                                     {"lse", &lse},
                                     {"dq", &dq},
                                     {"dk", &dk},
                                     {"dv", &dv},
                                     {"dbias", &dbias},
                                     {"dsink", &dsink}})
    if (*tensor) all.emplace_back(name, tensor);
  return all;
}

bool differentiable(const Inputs& in) { return in.dout && in.problem.c.page == 0; }

Results make_results(const Inputs& in, Layout layout, bool backward) {
  const rapt_problem& p = in.problem.c;
  Results r;
  r.out = Tensor(in.q.dtype(), with_last(in.q.shape(), p.head_dim_v), layout);
  const std::vector<int64_t> lse_shape = in.problem.packed() ? std::vector<int64_t>{p.heads_q, in.q.shape()[0]}
                                                             : std::vector<int64_t>{p.batch, p.heads_q, p.seqlen_q};
  r.lse = Tensor(in.q.dtype().bits == 64 ? kFp64 : kFp32, lse_shape, layout, Last::strided);
  if (!backward) return r;
  r.dq = Tensor(in.q.dtype(), in.q.shape(), layout);
  r.dk = Tensor(in.q.dtype(), in.k.shape(), layout);
  r.dv = Tensor(in.q.dtype(), in.v.shape(), layout);
  if (in.bias) r.dbias = Tensor(in.bias.dtype(), in.bias.shape(), layout, Last::strided);
  if (in.sink) r.dsink = Tensor(in.sink.dtype(), in.sink.shape(), layout, Last::strided);
  return r;
}

rapt_status forward(const Inputs& in, Results& results, const How& how) {
  Attention attention(in);
  const rapt_execution execution = execution_for(how);
  auto call = init<rapt_forward_call>();
  call.attention = &attention.c;
  call.out = attention.hold(results.out);
  call.lse = attention.hold(results.lse);
  call.execution = &execution;
  return rapt_forward(&call);
}

rapt_status backward(const Inputs& in, Results& results, const How& how) {
  Attention attention(in);
  const rapt_execution execution = execution_for(how);
  auto call = init<rapt_backward_call>();
  call.attention = &attention.c;
  const Results& given = how.given ? *how.given : results;
  call.out = attention.hold(given.out);
  call.lse = attention.hold(given.lse);
  call.dout = attention.hold(in.dout);
  call.dq = attention.hold(results.dq);
  call.dk = attention.hold(results.dk);
  call.dv = attention.hold(results.dv);
  call.dbias = attention.hold(results.dbias);
  call.dsink = attention.hold(results.dsink);
  call.execution = &execution;
  return rapt_backward(&call);
}

Results run(const Inputs& in, const How& how) {
  const bool with_backward = how.backward && differentiable(in);
  Results results = make_results(in, how.layout, with_backward);
  if (forward(in, results, how) != RAPT_OK) throw std::runtime_error(how.backend + ": " + rapt_last_error());
  if (with_backward && backward(in, results, how) != RAPT_OK)
    throw std::runtime_error(how.backend + ": " + rapt_last_error());
  return results;
}

std::vector<std::string> backends(const Problem& problem) {
  if (problem.c.dtype.bits == 64) return {"math"};
  std::vector<std::string> names = {"math"};
#ifndef RAPT_TEST_SANITIZED  // "cpu" is one of the tiers; the sanitizers look at each once
  names.push_back("cpu");
#endif
  int32_t available = 0;
  for (size_t i = 0; const char* tier = rapt_cpu_tier(i, &available); ++i)
    if (available) names.push_back(std::string("cpu.") + tier);
  return names;
}

bool takes(const std::string& backend, const Problem& problem, rapt_op op, std::string* reason) {
  auto execution = init<rapt_execution>();
  execution.backend = backend.c_str();
  rapt_explanation* explanation = nullptr;
  if (rapt_explain_problem(&problem.c, op, {RAPT_CPU, 0}, &execution, &explanation) != RAPT_OK)
    throw std::runtime_error(rapt_last_error());
  bool chosen = false;
  for (size_t i = 0; i < rapt_explanation_count(explanation); ++i) {
    const rapt_candidate candidate = rapt_explanation_candidate(explanation, i);
    if (backend != candidate.backend) continue;
    chosen = candidate.chosen != 0;
    *reason = candidate.reason;
  }
  rapt_explanation_free(explanation);
  return chosen;
}

}  // namespace test
