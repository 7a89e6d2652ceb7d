// Wrong results that the correctness rule must fail, where the logits alone once let anything pass: huge logits, a
// finite number that stands for a mask, and weights far below 1. Each changes one result of the plain formula, which
// itself must pass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/allowance.hpp"

namespace test {

namespace {

struct Fault {
  const char* name;
  const char* tensor;
  std::function<void(const Inputs&, const Oracle&, Results&)> plant;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

void expect_failed(const Inputs& inputs, const Fault& fault) {
  const Oracle oracle(inputs);
  for (const Measure& m : oracle.measure(oracle.plain()))
    EXPECT_TRUE(m.ok() || m.tensor != fault.tensor) << inputs.problem.text << ", plain " << m.text();
  Results wrong = oracle.plain();
  fault.plant(inputs, oracle, wrong);
  for (const Measure& m : oracle.measure(wrong))
    EXPECT_FALSE(m.ok() && m.tensor == fault.tensor) << inputs.problem.text << ", " << m.text();
}

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

// Each row attends one key, so dP - delta is 0: dq, dk and dbias are too, but for rounding.
void plant_one_key(const Inputs& in, Results& r, double factor) {
  const int64_t dim = in.q.shape().back(), keys = in.k.count() / dim;
  const double scale = factor / std::sqrt(static_cast<double>(dim));
  const auto ds = [&](int64_t row) {
    double dp = 0;
    for (int64_t x = 0; x < dim; ++x) dp += in.dout.at(row * dim + x) * in.v.at(row * dim + x);
    return scale * dp;
  };
  r.dq.fill([&](int64_t i) { return ds(i / dim) * in.k.at(i); });
  r.dk.fill([&](int64_t i) { return ds(i / dim) * in.q.at(i); });
  r.dbias.fill([&](int64_t i) { return i / keys == i % keys ? ds(i / keys) / scale * factor : 0; });
}

class OneKey : public testing::TestWithParam<double> {};
TEST_P(OneKey, DoesNotHideALossOfDelta) {
  for (const std::string type : {"fp32", "bf16", "fp16"})
    for (const char* dropout : {"", " drop=0.4"}) {
      const Inputs inputs =
          make_inputs(Problem("b1 hq1 hk1 sq33 sk33 d64 " + type + " window=0,0 bias=b1h1" + dropout));
      for (const char* tensor : {"dq", "dk", "dbias"})
        expect_failed(inputs,
                      {"", tensor, [](const Inputs& in, auto&, Results& r) { plant_one_key(in, r, GetParam()); }});
    }
}
// No delta, a part of it, delta in bf16, products of TF32, and a little more than float32's own errors.
const auto kParts = testing::Values(1, 0x1p-6, 0x1p-9, 0x1p-12, 0x1p-15, 0x1p-17);
INSTANTIATE_TEST_SUITE_P(Planted, OneKey, kParts);

// Pairs of elements of V are equal, and those of dO opposite. So delta is 0 in every row, and dsink too.
class CancellingDelta : public testing::TestWithParam<double> {};
TEST_P(CancellingDelta, DoesNotHideAPartOfIt) {
  for (const std::string type : {"fp32", "bf16", "fp16"})
    for (const char* dropout : {"", " drop=0.4"}) {
      Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq33 sk33 d64 " + type + " sink" + dropout));
      const Tensor v = inputs.v, dout = inputs.dout;
      inputs.v.fill([&](int64_t i) { return v.at(i / 2 * 2); });
      inputs.dout.fill([&](int64_t i) { return i % 2 == 0 ? dout.at(i) : -dout.at(i - 1); });
      expect_failed(inputs, {"", "dsink", [](const Inputs& in, const Oracle& o, Results& r) {
                               double terms = 0;
                               for (int64_t i = 0; i < in.dout.count(); ++i)
                                 terms += std::fabs(in.dout.at(i) * o.plain().out.at(i));
                               fill(r.dsink, GetParam() * terms / 34);  // the sink's weight, on average
                             }});
    }
}
INSTANTIATE_TEST_SUITE_P(Planted, CancellingDelta, kParts);

// Results of other inputs.
Results results_of(const Inputs& in, const std::function<void(Inputs&)>& change) {
  Inputs changed = in;
  change(changed);
  return Oracle(changed).plain();
}
void exchange_heads(Tensor& x, size_t dimension) {
  const Tensor old = x;
  int64_t inner = 1;
  for (size_t n = dimension + 1; n < x.shape().size(); ++n) inner *= x.shape()[n];
  const int64_t heads = x.shape()[dimension];
  x.fill([&](int64_t i) { return old.at(i + (i / inner % heads == 0 ? inner : i / inner % heads == 1 ? -inner : 0)); });
}

// Gradients with dropout, of a bias that batches share, and of sinks.
const Fault kShared[] = {
    {"dq of another mask of dropout", "dq",
     [](const Inputs& in, auto&, Results& r) { r.dq = results_of(in, [](Inputs& x) { ++x.dropout_seed; }).dq; }},
    {"dk of another mask of dropout", "dk",
     [](const Inputs& in, auto&, Results& r) { r.dk = results_of(in, [](Inputs& x) { ++x.dropout_seed; }).dk; }},
    {"dbias of another mask of dropout", "dbias",
     [](const Inputs& in, auto&, Results& r) { r.dbias = results_of(in, [](Inputs& x) { ++x.dropout_seed; }).dbias; }},
    {"dq without dropout's factor", "dq", [](auto&, auto&, Results& r) { scale(r.dq, 0.6); }},
    {"dk without dropout", "dk",
     [](const Inputs& in, auto&, Results& r) { r.dk = results_of(in, [](Inputs& x) { x.problem.c.dropout = 0; }).dk; }},
    {"dbias off by a hundredth", "dbias", [](auto&, auto&, Results& r) { scale(r.dbias, 1.01); }},
    {"dbias of one batch", "dbias", [](auto&, auto&, Results& r) { scale(r.dbias, 0.5); }},
    {"dbias of another head", "dbias", [](auto&, auto&, Results& r) { exchange_heads(r.dbias, 1); }},
    {"dbias of the next key", "dbias",
     [](auto&, auto&, Results& r) {
       const Tensor old = r.dbias;
       r.dbias.fill([&](int64_t i) { return old.at((i + 1) % old.count()); });
     }},
    {"dsink off by a hundredth", "dsink", [](auto&, auto&, Results& r) { scale(r.dsink, 1.01); }},
    {"dsink of the other sign", "dsink", [](auto&, auto&, Results& r) { scale(r.dsink, -1); }},
    {"dsink of another head", "dsink", [](auto&, auto&, Results& r) { exchange_heads(r.dsink, 0); }},
    {"dsink of no head", "dsink", [](auto&, auto&, Results& r) { fill(r.dsink, 0); }},
    {"dsink of another mask of dropout", "dsink",
     [](const Inputs& in, auto&, Results& r) { r.dsink = results_of(in, [](Inputs& x) { ++x.dropout_seed; }).dsink; }},
};

class SharedOptions : public testing::TestWithParam<Fault> {};
TEST_P(SharedOptions, DoNotHideIt) {
  for (const char* type : {"fp32", "bf16", "fp16"})
    expect_failed(make_inputs(Problem("b2 hq4 hk2 sq33 sk40 d64 " + std::string(type) + " bias=b1hN sink drop=0.4")),
                  GetParam());
}
INSTANTIATE_TEST_SUITE_P(Planted, SharedOptions, testing::ValuesIn(kShared));

// Logits near 1 are sums of pairs of terms near 20 that cancel. One head and batch.
Inputs with_cancelling_logits(const std::string& problem) {
  Inputs in = make_inputs(Problem(problem));
  const Tensor q = in.q, k = in.k;
  in.q.fill([&](int64_t i) { return 100 * q.at(i / 2 * 2); });
  in.k.fill([&](int64_t i) { return i % 2 == 0 ? k.at(i) : k.at(i) / 100 - k.at(i - 1); });
  return in;
}
Results with_rounded_operands(const Inputs& in, int bits) {
  return results_of(in, [&](Inputs& x) {
    for (Tensor* t : {&x.q, &x.k}) {
      const Tensor old = *t;
      t->fill([&](int64_t i) {
        const double unit = std::ldexp(1, std::ilogb(old.at(i)) - bits);
        return std::nearbyint(old.at(i) / unit) * unit;
      });
    }
  });
}

const Fault kCancellingLogits[] = {
    {"products in bf16", "lse", [](const Inputs& in, auto&, Results& r) { r.lse = with_rounded_operands(in, 7).lse; }},
    {"products in TF32", "lse", [](const Inputs& in, auto&, Results& r) { r.lse = with_rounded_operands(in, 10).lse; }},
    {"products of 15 bits", "lse",
     [](const Inputs& in, auto&, Results& r) { r.lse = with_rounded_operands(in, 14).lse; }},
    {"off by 1e-3", "lse",
     [](auto&, const Oracle& o, Results& r) { r.lse.fill([&](int64_t i) { return o.plain().lse.at(i) + 1e-3; }); }},
    {"one row off by 1e-3", "lse",
     [](auto&, const Oracle& o, Results& r) { r.lse.set(7, o.plain().lse.at(7) + 1e-3); }},
    {"without a pair of terms", "lse",
     [](const Inputs& in, auto&, Results& r) {
       r.lse = results_of(in, [](Inputs& x) { x.q.fill([&](int64_t i) { return i % 64 < 2 ? 0 : x.q.at(i); }); }).lse;
     }},
    {"without a key", "lse",
     [](const Inputs& in, auto&, Results& r) {
       r.lse =
           results_of(in, [](Inputs& x) { x.bias.fill([](int64_t i) { return i % 66 == 65 ? -INFINITY : 0; }); }).lse;
     }},
    {"of the row before", "lse",
     [](auto&, const Oracle& o, Results& r) {
       r.lse.fill([&](int64_t i) { return o.plain().lse.at((i + 32) % 33); });
     }},
};

class CancellingLogits : public testing::TestWithParam<Fault> {};
TEST_P(CancellingLogits, DoNotHideIt) {
  Inputs inputs = with_cancelling_logits("b1 hq1 hk1 sq33 sk66 d64 fp32 bias=b1h1");
  inputs.bias.fill([](int64_t) { return 0; });
  expect_failed(inputs, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Planted, CancellingLogits, testing::ValuesIn(kCancellingLogits));

// A row of much larger terms, which is vague, excuses nothing in lse of others.
TEST(CancellingLogits, DoNotHideItInOtherRows) {
  Inputs inputs = with_cancelling_logits("b1 hq1 hk1 sq33 sk66 d64 fp32");
  for (int64_t x = 0; x < 64; ++x) inputs.q.set(x, 1e6 * inputs.q.at(x));
  for (int64_t row = 1; row < 33; row += 5)
    expect_failed(inputs, {"", "lse", [row](auto&, auto&, Results& r) { r.lse.set(row, r.lse.at(row) + 2e-3); }});
}

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

// All keys are equal and their logits about 1e7, so that any weights are allowed. dq is 0 whatever they are.
class EqualKeys : public testing::TestWithParam<double> {};
TEST_P(EqualKeys, DoNotHideAPartOfDelta) {
  Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq33 sk66 d64 fp32"));
  const Tensor k = inputs.k;
  inputs.k.fill([&](int64_t i) { return 1e7 * k.at(i % 64); });
  expect_failed(inputs, {"", "dq", [](const Inputs& in, auto&, Results& r) {
                           r.dq.fill([&](int64_t i) {
                             double terms = 0;
                             for (int64_t x = 0; x < 64; ++x)
                               terms += std::fabs(in.dout.at(i / 64 * 64 + x) * in.v.at(x));
                             return GetParam() * terms / 8 * in.k.at(i % 64);
                           });
                         }});
}
INSTANTIATE_TEST_SUITE_P(Planted, EqualKeys, testing::Values(1, 0x1p-6, 0x1p-9, 0x1p-12, 0x1p-14));

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

// Values are hundreds of float32's least number, to which sums of them are rounded.
const Fault kLeastNumbers[] = {
    {"zeros", "out", [](auto&, auto&, Results& r) { fill(r.out, 0); }},
    {"off by a fifth", "out", [](auto&, auto&, Results& r) { scale(r.out, 1.2); }},
    {"off by 20 least numbers", "out",
     [](auto&, auto&, Results& r) {
       const Tensor old = r.out;
       r.out.fill([&](int64_t i) { return old.at(i) + 20 * 0x1p-149; });
     }},
    {"the mean of all keys", "out",
     [](const Inputs& in, auto&, Results& r) { mean_of(in, r, [](int64_t) { return true; }); }},
    {"the first key alone", "out",
     [](const Inputs& in, auto&, Results& r) { mean_of(in, r, [](int64_t j) { return j == 0; }); }},
    {"zeros", "dv", [](auto&, auto&, Results& r) { fill(r.dv, 0); }},
    {"of the other sign", "dv", [](auto&, auto&, Results& r) { scale(r.dv, -1); }},
};

class LeastNumbers : public testing::TestWithParam<Fault> {};
TEST_P(LeastNumbers, DoNotHideIt) {
  Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq5 sk9 d16 fp32"));
  scale(inputs.v, 0x1p-141), scale(inputs.dout, 0x1p-141);
  expect_failed(inputs, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Planted, LeastNumbers, testing::ValuesIn(kLeastNumbers));

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
