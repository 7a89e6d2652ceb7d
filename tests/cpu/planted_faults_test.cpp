// Wrong results that the correctness rule must fail, where the logits alone once let anything pass: huge logits, a
// finite number that stands for a mask, and weights far below 1. Each changes one result of the plain formula, which
// itself must pass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/planted_fault.hpp"

namespace test {

namespace {

void fill(Tensor& x, double value) {
  x.fill([&](int64_t) { return value; });
}
void scale(Tensor& x, double factor) {
  const std::vector<double> old = x.values();
  x.fill([&](int64_t i) { return factor * old[static_cast<size_t>(i)]; });
}

// out as the mean of V over the keys that `counts` takes, the same for every query.
void mean_of(const Inputs& in, Results& wrong, const std::function<bool(int64_t key)>& counts) {
  const int64_t dim = in.v.shape().back(), keys = in.v.count() / dim;
  wrong.out.fill([&](int64_t i) {
    double sum = 0, n = 0;
    for (int64_t j = 0; j < keys; ++j)
      if (counts(j)) sum += in.v.at(j * dim + i % dim), ++n;
    return sum / n;
  });
}

// Every logit is 1e11 or its negative, and all keys of the larger one have the same weight. One head and batch.
const Fault kHugeLogits[] = {
    {"zeros", "out", [](auto&, auto&, Results& r) { fill(r.out, 0); }},
    {"lse of a row without keys", "lse", [](auto&, auto&, Results& r) { fill(r.lse, -INFINITY); }},
    {"NaN", "out", [](auto&, auto&, Results& r) { fill(r.out, NAN); }},
    {"one of the equal keys alone", "out",
     [](const Inputs& in, auto&, Results& r) { mean_of(in, r, [](int64_t j) { return j == 0; }); }},
    {"half of the equal keys", "out",
     [](const Inputs& in, auto&, Results& r) { mean_of(in, r, [](int64_t j) { return j < 33 && j % 3 != 1; }); }},
    {"the keys of the other sign too", "out",
     [](const Inputs& in, auto&, Results& r) { mean_of(in, r, [](int64_t) { return true; }); }},
    {"not divided by the sum", "out", [](auto&, auto&, Results& r) { scale(r.out, 44); }},
    {"lse in the log2 domain", "lse", [](auto&, auto&, Results& r) { scale(r.lse, 1.4426950408889634); }},
    {"dv of weights that are infinite", "dv", [](auto&, auto&, Results& r) { fill(r.dv, INFINITY); }},
    {"dv of weights above 1", "dv", [](auto&, auto&, Results& r) { scale(r.dv, 1e4); }},
};

class HugeLogits : public testing::TestWithParam<Fault> {};
TEST_P(HugeLogits, DoNotHideIt) {
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    const Problem problem("b1 hq1 hk1 sq33 sk66 d64 " + std::string(type));
    Inputs inputs = make_inputs(problem, Kind::huge);
    inputs.q.fill([&](int64_t) { return inputs.q.at(0); });
    expect_failed(inputs, GetParam());
  }
}
INSTANTIATE_TEST_SUITE_P(Planted, HugeLogits, testing::ValuesIn(kHugeLogits));

// A bias of -1e9 excludes every third key of every row.
const Fault kFiniteMask[] = {
    {"out without the mask", "out",
     [](const Inputs& in, auto&, Results& r) {
       Inputs unmasked = in;
       unmasked.bias.fill([](int64_t) { return 0; });
       r.out = Oracle(unmasked).plain().out;
     }},
    {"lse off by 1e-3", "lse",
     [](auto&, const Oracle& o, Results& r) { r.lse.fill([&](int64_t i) { return o.plain().lse.at(i) + 1e-3; }); }},
    {"dq off by a tenth", "dq", [](auto&, auto&, Results& r) { scale(r.dq, 1.1); }},
    {"dk off by a tenth", "dk", [](auto&, auto&, Results& r) { scale(r.dk, 1.1); }},
    {"dv of no key", "dv", [](auto&, auto&, Results& r) { fill(r.dv, 0); }},
    {"dbias of no key", "dbias", [](auto&, auto&, Results& r) { fill(r.dbias, 0); }},
};

class FiniteMask : public testing::TestWithParam<Fault> {};
TEST_P(FiniteMask, DoesNotHideIt) {
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    // fp16 has no -1e9, so that the bias is fp32
    Inputs inputs = make_inputs(Problem("b1 hq2 hk2 sq33 sk66 d64 " + std::string(type) + " bias=b1h1"));
    Tensor bias(kFp32, inputs.bias.shape());
    bias.fill([](int64_t i) { return i % 3 == 1 ? -1e9 : 0; });
    inputs.bias = bias;
    expect_failed(inputs, GetParam());
  }
}
INSTANTIATE_TEST_SUITE_P(Planted, FiniteMask, testing::ValuesIn(kFiniteMask));

// A mask of -1e9 excludes every key of the first three rows, and nothing of the other rows. What the first rows do to
// dk, dv and dbias can be as large as these are.
void change_other_rows(Tensor& x, const std::function<double(double)>& change) {
  const std::vector<double> old = x.values();
  const int64_t rest = x.count() / 33;  // of one head and batch
  x.fill([&](int64_t i) { return i / rest < 3 ? old[static_cast<size_t>(i)] : change(old[static_cast<size_t>(i)]); });
}

const Fault kMaskedRows[] = {
    {"lse off by 1e-3", "lse",
     [](auto&, auto&, Results& r) { change_other_rows(r.lse, [](double x) { return x + 1e-3; }); }},
    {"out off by a tenth", "out",
     [](auto&, auto&, Results& r) { change_other_rows(r.out, [](double x) { return x * 1.1; }); }},
    {"dq off by a tenth", "dq",
     [](auto&, auto&, Results& r) { change_other_rows(r.dq, [](double x) { return x * 1.1; }); }},
    {"dq of the other sign", "dq",
     [](auto&, auto&, Results& r) { change_other_rows(r.dq, [](double x) { return -x; }); }},
};

class MaskedRows : public testing::TestWithParam<Fault> {};
TEST_P(MaskedRows, DoNotHideItInOthers) {
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq33 sk66 d64 " + std::string(type) + " bias=b1h1"));
    Tensor bias(kFp32, inputs.bias.shape());
    bias.fill([](int64_t i) { return i < 3 * 66 ? -1e9 : 0; });
    inputs.bias = bias;
    expect_failed(inputs, GetParam());
  }
}
INSTANTIATE_TEST_SUITE_P(Planted, MaskedRows, testing::ValuesIn(kMaskedRows));

// Each row attends one key, so dP - delta is 0: dq and dk are too, but for rounding.
void plant_one_key(const Inputs& in, Results& r, double factor) {
  const int64_t dim = in.q.shape().back();
  const double scale = factor / std::sqrt(static_cast<double>(dim));
  const auto ds = [&](int64_t row) {
    double dp = 0;
    for (int64_t x = 0; x < dim; ++x) dp += in.dout.at(row * dim + x) * in.v.at(row * dim + x);
    return scale * dp;
  };
  r.dq.fill([&](int64_t i) { return ds(i / dim) * in.k.at(i); });
  r.dk.fill([&](int64_t i) { return ds(i / dim) * in.q.at(i); });
}

class OneKey : public testing::TestWithParam<double> {};
TEST_P(OneKey, DoesNotHideALossOfDelta) {
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    const Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq33 sk33 d64 " + std::string(type) + " window=0,0"));
    for (const char* tensor : {"dq", "dk"})
      expect_failed(inputs,
                    {"", tensor, [](const Inputs& in, auto&, Results& r) { plant_one_key(in, r, GetParam()); }});
  }
}
// No delta, delta in bf16, products of TF32, and a little more than float32's own errors.
INSTANTIATE_TEST_SUITE_P(Planted, OneKey, testing::Values(1, 0x1p-9, 0x1p-12, 0x1p-17));

// A key of huge logits, which only the last row attends, excuses nothing in dq of other rows.
TEST(VagueRow, DoesNotHideZerosInOthers) {
  Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq64 sk64 d64 fp32 causal"));
  const int64_t dim = 64;
  for (int64_t i = 63 * dim; i < 64 * dim; ++i) inputs.k.set(i, 4e6 * inputs.k.at(i));
  expect_failed(inputs, {"", "dq", [](auto&, auto&, Results& r) {
                           const std::vector<double> old = r.dq.values();
                           r.dq.fill([&](int64_t i) { return i < 63 * dim ? 0 : old[static_cast<size_t>(i)]; });
                         }});
}

// Their terms cancel too, but add up over many rows: float32's errors there do not.
TEST(SumsOverRows, DoNotHideAWrongWeight) {
  const auto inputs = [&](const std::string& rest) {
    return make_inputs(Problem("b4 hq2 hk2 sq128 sk96 d64 " + rest));
  };
  for (const char* type : {"fp32", "bf16", "fp16"})
    expect_failed(inputs(std::string(type) + " sink"),
                  {"", "dsink", [](auto&, auto&, Results& r) { scale(r.dsink, 1 + 0x1p-10); }});
  expect_failed(inputs("fp32 bias=b1h1q1"),
                {"", "dbias", [](auto&, auto&, Results& r) { scale(r.dbias, 1 + 0x1p-16); }});
}

// A sink leaves e^-70 for the keys.
TEST(SmallWeights, AreNotTakenForZero) {
  Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq5 sk9 d8 fp32 sink"));
  inputs.sink.fill([](int64_t) { return 70; });
  for (const auto& [name, result] :
       {std::pair{"out", &Results::out}, {"dq", &Results::dq}, {"dk", &Results::dk}, {"dv", &Results::dv}})
    expect_failed(inputs, {"zero", name, [result](auto&, auto&, Results& r) { fill(r.*result, 0); }});
}

}  // namespace

}  // namespace test
