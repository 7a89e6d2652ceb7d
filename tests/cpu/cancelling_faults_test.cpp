// Wrong results that the correctness rule must fail beside right ones whose sums cancel. A float32 sum whose terms
// cancel may lose all that is left of it; that excuses nothing in other rows, keys and heads.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>

#include "support/planted_fault.hpp"

namespace test {

namespace {

constexpr int64_t kRows = 64, kHeads = 2, kDim = 64, kSpecial = 20;  // keys and rows; the row whose sums cancel

// The row of an element, and its head: of [rows, heads, dim], of lse, and of dbias.
struct Place {
  int64_t row, head;
};
Place of_row(int64_t i) { return {i / kDim / kHeads, i / kDim % kHeads}; }
Place of_lse(int64_t i) { return {i % kRows, i / kRows}; }
Place of_bias(int64_t i) { return {i / kRows % kRows, i / kRows / kRows}; }
// Rows that no sum that cancels touches, and keys that only such rows attend.
bool good(Place at) { return at.row > kSpecial || at.head == 1; }

// Good elements of a result get another's.
void replace(Tensor& x, const Tensor& by, Place (*place)(int64_t)) {
  const Tensor old = x;
  x.fill([&](int64_t i) { return good(place(i)) ? by.at(i) : old.at(i); });
}
void change(Tensor& x, Place (*place)(int64_t), const std::function<double(double)>& to) {
  const Tensor old = x;
  x.fill([&](int64_t i) { return good(place(i)) ? to(old.at(i)) : old.at(i); });
}
void exchange(Tensor& x, int64_t one, int64_t other) {
  const Tensor old = x;
  x.fill([&](int64_t i) {
    const int64_t row = of_row(i).row, from = row == one ? other : row == other ? one : row;
    return old.at(i + (from - row) * kHeads * kDim);
  });
}

// Gradients from another out and lse.
Results gradients(const Inputs& in, const Oracle& oracle, const std::function<void(Results&)>& change_given) {
  Results given = oracle.given(), results = make_results(in, Layout::compact, true);
  change_given(given);
  EXPECT_EQ(backward(in, results, {.given = &given}), RAPT_OK);
  return results;
}
Results with_delta_off(const Inputs& in, const Oracle& oracle) {
  return gradients(in, oracle,
                   [](Results& given) { change(given.out, of_row, [](double x) { return x * (1 + 0x1p-8); }); });
}
Results with_weights_off(const Inputs& in, const Oracle& oracle) {
  return gradients(in, oracle, [](Results& given) { change(given.lse, of_lse, [](double x) { return x - 0x1p-8; }); });
}
Results of_other_inputs(const Inputs& in, const std::function<void(Inputs&)>& change_inputs) {
  Inputs changed = in;
  change_inputs(changed);
  return Oracle(changed).plain();
}
Results without_the_last_key(const Inputs& in) {
  return of_other_inputs(in, [](Inputs& x) {
    const Tensor old = x.bias;
    x.bias.fill([&](int64_t i) { return i % kRows == of_bias(i).row ? -INFINITY : old.at(i); });
  });
}
double bf16(double x) {
  const double unit = std::ldexp(1, std::ilogb(x) - 7);
  return std::nearbyint(x / unit) * unit;
}

// In good rows alone.
const Fault kFaults[] = {
    {"P not renormalised", "out",
     [](auto&, auto&, Results& r) { change(r.out, of_row, [](double x) { return x * (1 + 0x1p-8); }); }},
    {"without the last key", "out",
     [](const Inputs& in, auto&, Results& r) { replace(r.out, without_the_last_key(in).out, of_row); }},
    {"of no key", "out", [](auto&, auto&, Results& r) { change(r.out, of_row, [](double) { return 0; }); }},
    {"in bf16", "lse", [](auto&, auto&, Results& r) { change(r.lse, of_lse, bf16); }},
    {"off by 1e-4", "lse", [](auto&, auto&, Results& r) { change(r.lse, of_lse, [](double x) { return x + 1e-4; }); }},
    {"without the last key", "lse",
     [](const Inputs& in, auto&, Results& r) { replace(r.lse, without_the_last_key(in).lse, of_lse); }},
    {"the sink's weight off", "lse",
     [](const Inputs& in, auto&, Results& r) {
       replace(
           r.lse,
           of_other_inputs(in, [](Inputs& x) { x.sink.fill([&](int64_t h) { return x.sink.at(h) + 0x1p-8; }); }).lse,
           of_lse);
     }},
    {"of two rows exchanged", "dq", [](auto&, auto&, Results& r) { exchange(r.dq, 40, 41); }},
    {"of two keys exchanged", "dk", [](auto&, auto&, Results& r) { exchange(r.dk, 40, 41); }},
    {"delta off", "dq",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dq, with_delta_off(in, o).dq, of_row); }},
    {"delta off", "dk",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dk, with_delta_off(in, o).dk, of_row); }},
    {"delta off", "dbias",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dbias, with_delta_off(in, o).dbias, of_bias); }},
    {"weights off", "dq",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dq, with_weights_off(in, o).dq, of_row); }},
    {"weights off", "dk",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dk, with_weights_off(in, o).dk, of_row); }},
    {"weights off", "dv",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dv, with_weights_off(in, o).dv, of_row); }},
    {"weights off", "dbias",
     [](const Inputs& in, const Oracle& o, Results& r) { replace(r.dbias, with_weights_off(in, o).dbias, of_bias); }},
    {"zeros", "dq", [](auto&, auto&, Results& r) { change(r.dq, of_row, [](double) { return 0; }); }},
    {"zeros", "dk", [](auto&, auto&, Results& r) { change(r.dk, of_row, [](double) { return 0; }); }},
    {"zeros", "dv", [](auto&, auto&, Results& r) { change(r.dv, of_row, [](double) { return 0; }); }},
    {"without a row", "dbias",
     [](auto&, auto&, Results& r) {
       const Tensor old = r.dbias;
       r.dbias.fill([&](int64_t i) { return of_bias(i).row == 50 ? 0 : old.at(i); });
     }},
    {"the wrong sign", "dsink", [](auto&, auto&, Results& r) { r.dsink.set(1, -r.dsink.at(1)); }},
};

Inputs ordinary(const std::string& options) {
  return make_inputs(Problem("b1 hq2 hk2 sq64 sk64 d64 fp32 causal bias=b1hN sink" + options));
}

// Elements of a row's q are equal in pairs and large, elements of k almost opposite: logits are small, their terms not.
Inputs one_row_of_cancelling_logits(int log_terms) {
  Inputs in = ordinary("");
  const double size = std::ldexp(1, log_terms - 3);
  const Tensor q = in.q, k = in.k;
  in.q.fill([&](int64_t i) { return good(of_row(i)) || of_row(i).row != kSpecial ? q.at(i) : size * q.at(i / 2 * 2); });
  in.k.fill([&](int64_t i) { return i % 2 == 0 ? k.at(i) : k.at(i) / size - k.at(i - 1); });
  return in;
}
// Products of a row are far above the cap.
Inputs one_row_above_the_cap() {
  Inputs in = ordinary(" softcap=5");
  const Tensor q = in.q;
  in.q.fill([&](int64_t i) { return good(of_row(i)) || of_row(i).row != kSpecial ? q.at(i) : 0x1p12 * q.at(i); });
  return in;
}
// dO of a row is large.
Inputs one_large_row(double size) {
  Inputs in = ordinary("");
  const Tensor dout = in.dout;
  in.dout.fill(
      [&](int64_t i) { return good(of_row(i)) || of_row(i).row != kSpecial ? dout.at(i) : size * dout.at(i); });
  return in;
}
// Elements of head 0's V are equal in pairs, and its dO is large and opposite in pairs: delta is 0, its terms are not.
Inputs one_head_of_cancelling_deltas() {
  Inputs in = ordinary("");
  const Tensor v = in.v, dout = in.dout;
  in.v.fill([&](int64_t i) { return of_row(i).head == 0 ? v.at(i / 2 * 2) : v.at(i); });
  in.dout.fill([&](int64_t i) {
    return of_row(i).head == 1 ? dout.at(i) : 0x1p12 * (i % 2 == 0 ? dout.at(i) : -dout.at(i - 1));
  });
  return in;
}

struct CancellingInputs {
  const char* name;
  Inputs inputs;
  Oracle oracle;
  CancellingInputs(const char* n, const Inputs& in) : name(n), inputs(in), oracle(in) {}
};
const std::deque<CancellingInputs>& all_inputs() {
  static const std::deque<CancellingInputs> all = [] {
    std::deque<CancellingInputs> made;
    for (const int log_terms : {12, 16, 18, 24})
      made.emplace_back("a row of logits that cancel", one_row_of_cancelling_logits(log_terms));
    made.emplace_back("a row above the cap", one_row_above_the_cap());
    for (const double size : {0x1p12, 0x1p20}) made.emplace_back("a large row", one_large_row(size));
    made.emplace_back("a head of deltas that cancel", one_head_of_cancelling_deltas());
    return made;
  }();
  return all;
}

class Cancelling : public testing::TestWithParam<Fault> {};
TEST_P(Cancelling, SumsDoNotHideItInOthers) {
  for (const CancellingInputs& in : all_inputs()) {
    SCOPED_TRACE(in.name);
    expect_failed(in.inputs, in.oracle, GetParam());
  }
}
INSTANTIATE_TEST_SUITE_P(Planted, Cancelling, testing::ValuesIn(kFaults));

// Late keys have few queries, and small gradients.
TEST(SmallElements, AreNotTakenForZero) {
  for (const char* type : {"fp32", "bf16", "fp16"}) {
    const Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq128 sk128 d64 " + std::string(type) + " causal"));
    for (const auto& [name, result] : {std::pair{"dk", &Results::dk}, {"dv", &Results::dv}})
      expect_failed(inputs, {"the last key's", name, [result](auto&, auto&, Results& r) {
                               const Tensor old = r.*result;
                               (r.*result).fill([&](int64_t i) { return i / 64 == 127 ? 0 : old.at(i); });
                             }});
  }
}

// A value that no query reads says nothing of the others.
TEST(UnreadValues, DoNotHideZeros) {
  Inputs inputs = make_inputs(Problem("b1 hq1 hk1 sq64 sk80 d64 fp32 causal-tl"));
  for (int64_t i = 79 * 64; i < 80 * 64; ++i) inputs.v.set(i, 3e38);
  for (const auto& [name, result] : {std::pair{"out", &Results::out}, {"dq", &Results::dq}, {"dk", &Results::dk}})
    expect_failed(inputs,
                  {"zero", name, [result](auto&, auto&, Results& r) { (r.*result).fill([](int64_t) { return 0; }); }});
}

}  // namespace

}  // namespace test
