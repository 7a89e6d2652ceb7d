// A valid call that a test makes wrong, and the check that the library says so and writes nothing.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace test {

struct BadCall {
  explicit BadCall(const std::string& problem)
      : inputs(make_inputs(Problem(problem))),
        results(make_results(inputs, Layout::compact, true)),
        attention(inputs),
        execution(init<rapt_execution>()),
        executor(init<rapt_executor>()),
        forward(init<rapt_forward_call>()),
        backward(init<rapt_backward_call>()) {
    forward.attention = backward.attention = &attention.c;
    forward.execution = backward.execution = &execution;
    forward.out = backward.out = attention.hold(results.out);
    forward.lse = backward.lse = attention.hold(results.lse);
    backward.dout = attention.hold(inputs.dout);
    backward.dq = attention.hold(results.dq);
    backward.dk = attention.hold(results.dk);
    backward.dv = attention.hold(results.dv);
    backward.dbias = attention.hold(results.dbias);
    backward.dsink = attention.hold(results.dsink);
    executor.concurrency = 1;
  }

  rapt_tensor& change(const rapt_tensor* held) { return const_cast<rapt_tensor&>(*held); }
  void reshape(const rapt_tensor* held, const std::vector<int64_t>& shape) {
    change(held).ndim = static_cast<int32_t>(shape.size());
    change(held).shape = numbers.emplace_back(shape).data();
  }
  void restride(const rapt_tensor* held, const std::vector<int64_t>& strides) {
    change(held).strides = numbers.emplace_back(strides).data();
  }
  // An extra input, which lives as long as the call.
  const rapt_tensor* extra(rapt_dtype dtype, const std::vector<int64_t>& shape, double value = 0) {
    Tensor& t = extras.emplace_back(dtype, shape);
    t.fill([&](int64_t) { return value; });
    return attention.hold(t);
  }

  Inputs inputs;
  Results results;
  Attention attention;
  rapt_execution execution;
  rapt_executor executor;
  rapt_forward_call forward;
  rapt_backward_call backward;
  std::deque<std::vector<int64_t>> numbers;
  std::deque<Tensor> extras;
};

struct BadRow {
  const char* name;     // of the test
  const char* problem;  // of the valid call
  void (*spoil)(BadCall& call);
  std::vector<const char*> words;  // the message must hold them
  rapt_status status = RAPT_INVALID_ARGUMENT;
};

inline void PrintTo(const BadRow& row, std::ostream* out) { *out << row.name; }

inline void expect_refused(const BadRow& row, rapt_op op) {
  BadCall call(row.problem);
  row.spoil(call);
  std::vector<rapt::cli::TensorMemory> before;
  const auto memories = [&] {
    std::vector<const Tensor*> all = {&call.inputs.k, &call.inputs.v};  // a cache is written too
    for (const auto& [name, tensor] : call.results.named()) all.push_back(tensor);
    return all;
  };
  for (const Tensor* t : memories()) before.push_back(t->memory());
  const rapt_status status = op == RAPT_FORWARD ? rapt_forward(&call.forward) : rapt_backward(&call.backward);
  EXPECT_EQ(status, row.status) << rapt_last_error();
  const std::string message = status == RAPT_OK ? "" : rapt_last_error();
  for (const char* word : row.words)
    EXPECT_NE(message.find(word), std::string::npos) << word << " is not in: " << message;
  size_t i = 0;
  for (const Tensor* t : memories()) EXPECT_TRUE(t->memory() == before[i++]) << "memory " << i << " was written";
}

}  // namespace test
