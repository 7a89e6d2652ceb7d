// Results are bitwise the same from call to call, for any number of threads and any executor; and tensors may be
// anywhere in memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>

#include "support/executor.hpp"
#include "support/run.hpp"

namespace test {

namespace {

// Large enough for the library to use the executor at all.
const char* const kProblems[] = {
    "b1 hq4 hk2 sq100 sk100 d64 fp32 causal",
    "b1 hq4 hk1 sq70 sk150 d40 bf16 bias=b1h1 sink drop=0.1",
    "b1 hq2 hk2 sq130 sk129 d32 fp16 alibi softcap=8",
    "b3 hq2 hk2 sq70 sk100 d32 fp32 causal bias=bNhNq1 varlen=70:70,3:100,64:64",
    "b1 hq8 hk2 sq1 sk1300 d64 fp32",
    "b2 hq8 hk1 sq2 sk900 d64 bf16 causal paged=64",
};

// Large enough that the number of threads decides how many queries and keys an item has. Under every mask some rows
// must not read some keys, which are NaN, and a block looks for NaN as a whole. Eight threads share the last items of
// the forward of 16 heads and of the backward of 1,030 keys.
const char* const kCutProblems[] = {
    "b1 hq2 hk1 sq300 sk300 d16 fp32 causal",
    "b1 hq2 hk2 sq260 sk520 d32 bf16 window=200,77",
    "b2 hq2 hk1 sq270 sk400 d20 fp16 causal softcap=9 sink varlen=270:400,130:130",
    "b1 hq1 hk1 sq150 sk270 d260 fp32 window=-1,30",
    "b1 hq4 hk2 sq300 sk1030 d16 fp32 causal",
    "b1 hq16 hk2 sq260 sk140 d16 bf16 window=100,60",
};

void expect_same(const Results& a, const Results& b, const std::string& what) {
  const auto x = a.named(), y = b.named();
  for (size_t t = 0; t < x.size(); ++t)
    EXPECT_TRUE(same_elements(*x[t].second, *y[t].second)) << what << ", " << x[t].first;
}

class Determinism : public testing::TestWithParam<const char*> {};

// A sum of two NaNs is one of the two; the compiler decides which, loop by loop.
Results with_one_nan(Results results) {
  for (Tensor Results::* of :
       {&Results::out, &Results::lse, &Results::dq, &Results::dk, &Results::dv, &Results::dbias, &Results::dsink}) {
    Tensor& t = results.*of;
    if (t) t.fill([copy = t](int64_t i) { return std::isnan(copy.at(i)) ? std::nan("") : copy.at(i); });
  }
  return results;
}

void expect_any_executor_gives_the_same_bits(const Problem& problem, Kind kind,
                                             const std::vector<int32_t>& concurrencies) {
  const Inputs inputs = make_inputs(problem, kind);
  for (const std::string& backend : backends(problem)) {
    Threads one(1);
    const auto results = [&](const rapt_executor* executor) {
      return with_one_nan(run(inputs, {.backend = backend, .executor = executor}));
    };
    const Results first = results(one.c());
    for (const int32_t concurrency : concurrencies) {
      Threads threads(concurrency);
      const Results again = results(threads.c());
      expect_same(first, again, backend + " with " + std::to_string(concurrency) + " threads");
      EXPECT_LE(threads.most_tasks(), concurrency) << backend;
    }
    expect_same(first, results(nullptr), backend + " on the default pool");
  }
}

TEST_P(Determinism, AnyExecutorGivesTheSameBits) {
  expect_any_executor_gives_the_same_bits(Problem(GetParam()), Kind::normal, {2, 3, 7});
}

class CutDeterminism : public testing::TestWithParam<const char*> {};

TEST_P(CutDeterminism, AnyExecutorGivesTheSameBits) {
  for (const Kind kind : {Kind::normal, Kind::poison_seen})
    expect_any_executor_gives_the_same_bits(Problem(GetParam()), kind, {3, 8, 64});
}

INSTANTIATE_TEST_SUITE_P(Problems, CutDeterminism, testing::ValuesIn(kCutProblems));

TEST_P(Determinism, ThePoolGivesTheSameBits) {
  const Problem problem(GetParam());
  const Inputs inputs = make_inputs(problem);
  Threads one(1);
  rapt_executor* pool = nullptr;
  ASSERT_EQ(rapt_pool_create(3, &pool), RAPT_OK);
  EXPECT_EQ(pool->concurrency, 3);
  for (const std::string& backend : backends(problem))
    expect_same(run(inputs, {.backend = backend, .executor = one.c()}),
                run(inputs, {.backend = backend, .executor = pool}), backend);
  rapt_pool_destroy(pool);
}

INSTANTIATE_TEST_SUITE_P(Problems, Determinism, testing::ValuesIn(kProblems));

TEST(Determinism, SomeProblemUsesTheThreads) {
  for (const std::string& backend : backends(Problem(kProblems[0]))) {
    Threads threads(3);
    run(make_inputs(Problem(kProblems[0])), {.backend = backend, .executor = threads.c()});
    EXPECT_GT(threads.most_tasks(), 1) << backend;
  }
}

// Virtual memory that is never touched costs nothing, so heads can be more than 2^31 elements apart.
class FarApart {
 public:
  static constexpr int64_t kHeadStride = (int64_t{1} << 31) + 72;

  explicit FarApart(const Tensor& t) : source_(t) {
    const int64_t bytes = t.dtype().bits / 8, heads = t.shape()[2];
    size_ = static_cast<size_t>((kHeadStride * (heads - 1) + t.shape()[1] * t.shape()[3]) * bytes);
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    strides_[1] = t.shape()[3];
    c_ = t.c();
    c_.data = memory_;
    c_.strides = strides_;
  }
  ~FarApart() {
    if (mapped()) munmap(memory_, size_);
  }
  FarApart(const FarApart&) = delete;
  FarApart& operator=(const FarApart&) = delete;

  bool mapped() const { return memory_ != MAP_FAILED; }
  const rapt_tensor* c() const { return &c_; }

  void copy_in() {
    copy([](unsigned char* far, unsigned char* near, size_t n) { std::copy_n(near, n, far); });
  }
  void copy_out() {
    copy([](unsigned char* far, unsigned char* near, size_t n) { std::copy_n(far, n, near); });
  }

 private:
  template <class Move>
  void copy(const Move& move) {
    const size_t row = static_cast<size_t>(source_.shape()[3] * source_.dtype().bits / 8);
    auto* near = const_cast<unsigned char*>(source_.memory().data());
    for (int64_t s = 0; s < source_.shape()[1]; ++s)
      for (int64_t h = 0; h < source_.shape()[2]; ++h, near += row) {
        const int64_t element = s * strides_[1] + h * kHeadStride;
        move(static_cast<unsigned char*>(memory_) + element * source_.dtype().bits / 8, near, row);
      }
  }

  const Tensor& source_;
  void* memory_;
  size_t size_;
  int64_t strides_[4] = {0, 0, kHeadStride, 1};
  rapt_tensor c_;
};

TEST(Strides, MayCross31Bits) {
  for (const char* text : {"b1 hq4 hk2 sq20 sk70 d16 fp32 causal", "b1 hq4 hk2 sq20 sk70 d16 bf16"}) {
    const Inputs inputs = make_inputs(Problem(text));
    for (const std::string& backend : backends(inputs.problem)) {
      Results near = run(inputs, {.backend = backend}), copied = make_results(inputs, Layout::compact, true);
      FarApart q(inputs.q), k(inputs.k), v(inputs.v), dout(inputs.dout), out(copied.out), dq(copied.dq), dk(copied.dk),
          dv(copied.dv);
      for (FarApart* t : {&q, &k, &v, &dout, &out, &dq, &dk, &dv})
        if (!t->mapped()) GTEST_SKIP() << "no address space for tensors this far apart";
      for (FarApart* t : {&q, &k, &v, &dout}) t->copy_in();
      Attention attention(inputs);
      attention.c.q = q.c();
      attention.c.k = k.c();
      attention.c.v = v.c();
      auto execution = init<rapt_execution>();
      execution.backend = backend.c_str();
      auto forward = init<rapt_forward_call>();
      forward.attention = &attention.c;
      forward.execution = &execution;
      forward.out = out.c();
      forward.lse = attention.hold(copied.lse);
      ASSERT_EQ(rapt_forward(&forward), RAPT_OK) << rapt_last_error();
      auto backward = init<rapt_backward_call>();
      backward.attention = &attention.c;
      backward.execution = &execution;
      backward.out = out.c();
      backward.lse = forward.lse;
      backward.dout = dout.c();
      backward.dq = dq.c();
      backward.dk = dk.c();
      backward.dv = dv.c();
      ASSERT_EQ(rapt_backward(&backward), RAPT_OK) << rapt_last_error();
      for (FarApart* t : {&out, &dq, &dk, &dv}) t->copy_out();
      expect_same(near, copied, backend);
    }
  }
}

}  // namespace

}  // namespace test
