// Every interface's functions against the oracle, by the correctness rule and by PyTorch's own rule. It runs on
// simulated GPUs: one that AOTriton knows, and two that it does not know, or hides.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "client.hpp"
#include "support/allowance.hpp"
#include "support/cases.hpp"
#include "torch_rule.hpp"

namespace test {

namespace {

using enum Kind;
using enum Layout;

// Problems that the functions of every release take.
const Case kDense[] = {
    {"b2 hq4 hk4 sq37 sk70 d64 bf16", normal, padded},
    {"b1 hq4 hk2 sq70 sk33 d72 fp16 causal-tl", outliers, heads_first},
    {"b1 hq8 hk1 sq40 sk40 d128 bf16 causal-tl"},
    {"b1 hq2 hk2 sq33 sk40 d36 fp32", normal, heads_first},
    {"b1 hq2 hk1 sq20 sk40 d203 fp32 causal-tl", normal, padded},
};
// From 0.5 on
const Case kBias[] = {
    {"b2 hq4 hk2 sq17 sk41 d64 bf16 bias=bNhN", outliers, padded},
    {"b2 hq4 hk4 sq20 sk33 d40 fp16 causal-tl bias=bNhN", hostile_bias},
};
// From 0.7 on
const Case kPacked[] = {
    {"b4 hq4 hk2 sq40 sk90 d64 bf16 causal-tl varlen=5:5,0:7,40:90,3:0", normal, padded},
    {"b2 hq4 hk4 sq21 sk30 d80 fp16 varlen=21:4,9:30"},
};
// The windows of v3, and head_dim_v
const Case kWindows[] = {
    {"b1 hq4 hk4 sq70 sk33 d64 bf16 causal"},  // rows that attend nothing
    {"b2 hq4 hk2 sq21 sk60 d256 bf16 causal", outliers},
    {"b1 hq4 hk4 sq50 sk50 d64 fp16 window=9,4"},
    {"b1 hq4 hk2 sq60 sk45 d64 bf16 causal-tl window=7,0"},
    {"b1 hq4 hk4 sq60 sk45 d64 bf16 window-tl=7,9"},
    {"b3 hq4 hk4 sq40 sk90 d64 bf16 window-tl=12,30 varlen=40:30,12:90,7:7"},
    {"b2 hq4 hk4 sq20 sk33 d64 fp16 causal window=6,0 varlen=20:20,9:33"},
    {"b3 hq4 hk4 sq40 sk90 d128 bf16 causal varlen=40:30,12:90,7:7"},
    {"b2 hq4 hk4 sq9 sk40 d64 bf16 causal window=12,0 varlen=9:40,3:20"},  // wider than the queries
    {"b2 hq4 hk2 sq33 sk40 d192 dv128 bf16 causal"},
    {"b2 hq4 hk2 sq33 sk70 d64 bf16 drop=0.2", normal, padded},
    {"b2 hq4 hk2 sq33 sk70 d64 fp16 causal-tl bias=bNhN drop=0.4"},
};

std::vector<Case> cases_of(Api api) {
  std::vector<Case> all(std::begin(kDense), std::end(kDense));
  if (api >= Api::v05) all.insert(all.end(), std::begin(kBias), std::end(kBias));
  if (api >= Api::v07 && api != Api::v09_fused) all.insert(all.end(), std::begin(kPacked), std::end(kPacked));
  if (api >= Api::v10) all.insert(all.end(), std::begin(kWindows), std::end(kWindows));
  return all;
}

struct Yardstick {
  Inputs inputs;
  Oracle oracle;
  TorchRule torch;
  explicit Yardstick(const Case& c)
      : inputs(make_inputs(Problem(c.problem), c.kind, c.layout)), oracle(inputs), torch(inputs) {}

  void expect(const Results& results, const std::string& where) const {
    for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << where << ", " << m.text();
    for (const TorchMeasure& m : torch.measure(results)) EXPECT_TRUE(m.ok()) << where << ", " << m.text();
  }
};

const Yardstick& yardstick_of(const Case& c) {
  static std::map<std::string, std::unique_ptr<Yardstick>> all;
  std::unique_ptr<Yardstick>& one = all[name_of(c)];
  if (!one) one = std::make_unique<Yardstick>(c);
  return *one;
}

// The n of AOTriton 0.n in the name of this process's library; 0 if the name has no version.
int release() { return std::atoi(std::getenv("RAPT_TEST_RELEASE")); }

Calling calling(Api api) {
  Calling how;
  how.api = api;
  how.log2 = api == Api::v10 ? release() == 10 : api < Api::v10 && release() <= 10;
  how.padded = api == Api::v10 || api == Api::v11 || (api < Api::v10 && release() <= 11);
  return how;
}

void check(const Calling& how, const Case& c) {
  const Yardstick& y = yardstick_of(c);
  for (const rapt_device device : gpus()) {
    const std::string where = std::string(rapt::describe(device).arch) + ", " + name_of(how.api) + ", " + c.problem;
    try {
      y.expect(forward_through(how, device, y.inputs, c.layout), where);
      y.expect(backward_through(how, device, y.inputs, y.oracle.given(), c.layout), where);
    } catch (const std::exception& e) {
      ADD_FAILURE() << where << ": " << e.what();
    }
  }
}

class EveryApi : public testing::TestWithParam<Api> {};

TEST_P(EveryApi, MeetsTheRule) {
  ASSERT_FALSE(gpus().empty());
  for (const Case& c : cases_of(GetParam())) check(calling(GetParam()), c);
}

// Padded and strided sequences, which PyTorch does not use.
TEST(Lengths, MeetTheRule) {
  for (const char* problem : {"b4 hq4 hk2 sq40 sk90 d64 bf16 causal varlen=5:5,0:7,40:90,3:0",
                              "b2 hq4 hk4 sq21 sk30 d80 dv48 fp32 varlen=21:4,9:30"})
    for (const Api api : {Api::v12, Api::v14})
      for (const Lengths lengths : {Lengths::padded, Lengths::strided, Lengths::used_keys}) {
        if (lengths == Lengths::used_keys && api != Api::v14) continue;
        Calling how = calling(api);
        how.lengths = lengths;
        check(how, {problem});
      }
}

// As PyTorch's own tests do it: values uniform in [0, 1), and gradients from the same pass's out.
TEST(TorchRule, HoldsForTorchsOwnValues) {
  for (const char* problem : {"b2 hq4 hk4 sq64 sk128 d64 bf16", "b2 hq4 hk4 sq64 sk64 d96 fp16 causal-tl drop=0.22",
                              "b1 hq4 hk4 sq37 sk70 d128 bf16 bias=bNhN", "b1 hq2 hk2 sq37 sk70 d64 fp32 drop=0.22",
                              "b1 hq4 hk2 sq70 sk70 d203 bf16 causal-tl"}) {
    Inputs inputs = make_inputs(Problem(problem));
    std::mt19937 random(42);
    for (Tensor* t : {&inputs.q, &inputs.k, &inputs.v, &inputs.dout, &inputs.bias})
      if (*t) t->fill([&](int64_t) { return std::ldexp(random(), -32); });
    const TorchRule rule(inputs);
    for (const rapt_device device : gpus()) {
      const Results forward = forward_through(calling(Api::v12), device, inputs, compact);
      for (const Results& results : {forward, backward_through(calling(Api::v12), device, inputs, forward, compact)})
        for (const TorchMeasure& m : rule.measure(results))
          EXPECT_TRUE(m.ok()) << rapt::describe(device).arch << ", " << problem << ", " << m.text();
    }
  }
}

// The functions that a library of this name serves. attn_fwd's first struct belongs to 0.10 and 0.11; without a version
// in the name, both have the lse of 0.11.
std::vector<Api> served() {
  std::vector<Api> all;
  for (const Api api : kEveryApi)
    if (release() == 0 || api != (release() == 10 ? Api::v11 : Api::v10)) all.push_back(api);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryApi, testing::ValuesIn(served()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace

}  // namespace test
