#include "device_run.hpp"

#include <algorithm>

#include "rapt/rapt.hpp"

namespace test {

namespace {

// The device's copies of tensors, and the call's tensors made to point at them.
class Copies {
 public:
  explicit Copies(rapt_device device) : device_(device) {}

  void place(const rapt_tensor* held, const Tensor& from) {
    if (held == nullptr) return;
    const size_t bytes = from.memory().size();
    const rapt::DeviceMemory& memory = memory_.emplace_back(device_, std::max<size_t>(bytes, 1));
    if (bytes > 0) rapt::check(rapt_device_copy(device_, memory.data(), rapt::kHost, from.memory().data(), bytes));
    auto& tensor = const_cast<rapt_tensor&>(*held);
    tensor.data = memory.data();
    tensor.device = device_;
  }

  void place_output(const rapt_tensor* held, Tensor& to) {
    place(held, to);
    outputs_.emplace_back(memory_.back().data(), &to);
  }

  void fetch() const {
    for (const auto& [data, to] : outputs_)
      if (const size_t bytes = to->memory().size())
        rapt::check(rapt_device_copy(rapt::kHost, to->c().data, device_, data, bytes));
  }

 private:
  rapt_device device_;
  std::deque<rapt::DeviceMemory> memory_;
  std::vector<std::pair<const void*, Tensor*>> outputs_;
};

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
  attention.varlen.max_seqlen_q = longest(in.problem, true);
  attention.varlen.max_seqlen_k = longest(in.problem, false);
}

}  // namespace

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
                        Layout layout) {
  Results results = make_results(in, layout, true);
  results.out = given.out;
  results.lse = given.lse;
  Attention attention(in);
  auto execution = init<rapt_execution>();
  execution.backend = backend.c_str();
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
