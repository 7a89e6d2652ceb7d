// Attention over a cache, on every backend for CPU tensors.
#include "support/cached_call.hpp"

namespace test {

namespace {

void check(const CacheSetup& setup) {
  for (const std::string& backend : backends(Problem("b1 hq1 hk1 sq1 sk1 d1 fp32"))) {
    CachedCall call(setup);
    const std::string where = backend + ", " + setup.text();
    Tensor out = call.make_out(), lse = call.make_lse();
    ASSERT_EQ(call.run(backend, out, lse), RAPT_OK) << where << ": " << rapt_last_error();
    expect_sequences(call, out, lse, where);
  }
}

class KvCache : public testing::TestWithParam<CacheSetup> {};

TEST_P(KvCache, IsTheGatheredSequence) {
  CacheSetup setup = GetParam();
  for (rapt_dtype dtype : {kFp32, kBf16, kFp16}) {
    setup.dtype = dtype;
    check(setup);
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, KvCache, testing::ValuesIn(kSetups));

TEST(KvCachePages, AreWhatTheContiguousCacheIs) {
  for (const char* type : {"fp32", "bf16", "fp16"})
    for (int64_t page : {1, 3, 16, 64, 200}) {
      const std::string sizes = std::string("b2 hq4 hk2 sq5 sk130 d32 ") + type + " causal";
      const Inputs paged = make_inputs(Problem(sizes + " paged=" + std::to_string(page)));
      Inputs plain(Problem{sizes});
      plain.q = paged.q;
      plain.k = Tensor(paged.k.dtype(), {2, 130, 2, 32});
      plain.v = plain.k;
      const auto gather = [&](const Tensor& pages) {
        return [&](int64_t i) { return pages.at(paged.row_k(i / 64 / 130, i / 64 % 130) * 64 + i % 64); };
      };
      plain.k.fill(gather(paged.k));
      plain.v.fill(gather(paged.v));
      plain.dout = paged.dout;
      const Oracle oracle(plain);
      for (const std::string& backend : backends(paged.problem))
        for (const Measure& m : oracle.measure(run(paged, {.backend = backend})))
          EXPECT_TRUE(m.ok()) << backend << ", " << paged.problem.text << ", " << m.text();
    }
}

}  // namespace

}  // namespace test
