#include "device_run.hpp"

#include <algorithm>

#include "rapt/rapt.hpp"

namespace test {

namespace {

int64_t longest(const Problem& p, bool of_q) {
  int64_t most = 1;
  for (int64_t b = 0; b < p.c.batch; ++b) most = std::max(most, of_q ? p.seqlen_q(b) : p.seqlen_k(b));
  return most;
}

}  // namespace

namespace {

void place_attention(Copies& copies, Attention& attention, const Inputs& in) {
  const rapt_attention& a = attention.c;
  for (const auto& [held, from] : {std::pair{a.q, &in.q},
                                   {a.k, &in.k},
                                   {a.v, &in.v},
                                   {a.bias, &in.bias},
                                   {a.mask, &in.mask},
                                   {a.alibi_slopes, &in.alibi_slopes},
                                   {a.sink, &in.sink},
                                   {attention.varlen.cu_seqlens_q, &in.cu_seqlens_q},
                                   {attention.varlen.cu_seqlens_k, &in.cu_seqlens_k}})
    copies.place(held, *from);
  if (in.block_table) {
    copies.place(attention.cache.block_table, in.block_table);
    copies.place(attention.cache.seqused_k, in.seqused_k);
  }
  attention.varlen.max_seqlen_q = longest(in.problem, true);
  attention.varlen.max_seqlen_k = longest(in.problem, false);
}

}  // namespace

std::vector<rapt_device> gpus() {
  std::vector<rapt_device> all;
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) {
    int32_t count = 0;
    if (rapt_device_count(type, &count) != RAPT_OK) continue;
    for (int32_t i = 0; i < count; ++i) all.push_back({type, i});
  }
  return all;
}

Results run_on(rapt_device device, const Inputs& in, const std::string& backend, Layout layout) {
  Results results = make_results(in, layout, false);
  Attention attention(in);
  auto execution = init<rapt_execution>();
  execution.backend = backend.c_str();
  auto call = init<rapt_forward_call>();
  call.attention = &attention.c;
  call.out = attention.hold(results.out);
  call.lse = attention.hold(results.lse);
  call.execution = &execution;

  Copies copies(device);
  place_attention(copies, attention, in);
  copies.place_output(call.out, results.out);
  copies.place_output(call.lse, results.lse);
  rapt::check(rapt_forward(&call));
  rapt::check(rapt_device_synchronize(device));
  copies.fetch();
  return results;
}

Results run_backward_on(rapt_device device, const Inputs& in, const Results& given, const std::string& backend,
                        Layout layout, bool bias_gradient) {
  Results results = make_results(in, layout, true);
  if (!bias_gradient) results.dbias = {};
  results.out = given.out;
  results.lse = given.lse;
  Attention attention(in);
  auto execution = init<rapt_execution>();
  execution.backend = backend.c_str();
  execution.deterministic = in.problem.c.deterministic;
  auto call = init<rapt_backward_call>();
  call.attention = &attention.c;
  call.execution = &execution;

  Copies copies(device);
  place_attention(copies, attention, in);
  for (const auto& [field, from] :
       {std::pair{&call.out, &given.out}, {&call.lse, &given.lse}, {&call.dout, &in.dout}}) {
    *field = attention.hold(*from);
    copies.place(*field, *from);
  }
  for (const auto& [field, to] : {std::pair{&call.dq, &results.dq},
                                  {&call.dk, &results.dk},
                                  {&call.dv, &results.dv},
                                  {&call.dbias, &results.dbias},
                                  {&call.dsink, &results.dsink}}) {
    *field = attention.hold(*to);
    if (*to) copies.place_output(*field, *to);
  }
  rapt::check(rapt_backward(&call));
  rapt::check(rapt_device_synchronize(device));
  copies.fetch();
  return results;
}

}  // namespace test
