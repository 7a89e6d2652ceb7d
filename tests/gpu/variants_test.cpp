// Runs every kernel of every archive, by name, through the user's call: AMD's on the simulator with its sanitizer on,
// NVIDIA's if there is a GPU for them. On a GPU, 100 calls must give the same bytes, except for a dq that is added up
// in any order. Each result is checked against the math backend in float64 by the rule of docs/architecture.md. A
// kernel that no test has run is a failure, and so is an option that a kernel takes and has not run.
//
// Every kernel runs a problem with all of its options and the first of huge_cases(). Kernels of one type and tile share
// the other problems: each takes every eighth on the simulator and every third on a GPU, and the next kernel begins one
// later. RAPT_TEST_LONG=1 takes all problems and more. RAPT_TEST_REPORT names a file for the list of kernels that ran.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "device_run.hpp"
#include "kernels/siblings.hpp"
#include "rapt/rapt.hpp"
#include "small_weights.hpp"
#include "support/allowance.hpp"
#include "support/least_bias.hpp"
#include "variant.hpp"
#include "variant_cases.hpp"
#include "variants_record.hpp"

namespace test {

namespace {

// A GPU of HIP or CUDA for each architecture. A sibling runs the kernels of its relative.
const std::map<std::string, rapt_device>& devices() {
  static const std::map<std::string, rapt_device> all = [] {
    std::map<std::string, rapt_device> found;
    for (const rapt_device device : gpus())
      found.insert({std::string(rapt::code_of(rapt::describe(device).arch)), device});
    return found;
  }();
  return all;
}

// A problem's numbers and its right results, made once for all kernels and architectures.
struct Yardstick {
  Inputs inputs;
  Oracle oracle;

  explicit Yardstick(Inputs given) : inputs(std::move(given)), oracle(inputs) {}
  Yardstick(const Variant& v, const Case& c) : Yardstick(made(v, c)) {}

  static Inputs made(const Variant& v, const Case& c) {
    Inputs inputs = make_inputs(Problem(c.problem), c.kind, c.layout);
    if (!v.backward) inputs.dout = {};
    if (v.scores && inputs.bias) inputs.bias = inputs.bias.converted(inputs.q.dtype());
    if (!flushes(v.arch, v.dtype)) return inputs;
    for (Tensor* t : {&inputs.q, &inputs.k, &inputs.v, &inputs.dout})
      for (int64_t i = 0; i < t->count(); ++i)
        if (std::fabs(t->at(i)) < kLeastFp16) t->set(i, 0);
    return inputs;
  }
};

// The yardsticks of one type and tile; all together would be a gigabyte.
class Yardsticks {
 public:
  const Yardstick& of(const Variant& v, const Case& c) {
    const auto group = std::tuple(v.backward, v.dtype, v.tile);
    if (group != group_) made_.clear();
    group_ = group;
    std::unique_ptr<Yardstick>& one = made_[{name_of(c), flushes(v.arch, v.dtype)}];
    if (!one) one = std::make_unique<Yardstick>(v, c);
    return *one;
  }

 private:
  std::tuple<bool, std::string, int64_t> group_;
  std::map<std::pair<std::string, bool>, std::unique_ptr<Yardstick>> made_;
};

Record* const record = static_cast<Record*>(testing::AddGlobalTestEnvironment(new Record));

class EveryVariant : public testing::TestWithParam<Variant> {};

std::string backend_of(const Variant& v) {
  const std::string vendor = devices().at(v.arch).type == RAPT_ROCM ? "hip" : "cuda";
  if (v.name.starts_with("backward_dq_round")) return vendor + "." + fused_for(v);
  return combines(v.name) ? vendor : vendor + "." + v.name;
}

bool gives_dbias(const Variant& v) { return !v.scores || v.hopper; }

Results run(const Variant& v, const Yardstick& yardstick, Layout layout) {
  const rapt_device device = devices().at(v.arch);
  const Results& given = yardstick.oracle.given();
  return v.backward ? run_backward_on(device, yardstick.inputs, given, backend_of(v), layout, gives_dbias(v))
                    : run_on(device, yardstick.inputs, backend_of(v), layout);
}

Results gradients(const Variant& v, const Inputs& inputs, const Oracle& oracle) {
  return run_backward_on(devices().at(v.arch), inputs, oracle.given(), backend_of(v), Layout::compact, gives_dbias(v));
}

// True if the pass adds up dq in any order.
bool adds_in_any_order(const Variant& v) {
  return v.name.starts_with("backward_fused") || v.name.starts_with("backward_dq_round");
}

void check_repeated(const Variant& v, const Case& c) {
  const Yardstick yardstick(v, c);
  const Results first = run(v, yardstick, c.layout);
  for (int i = 1; i < 100; ++i) {
    const Results next = run(v, yardstick, c.layout);
    const auto all = first.named(), again = next.named();
    for (size_t t = 0; t < all.size(); ++t) {
      const bool any_order = adds_in_any_order(v) || (v.sums && !yardstick.inputs.problem.c.deterministic);
      if (any_order && all[t].first == std::string("dq")) continue;
      ASSERT_TRUE(all[t].second->memory() == again[t].second->memory())
          << v << ", " << name_of(c) << ", call " << i << ", " << all[t].first;
    }
  }
}

void check_least_bias(const Variant& v) {
  const std::string problem = "b1 hq4 hk2 sq17 sk72 d" + std::to_string(v.tile) + " " + v.dtype + " bias=b1h1";
  const LeastBias least(problem, v.scores ? kBf16 : kFp32);
  Results results = run_on(devices().at(v.arch), least.inputs, backend_of(v), Layout::compact);
  const Oracle oracle(least.like);
  least.check_lse(results, oracle.exact());
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << v << ", bias of the least, " << m.text();
}

// K and V, and in the backward pass Q and dO, have their rows in the opposite order in memory: kernels must not assume
// that strides are positive.
void check_reversed_rows(const Variant& v) {
  Inputs inputs = Yardstick::made(v, {"b1 hq4 hk2 sq17 sk70 d" + std::to_string(v.tile) + " " + v.dtype});
  for (Tensor* t : {&inputs.k, &inputs.v}) t->reverse_dimension(1);
  if (v.backward)
    for (Tensor* t : {&inputs.q, &inputs.dout}) t->reverse_dimension(1);
  const Yardstick yardstick(std::move(inputs));
  try {
    const Results results = run(v, yardstick, Layout::compact);
    for (const Measure& m : yardstick.oracle.measure(results))
      EXPECT_TRUE(m.ok()) << v << ", reversed rows, " << m.text();
  } catch (const rapt::Error& e) {
    ADD_FAILURE() << v << ", reversed rows, " << e.what();
  }
}

// A bias that all keys share has a gradient of zero if there are no keys.
void check_no_keys(const Variant& v) {
  Inputs inputs = make_inputs(Problem("b2 hq4 hk2 sq19 sk0 d" + std::to_string(v.tile) + " " + v.dtype + " bias=bNh1"));
  for (const int64_t rows : {1, 19}) {
    inputs.bias = Tensor(inputs.q.dtype(), {2, 1, rows, 1});
    inputs.bias.fill([](int64_t) { return 1; });
    Results given = make_results(inputs, Layout::compact, false);
    given.out.fill([](int64_t) { return 0; });
    given.lse.fill([](int64_t) { return -std::numeric_limits<double>::infinity(); });
    const Results results = run_backward_on(devices().at(v.arch), inputs, given, backend_of(v), Layout::compact);
    for (int64_t i = 0; i < results.dbias.count(); ++i) EXPECT_EQ(results.dbias.at(i), 0) << v << ", no keys, " << i;
  }
}

// Kernels with features scores take biases and masks whose rows are aligned.
Layout layout_for(const Variant& v) { return v.scores ? Layout::spaced : Layout::compact; }

// Elements of dout in rows that attend nothing, here the first 35, reach no result.
void check_rows_without_keys(const Variant& v, const std::string& option = "") {
  const std::string problem = "b1 hq2 hk1 sq40 sk5 d" + std::to_string(v.tile) + " " + v.dtype + " causal" + option;
  Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
  for (int64_t i = 0; i < 35 * 2 * v.tile; ++i) inputs.dout.set(i, std::nan(""));
  const Oracle oracle(inputs);
  const Results results = gradients(v, inputs, oracle);
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << v << ", rows without keys, " << m.text();
}

// A problem with Inf and NaN in a row of dout, made once for all kernels. With `keys_too`, a key that the row does not
// attend has NaN in V, and so has a key whose logits of -Inf exclude it. With dropout of 0.3 a row's weights are NaN.
const Yardstick& row_not_finite(const Variant& v, const std::string& problem, bool keys_too) {
  static std::map<std::tuple<std::string, Layout, bool, bool>, std::unique_ptr<Yardstick>> made;
  std::unique_ptr<Yardstick>& one = made[{problem, layout_for(v), flushes(v.arch, v.dtype), keys_too}];
  if (one) return *one;
  Inputs inputs = Yardstick::made(v, {problem, Kind::normal, layout_for(v)});
  const int64_t row = 17 * 2 * v.tile;
  inputs.dout.set(row + 1, std::nan(""));
  inputs.dout.set(row + 2, std::numeric_limits<double>::infinity());
  inputs.dout.set(row + v.tile + 2, -std::numeric_limits<double>::infinity());  // in the other head: dv is NaN there
  if (keys_too) {
    inputs.v.set(30 * v.tile, std::nan(""));
    inputs.v.set(5 * v.tile, std::nan(""));
    inputs.k.set(5 * v.tile + 3, -std::numeric_limits<double>::infinity());
    for (int64_t i = 3; i < inputs.q.count(); i += v.tile) inputs.q.set(i, 1);
  } else {
    inputs.dout.set(25 * 2 * v.tile, std::numeric_limits<double>::infinity());  // dk is Inf of both signs, or NaN
  }
  if (problem.find(" drop=0.3") != problem.npos) inputs.q.set(9 * 2 * v.tile, std::nan(""));
  one = std::make_unique<Yardstick>(std::move(inputs));
  return *one;
}

// Inf and NaN reach the gradients of that row and of the keys that it attends, and no others, also in packed sequences
// where another sequence has more keys.
void check_row_not_finite(const Variant& v, const std::string& sizes, const std::string& more, bool keys_too = false) {
  const std::string problem = sizes + " d" + std::to_string(v.tile) + " " + v.dtype + " causal" + more;
  const Yardstick& yardstick = row_not_finite(v, v.general ? problem + " bias=b1h1 mask=bNh1" : problem, keys_too);
  const Results results = gradients(v, yardstick.inputs, yardstick.oracle);
  for (const Measure& m : yardstick.oracle.measure(results))
    EXPECT_TRUE(m.ok()) << v << ", a row not finite, " << m.text();
}

// A row whose logits are all -Inf because of an Inf in q attends nothing, though its lse is finite: the sink's. A sink
// of -Inf counts as no sink.
void check_row_without_logits(const Variant& v) {
  const std::string problem = "b1 hq2 hk1 sq40 sk40 d" + std::to_string(v.tile) + " " + v.dtype + " sink";
  Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
  inputs.sink.set(1, -std::numeric_limits<double>::infinity());
  for (int64_t i = 3; i < inputs.k.count(); i += v.tile) inputs.k.set(i, -1);
  const int64_t row = 17 * 2 * v.tile;
  inputs.q.set(row + 3, std::numeric_limits<double>::infinity());
  inputs.dout.set(row + 1, std::nan(""));
  inputs.dout.set(row + v.tile + 1, std::nan(""));  // in the head whose sink is -Inf
  const Oracle oracle(inputs);
  const Results results = gradients(v, inputs, oracle);
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << v << ", row without logits, " << m.text();
}

// Gradients of logits beyond fp16's range, while the gradients of Q, K and V are within it. The rule allows no error
// here: the plain formula's dq and dk are infinite.
void check_large_gradients(const Variant& v) {
  const std::string problem = "b1 hq2 hk1 sq40 sk40 d" + std::to_string(v.tile) + " fp16";
  Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
  const auto multiply = [](Tensor& t, double factor) {
    for (int64_t i = 0; i < t.count(); ++i) t.set(i, factor * t.at(i));
  };
  multiply(inputs.q, 0x1p-5), multiply(inputs.k, 0x1p-5), multiply(inputs.v, 0x1p13), multiply(inputs.dout, 0x1p6);
  const Oracle oracle(inputs);
  const Results results = gradients(v, inputs, oracle);
  for (const auto& [name, x, exact] :
       {std::tuple("dq", &results.dq, &oracle.exact().dq), std::tuple("dk", &results.dk, &oracle.exact().dk)}) {
    double largest = 0, error = 0;
    for (int64_t i = 0; i < exact->count(); ++i) {
      largest = std::max(largest, std::fabs(exact->at(i)));
      error = std::isfinite(x->at(i)) ? std::max(error, std::fabs(x->at(i) - exact->at(i))) : INFINITY;
      if (error == INFINITY) break;
    }
    EXPECT_LE(error, 0x1p-9 * largest) << v << ", large gradients, " << name << ", largest " << largest;
  }
}

// The finite terms of an element of dv add up to more than fp16 holds, and one row of dout has -Inf: then so has dv.
void check_large_sums(const Variant& v) {
  const std::string problem = "b1 hq2 hk1 sq40 sk40 d" + std::to_string(v.tile) + " fp16 causal";
  Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
  for (int64_t i = 0; i < inputs.dout.count(); i += v.tile) inputs.dout.set(i, 60000);
  inputs.dout.set(17 * 2 * v.tile, -std::numeric_limits<double>::infinity());
  const Oracle oracle(inputs);
  const Results results = gradients(v, inputs, oracle);
  for (int64_t key = 0; key < 18; ++key)
    EXPECT_EQ(results.dv.at(key * v.tile), -std::numeric_limits<double>::infinity())
        << v << ", large sums, key " << key;
}

// Two sinks that take the whole weight of their rows, because they are infinite, or are in the log2 domain. A third one
// is -Inf there, and the lse of rows without keys, which are the first seven.
Inputs with_huge_sinks(const Variant& v, const std::string& sizes, const std::string& more = "") {
  const std::string problem = sizes + " d" + std::to_string(v.tile) + " " + v.dtype + " causal sink" + more;
  Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
  inputs.sink = inputs.sink.converted(kFp32);
  inputs.sink.set(0, 3e38), inputs.sink.set(1, std::numeric_limits<double>::infinity()), inputs.sink.set(2, -3e38);
  return inputs;
}

void check_huge_sinks(const Variant& v, const std::string& sizes, const std::string& more = "") {
  const Inputs inputs = with_huge_sinks(v, sizes, more);
  const Results results = run_on(devices().at(v.arch), inputs, backend_of(v), Layout::compact);
  const int64_t rows = results.lse.shape()[2], heads = 4, dim = results.out.shape()[3];
  for (int64_t row = 0; row < rows; ++row) {
    const bool without_keys = row < rows - inputs.k.shape()[1];
    for (int64_t head = 0; head < 3; ++head) {
      const double lse = results.lse.at(head * rows + row), sink = inputs.sink.at(head);
      if (head < 2 || without_keys) ASSERT_EQ(lse, sink) << v << ", huge sinks, row " << row << ", head " << head;
      else ASSERT_LT(std::fabs(lse), 100) << v << ", huge sinks, row " << row;
    }
    for (int64_t x = 0; x < 2 * dim; ++x)
      ASSERT_EQ(results.out.at(row * heads * dim + x), 0) << v << ", huge sinks, row " << row << ", element " << x;
  }
}

// Their rows have gradients of 0, and so have the keys of the first head of k, which no other rows attend. The
// problem's right results are made once for all kernels.
void check_gradients_of_huge_sinks(const Variant& v) {
  static std::map<std::tuple<std::string, int64_t, bool, Layout, bool>, std::unique_ptr<Yardstick>> made;
  auto& one = made[{v.dtype, v.tile, v.general, layout_for(v), flushes(v.arch, v.dtype)}];
  if (!one) one = std::make_unique<Yardstick>(with_huge_sinks(v, "b1 hq4 hk2 sq40 sk33"));
  const Results results = gradients(v, one->inputs, one->oracle);
  const auto check_head = [&](const char* name, const Tensor& t, int64_t head) {
    const int64_t heads = t.shape()[2], dim = t.shape()[3];
    for (int64_t i = 0; i < t.count(); ++i)
      if (i / dim % heads == head) ASSERT_EQ(t.at(i), 0) << v << ", huge sinks, " << name << " of head " << head;
      else ASSERT_TRUE(std::isfinite(t.at(i))) << v << ", huge sinks, " << name;
  };
  check_head("dq", results.dq, 0), check_head("dq", results.dq, 1);
  check_head("dk", results.dk, 0), check_head("dv", results.dv, 0);
  for (int64_t head = 0; head < 3; ++head)
    EXPECT_EQ(results.dsink.at(head), 0) << v << ", huge sinks, dsink of head " << head;
}

// With the values of small_weights.hpp, compared like any other problem.
void check_small_weights(const Variant& v) {
  const std::string problem = "b1 hq2 hk1 sq40 sk40 d" + std::to_string(v.tile) + " " + v.dtype;
  Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
  set_small_weights(inputs);
  const Oracle oracle(inputs);
  const Results results =
      run_backward_on(devices().at(v.arch), inputs, oracle.given(), backend_of(v), Layout::compact, gives_dbias(v));
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << v << ", small weights, " << m.text();
}

// Half of a tensor's elements are below 2^-14, which gfx90a's matrix unit takes for zero in fp16; also beside large
// ones in later tiles. Where q or k are small, the other one is large; then dS below 2^-14, which is lost, decides the
// small one's gradient (docs/amd.md).
void check_small_elements(const Variant& v) {
  const std::string problem = "b1 hq2 hk1 sq40 sk100 d" + std::to_string(v.tile) + " fp16";
  for (const bool large : {false, true})
    for (int small = 0; small < (v.backward ? 4 : 3); ++small) {
      Inputs inputs = Yardstick::made(v, {v.general ? problem + " bias=b1h1" : problem, Kind::normal, layout_for(v)});
      Tensor* const tensors[] = {&inputs.q, &inputs.k, &inputs.v, &inputs.dout};
      const auto scale = [](Tensor& t, int64_t from, double factor) {
        for (int64_t i = from; i < t.count(); ++i) t.set(i, t.at(i) * factor);
      };
      Tensor& t = *tensors[small];
      scale(t, 0, 0x1p-14);
      if (small < 2) scale(*tensors[1 - small], 0, 0x1p6);
      if (large && small < 2) t.set(t.count() - 1, 70);
      else if (large) scale(t, t.count() * 3 / 4, 0x1p20);
      const Oracle oracle(inputs);
      const Results results = v.backward ? gradients(v, inputs, oracle)
                                         : run_on(devices().at(v.arch), inputs, backend_of(v), Layout::compact);
      for (const Measure& m : oracle.measure(results)) {
        if (m.tensor == (small == 0 ? "dk" : small == 1 ? "dq" : "")) continue;
        EXPECT_TRUE(m.ok()) << v << ", small elements of tensor " << small << (large ? ", " : ", none large, ")
                            << m.text();
      }
    }
}

// Rows at odd addresses never reach a kernel that assumes aligned ones.
void check_refuses_unaligned(const Variant& v) {
  const Case unaligned{"b1 hq4 hk2 sq17 sk70 d" + std::to_string(v.tile) + " " + v.dtype, Kind::normal, Layout::padded};
  try {
    run(v, Yardstick(v, unaligned), Layout::padded);
    ADD_FAILURE() << v << " took rows that are not aligned";
  } catch (const rapt::Error& e) {
    EXPECT_NE(std::string(e.what()).find("must be aligned to 16 bytes"), std::string::npos) << e.what();
  }
}

// True if rows have nearly all their weight in a sink: P of keys is then below 2^-14, which gfx90a's matrix unit takes
// for zero in fp16 (docs/amd.md). Plain kernels and those of split-KV stay within the rule.
bool loses_weights(const Variant& v, const Case& c) {
  const bool is_such = v.arch == "gfx90a" && v.dtype == "fp16" && v.general && v.name.starts_with("forward");
  return is_such && c.kind == Kind::outliers && Problem(c.problem).c.has_sink;
}

void check(const Variant& v, const Case& c) {
  static Yardsticks yardsticks;
  const Yardstick& yardstick = yardsticks.of(v, c);
  const std::string where = v.arch + " " + v.name + ", " + name_of(c) + ", ";
  try {
    const Results results = run(v, yardstick, c.layout);
    for (const Measure& m : yardstick.oracle.measure(results)) {
      if (m.tensor == "out" && loses_weights(v, c)) continue;
      EXPECT_TRUE(m.ok()) << where << m.text();
    }
  } catch (const rapt::Error& e) {
    ADD_FAILURE() << where << e.what();
  }
}

// True if a backward pass of the problem has the variant's stage.
bool asks_for(const Variant& v, const Case& c) {
  const rapt_problem p = Problem(c.problem).c;
  if (v.name.starts_with("backward_dbias")) return p.has_bias;
  return !v.name.starts_with("backward_dsink") || p.has_sink;
}

// A kernel's problems at the head dims of a tile. The first are for every kernel, up to one with huge logits.
std::vector<Case> cases_of(const Variant& v, int64_t tile, bool longer, size_t& of_every_kernel) {
  const bool split = v.name.starts_with("split"), general = v.general || combines(v.name);
  std::vector<Case> cases = all_options_cases(v.dtype, tile, general, split);
  const auto append = [&](const std::vector<Case>& more) { std::ranges::copy(more, std::back_inserter(cases)); };
  if (v.hopper && takes_cache(v)) append(cached_cases(v.dtype, tile));
  of_every_kernel = cases.size() + !huge_cases(v, tile).empty();
  append(huge_cases(v, tile));
  if (split) append(split_cases(v.dtype, tile, general));
  if (!combines(v.name)) append(variant_cases(v.dtype, tile, general));
  if (v.sums && takes_dropout(v)) append(dropout_cases(v.dtype, tile));
  if (longer && !combines(v.name)) append(long_variant_cases(v.dtype, tile, general));
  return cases;
}

// The smaller tile for which the kernel has code of its own; 0 if it has none.
int64_t tile_beside(const Variant& v) {
  if (v.tile > 512) return 512;
  return v.hopper && !v.backward && v.tile == 256 ? 192 : 0;
}

TEST_P(EveryVariant, MeetsTheRule) {
  const Variant& v = GetParam();
  ASSERT_TRUE(devices().contains(v.arch)) << "no device of this architecture; RAPT_SIM_ARCH lists them";
  const bool longer = std::getenv("RAPT_TEST_LONG") != nullptr, amd = v.arch.starts_with("gfx");
  size_t of_every_kernel = 0, of_other_tile = 0;
  std::vector<Case> cases = cases_of(v, combines(v.name) ? 64 : v.tile, longer, of_every_kernel);
  if (const int64_t tile = amd ? 0 : tile_beside(v); tile > 0)
    std::ranges::copy(cases_of(v, tile, longer, of_other_tile), std::back_inserter(cases));
  for (Case& c : cases) c = taken_by(c, v);
  const auto start = std::chrono::steady_clock::now();
  const bool simulated = rapt::describe(devices().at(v.arch)).simulator != 0;
  const size_t step = longer ? 1 : simulated ? 8 : 3;
  size_t problems = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const bool its_turn = i < of_every_kernel || (i - of_every_kernel) % step == v.turn % step;
    if (!its_turn || !asks_for(v, cases[i])) continue;
    check(v, cases[i]);
    record->add(v, cases[i]);
    ++problems;
  }
  if ((!v.backward || v.triton) && !v.hopper && !combines(v.name)) check_reversed_rows(v), ++problems;
  if (v.triton || v.hopper) check_refuses_unaligned(v);
  if (!v.backward && v.general && !(v.scores && v.dtype != "bf16")) check_least_bias(v), ++problems;
  if (v.name.starts_with("backward_dbias")) check_no_keys(v), problems += 2;
  if (v.backward && !v.name.starts_with("backward_dsink")) {
    check_rows_without_keys(v);
    if (takes_sink(v) && !v.hopper) check_rows_without_keys(v, " sink"), check_row_without_logits(v), problems += 2;
    check_row_not_finite(v, "b1 hq2 hk1 sq40 sk40", "");
    check_row_not_finite(v, v.keys > 0 ? "b2 hq2 hk1 sq40 sk60" : "b2 hq2 hk1 sq40 sk70",
                         v.keys > 0            ? " varlen=40:40,9:60"
                         : v.hopper && !v.sums ? ""
                                               : " varlen=40:40,9:70");
    check_row_not_finite(v, "b1 hq2 hk1 sq40 sk40", takes_dropout(v) ? " drop=0.2" : "", true);
    problems += 4;
    if (v.general && takes_dropout(v)) check_row_not_finite(v, "b1 hq2 hk1 sq40 sk40", " drop=0.3"), ++problems;
    if (!amd && !v.triton) check_small_weights(v), ++problems;
    // NaN in a key: other keys than the ones that its rows attend have finite gradients.
    const std::string sizes = v.keys > 0 ? "b2 hq2 hk1 sq70 sk60 d" : "b2 hq2 hk1 sq90 sk80 d";
    check(v, {sizes + std::to_string(v.tile) + " " + v.dtype + " window=9,5" + (v.general ? " bias=b1h1" : ""),
              Kind::poison_seen, layout_for(v)});
    ++problems;
    if (v.dtype == "fp16") check_large_gradients(v), ++problems;
    if (!v.triton && v.dtype == "fp16") check_large_sums(v), ++problems;
  }
  if (v.sums)
    for (const Case& c : ordered_cases(v.dtype, v.tile)) check(v, c), check_repeated(v, c), ++problems;
  if (!simulated) check_repeated(v, *std::ranges::find_if(cases, [&](const Case& c) { return asks_for(v, c); }));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  record->add(v, problems, seconds.count(), !HasFailure());
}

TEST_P(EveryVariant, KeepsSmallElements) {
  const Variant& v = GetParam();
  if (v.arch == "gfx90a" && v.dtype == "fp16") check_small_elements(v);
}

TEST_P(EveryVariant, TakesHugeSinks) {
  const Variant& v = GetParam();
  if (!takes_sink(v)) return;
  if (v.backward) return check_gradients_of_huge_sinks(v);
  check_huge_sinks(v, "b1 hq4 hk2 sq40 sk33");
  if (combines(v.name))
    for (const char* more : {"", " alibi"}) check_huge_sinks(v, "b1 hq4 hk2 sq3 sk700", more);
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  std::string name = info.param.arch + "_" + info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, EveryVariant, testing::ValuesIn(all_variants()), variant_name);

TEST(Archives, EveryDeviceHasOne) {
  ASSERT_FALSE(devices().empty());
  for (const auto& [arch, device] : devices()) {
    EXPECT_GT(rapt::Archive("", arch).size(), 0u) << arch;
    if (device.type == RAPT_CUDA) continue;
    EXPECT_EQ(rapt::describe(device).simulator, 1) << "this is not the simulator: no sanitizer has checked anything";
  }
}

}  // namespace

}  // namespace test
