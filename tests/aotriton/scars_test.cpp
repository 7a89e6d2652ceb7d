// Failures that users of AOTriton reported, one test each, and PyTorch's calls beside attention itself.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "client.hpp"
#include "kernels/common/philox.h"
#include "support/allowance.hpp"

namespace test {

namespace {

using namespace aotriton;
namespace v2 = aotriton::v2::flash;
namespace v3 = aotriton::v3::flash;

Inputs inputs_of(const char* problem) { return make_inputs(Problem(problem)); }

void expect_rule(const Oracle& oracle, const Results& results, const std::string& where) {
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << where << ": " << m.text();
}

// pytorch#173469: a window of -1 is unbounded, as everywhere else.
TEST(Scars, MinusOneIsUnbounded) {
  for (const auto& [window, problem] : {std::pair{std::pair{-1, -1}, "b1 hq4 hk4 sq20 sk33 d64 bf16"},
                                        {std::pair{-1, 0}, "b1 hq4 hk4 sq20 sk33 d64 bf16 causal-tl"},
                                        {std::pair{33, 70}, "b1 hq4 hk4 sq20 sk33 d64 bf16"}}) {
    const Inputs in = inputs_of(problem);
    const Oracle oracle(in);
    Calling how;
    how.window = window;
    expect_rule(oracle, forward_through(how, gpus()[0], in, Layout::compact), problem);
    expect_rule(oracle, backward_through(how, gpus()[0], in, oracle.given(), Layout::compact), problem);
  }
}

// pytorch's first sliding windows gave DK, DV and DQ each other's memory. Here the sizes of all three differ.
TEST(Scars, GradientsAreInTheirOwnTensors) {
  const Inputs in = inputs_of("b1 hq4 hk2 sq33 sk20 d64 dv32 bf16 causal-tl window=5,0");
  const Oracle oracle(in);
  expect_rule(oracle, backward_through({}, gpus()[0], in, oracle.given(), Layout::compact), "gradients");
}

// pytorch#156012: lse is natural from 0.11 on. q, k and v are the identity, so its value is known.
TEST(Scars, BaseOfLse) {
  Inputs in = inputs_of("b1 hq1 hk1 sq16 sk16 d16 fp16 scale=1");
  for (Tensor* t : {&in.q, &in.k, &in.v}) t->fill([](int64_t i) { return i / 16 == i % 16; });
  const Results results = forward_through({}, gpus()[0], in, Layout::compact);
  for (int64_t i = 0; i < 16; ++i) EXPECT_NEAR(results.lse.at(i), std::log(15 + std::exp(1.0)), 2e-6);
}

// ROCm/aotriton#179: head dims that are not multiples of 8, between rows that hold NaN.
TEST(Scars, TailsOfHeadDims) {
  for (const char* problem : {"b1 hq2 hk2 sq20 sk33 d36 bf16", "b1 hq2 hk2 sq20 sk33 d65 fp16 causal-tl",
                              "b1 hq2 hk2 sq20 sk33 d100 dv20 bf16"}) {
    const Inputs in = make_inputs(Problem(problem), Kind::normal, Layout::padded);
    const Oracle oracle(in);
    for (const rapt_device device : gpus()) {
      expect_rule(oracle, forward_through({}, device, in, Layout::padded), problem);
      expect_rule(oracle, backward_through({}, device, in, oracle.given(), Layout::padded), problem);
    }
  }
}

// pytorch#189849: hdim 512 on gfx11 was silently wrong.
TEST(Scars, HeadDim512) {
  const Inputs in = inputs_of("b1 hq2 hk1 sq20 sk33 d512 bf16 causal-tl");
  const Oracle oracle(in);
  for (const rapt_device device : gpus())
    expect_rule(oracle, forward_through({}, device, in, Layout::compact), rapt::describe(device).arch);
}

// A bias that is broadcast by strides of 0, as PyTorch expands it; its gradient is not summed.
TEST(Scars, BroadcastBias) {
  Inputs in = inputs_of("b2 hq4 hk4 sq17 sk41 d64 bf16 bias=bNhN");
  in.bias.repeat(17 * 41);
  const Oracle oracle(in);
  Calling how;
  how.one_bias = true;
  expect_rule(oracle, forward_through(how, gpus()[0], in, Layout::compact), "bias of stride 0");
  expect_rule(oracle, backward_through(how, gpus()[0], in, oracle.given(), Layout::compact), "its gradient");
}

// For a batch of 0 or no queries, PyTorch's tensors are null. The keys' gradients are zeros.
TEST(Scars, NullBecauseEmpty) {
  for (const char* problem : {"b2 hq4 hk2 sq0 sk12 d24 bf16", "b0 hq4 hk2 sq9 sk12 d24 bf16"}) {
    const Inputs in = inputs_of(problem);
    Results results = make_results(in, Layout::compact, true);
    Views views(gpus()[0]);
    const auto null_if_empty = [](const T4& t, const Tensor& of) {
      return of.count() > 0 ? t : T4(0, t.sizes(), t.strides(), t.dtype());
    };
    for (const int32_t version : {1, 6}) {
      v3::BackwardParams6 p = {};
      v3::BackwardParams1 p1 = {};
      const auto fill = [&](auto& to) {
        to.q = null_if_empty(views.rows(in.q), in.q);
        to.k = null_if_empty(views.rows(in.k), in.k);
        to.v = null_if_empty(views.rows(in.v), in.v);
        to.out = to.dout = null_if_empty(views.rows(in.dout), in.dout);
        to.dq = null_if_empty(views.rows_written(results.dq), in.q);
        to.dk = null_if_empty(views.rows_written(results.dk), in.k);
        to.dv = null_if_empty(views.rows_written(results.dv), in.v);
        to.lse = T2(0, {static_cast<uint64_t>(in.problem.c.batch * 4), static_cast<uint64_t>(in.problem.c.seqlen_q)},
                    {static_cast<uint64_t>(in.problem.c.seqlen_q), 1}, kFloat32);
        to.scale = 1;
      };
      fill(p);
      fill(p1);
      const void* const params = version == 1 ? static_cast<const void*>(&p1) : &p;
      EXPECT_EQ(v3::attn_bwd(*static_cast<const v3::attn_bwd_params*>(params), version, nullptr, nullptr), kSuccess)
          << problem;
      rapt::check(rapt_device_synchronize(gpus()[0]));
      views.fetch();
      for (const Tensor* t : {&results.dk, &results.dv})
        for (int64_t i = 0; i < t->count(); ++i) EXPECT_EQ(t->at(i), 0);
    }
  }
}

// gfx12 counts workgroups to 65535 beyond a grid's first dimension.
TEST(Scars, ManyPairsOfBatchAndHead) {
  Tensor signs(kFp16, {32800, 2, 1, 1});
  signs.fill([](int64_t) { return NAN; });
  Views views(gpus()[0]);
  const T4 to = views.scores_written(signs);
  ASSERT_EQ(v2::debug_simulate_encoded_softmax(to, 0, {}, {}, 0, nullptr), kSuccess);
  views.fetch();
  for (int64_t i = 0; i < signs.count(); ++i) ASSERT_EQ(signs.at(i), 0.5) << i;
}

// ROCm/aotriton#224: calls from threads that share no lock, each on a stream of another device.
TEST(Scars, Threads) {
  using Stream = ihipStream_t*;
  const auto create = reinterpret_cast<int (*)(Stream*)>(hip_function("hipStreamCreate"));
  const auto set_device = reinterpret_cast<int (*)(int)>(hip_function("hipSetDevice"));
  const Inputs in = inputs_of("b1 hq4 hk4 sq20 sk33 d64 bf16 causal-tl");
  const Oracle oracle(in);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const rapt_device device = gpus()[static_cast<size_t>(t) % gpus().size()];
      Calling how;
      set_device(device.id);
      ASSERT_EQ(create(&how.stream), 0);
      set_device(0);  // the stream's device counts, not this one
      EXPECT_EQ(v2::check_gpu(how.stream), kSuccess);
      expect_rule(oracle, forward_through(how, device, in, Layout::compact), "thread");
    });
  for (std::thread& t : threads) t.join();
}

TEST(Gpus, Questions) {
  EXPECT_EQ(v2::check_gpu(nullptr), kSuccess);
  EXPECT_FALSE(isArchExperimentallySupported(nullptr));
  EXPECT_FALSE(isArchTechPreview(nullptr));
  EXPECT_GT(getMultiProcessorCount(nullptr), 0);
  EXPECT_EQ(getGpuFromStream(nullptr), 0x1002'0908'0000u);
  EXPECT_EQ(getArchFromStream(nullptr), 0x1002'0000'0908u);
}

// The mask that forward and backward used, and the one that debug_simulate_encoded_softmax writes, also with an offset
// beyond 32 bits.
TEST(Dropout, EncodedSoftmax) {
  constexpr int64_t kRows = 19, kColumns = 43;
  constexpr uint64_t kSeed = 0x123456789ABCDEF, kOffset = (uint64_t{3} << 32) + 7;
  for (const rapt_dtype dtype : {kFp16, kBf16, kFp32}) {
    Tensor signs(dtype, {2, 3, kRows, kColumns}, Layout::padded, Last::strided);
    Views views(gpus()[0]);
    const T4 to = views.scores_written(signs);
    const T0 seed = views.number(kSeed), offset = views.number(kOffset - 2);
    ASSERT_EQ(v2::debug_simulate_encoded_softmax(to, 0.3f, seed, offset, 2, nullptr), kSuccess);
    views.fetch();
    const uint64_t key = kSeed ^ (3 | static_cast<uint64_t>(3 * 0x9E3779B9u) << 32);
    ASSERT_EQ(key, rapt_philox_key(kSeed, kOffset));
    for (int64_t n = 0; n < signs.count(); ++n) {
      const auto j = static_cast<uint32_t>(n % kColumns), i = static_cast<uint32_t>(n / kColumns % kRows);
      const auto bits = rapt_philox(key, j / 4, i / 2, static_cast<uint32_t>(n / kColumns / kRows), 7);
      const bool keep = rapt_philox_field(bits, i, j) < rapt_keep_threshold(0.3f);
      ASSERT_EQ(signs.at(n), keep ? 0.5 : -0.5) << n;
    }
    EXPECT_TRUE(signs.gaps_untouched());
  }
}

// Attention itself uses the same seed and offset: it drops the elements that have a minus sign. V is the identity, so
// out is P.
TEST(Dropout, MaskOfAttention) {
  Inputs in = inputs_of("b2 hq2 hk2 sq20 sk16 d16 fp32 drop=0.5");
  in.v.fill([](int64_t i) { return i / 32 % 16 == i % 16; });
  in.dropout_offset = (uint64_t{1} << 40) + 1;
  const Results results = forward_through({}, gpus()[0], in, Layout::compact);
  Tensor signs(kFp32, {2, 2, 20, 16});
  Views views(gpus()[0]);
  const T4 to = views.scores_written(signs);
  ASSERT_EQ(v2::debug_simulate_encoded_softmax(to, 0.5f, views.number(in.dropout_seed), views.number(in.dropout_offset),
                                               0, nullptr),
            kSuccess);
  views.fetch();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t j = 0; j < 16; ++j)
          EXPECT_EQ(results.out.at({b, i, h, j}) != 0, signs.at({b, h, i, j}) > 0) << b << i << h << j;
}

// ROCm/aotriton's callers must zero a counter before each causal call, and capture only after that. One warm call is
// enough here.
TEST(Capture, AfterOneWarmCall) {
  using Stream = ihipStream_t*;
  const auto hip = [](const char* name) { return hip_function(name); };
  Stream stream = nullptr;
  void *graph = nullptr, *executable = nullptr;
  ASSERT_EQ(reinterpret_cast<int (*)(Stream*)>(hip("hipStreamCreate"))(&stream), 0);
  const Inputs in = inputs_of("b1 hq4 hk4 sq50 sk20 d64 bf16 causal");
  const Oracle oracle(in);
  Calling how;
  how.stream = stream;
  forward_through(how, gpus()[0], in, Layout::compact);

  Results results = make_results(in, Layout::compact, false);
  Tensor lse(kFp32, {4, 50});
  Views views(gpus()[0]);
  const rapt_device device = gpus()[0];
  v3::ForwardParams3 p = {};
  p.q = views.rows(in.q);
  p.k = views.rows(in.k);
  p.v = views.rows(in.v);
  p.out = views.rows_written(results.out);
  p.lse = views.matrix_written(lse);
  p.scale = 0.125f;
  p.causal = v3::kWindow;
  p.window_left = p.window_right = v3::kBottomRight;
  constexpr int kThreadLocal = 1;
  ASSERT_EQ(reinterpret_cast<int (*)(Stream, int)>(hip("hipStreamBeginCapture"))(stream, kThreadLocal), 0);
  EXPECT_EQ(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 3, stream, nullptr), kSuccess);
  ASSERT_EQ(reinterpret_cast<int (*)(Stream, void**)>(hip("hipStreamEndCapture"))(stream, &graph), 0);
  views.fetch();
  EXPECT_TRUE(std::isnan(results.out.at(0)));  // recorded, not run
  ASSERT_EQ(reinterpret_cast<int (*)(void**, void*, void*, char*, size_t)>(hip("hipGraphInstantiate"))(
                &executable, graph, nullptr, nullptr, 0),
            0);
  ASSERT_EQ(reinterpret_cast<int (*)(void*, Stream)>(hip("hipGraphLaunch"))(executable, stream), 0);
  rapt::check(rapt_device_synchronize(device));
  views.fetch();
  for (int64_t i = 0; i < lse.count(); ++i) {
    EXPECT_EQ(std::isinf(lse.at(i)), i % 50 < 30);
    results.lse.set(i, lse.at(i) == INFINITY ? -INFINITY : lse.at(i));
  }
  expect_rule(oracle, results, "replayed");
}

// PyTorch gives seed and offset in memory that it changes between replays, and reads back the numbers that were used.
TEST(Capture, ReplaysDrawNewMasks) {
  using Stream = ihipStream_t*;
  const auto hip = [](const char* name) { return hip_function(name); };
  const rapt_device device = gpus()[0];
  Stream stream = nullptr;
  void *graph = nullptr, *executable = nullptr;
  ASSERT_EQ(reinterpret_cast<int (*)(Stream*)>(hip("hipStreamCreate"))(&stream), 0);
  Inputs in = inputs_of("b2 hq2 hk2 sq20 sk16 d16 fp32 drop=0.5");
  in.v.fill([](int64_t i) { return i / 32 % 16 == i % 16; });
  Calling how;
  how.stream = stream;
  forward_through(how, device, in, Layout::compact);

  Results results = make_results(in, Layout::compact, false);
  Tensor used(rapt::kInt32, {4}), signs(kFp32, {2, 2, 20, 16});
  Views views(device);
  v3::ForwardParams3 p = {};
  p.q = views.rows(in.q);
  p.k = views.rows(in.k);
  p.v = views.rows(in.v);
  p.out = views.rows_written(results.out);
  p.scale = 0.25f;
  p.dropout = 0.5f;
  p.seed = views.number(1);
  p.offset1 = views.number(2);
  p.offset2 = (uint64_t{1} << 32) + 5;
  const rapt_tensor outputs = views.written(used);
  p.seed_output = T0(reinterpret_cast<intptr_t>(outputs.data), kUInt64);
  p.offset_output = T0(reinterpret_cast<intptr_t>(outputs.data) + 8, kUInt64);
  p.encoded_softmax = views.scores_written(signs);
  ASSERT_EQ(reinterpret_cast<int (*)(Stream, int)>(hip("hipStreamBeginCapture"))(stream, 1), 0);
  EXPECT_EQ(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 3, stream, nullptr), kSuccess);
  ASSERT_EQ(reinterpret_cast<int (*)(Stream, void**)>(hip("hipStreamEndCapture"))(stream, &graph), 0);
  ASSERT_EQ(reinterpret_cast<int (*)(void**, void*, void*, char*, size_t)>(hip("hipGraphInstantiate"))(
                &executable, graph, nullptr, nullptr, 0),
            0);
  for (const uint64_t seed : {uint64_t{77}, uint64_t{0x1234567890}}) {
    rapt::check(rapt_device_copy(device, p.seed.data_ptr(), rapt::kHost, &seed, sizeof seed));
    ASSERT_EQ(reinterpret_cast<int (*)(void*, Stream)>(hip("hipGraphLaunch"))(executable, stream), 0);
    rapt::check(rapt_device_synchronize(device));
    views.fetch();
    EXPECT_EQ(static_cast<uint32_t>(used.at(0)), static_cast<uint32_t>(seed));
    EXPECT_EQ(used.at(1), static_cast<double>(seed >> 32));
    EXPECT_EQ(used.at(2), 7);
    EXPECT_EQ(used.at(3), 1);
    const uint64_t key = rapt_philox_key(seed, (uint64_t{1} << 32) + 7);
    for (int64_t n = 0; n < signs.count(); ++n) {
      const auto j = static_cast<uint32_t>(n % 16), i = static_cast<uint32_t>(n / 16 % 20);
      const bool keep =
          rapt_philox_field(rapt_philox(key, j / 4, i / 2, static_cast<uint32_t>(n / 320), 7), i, j) < 32768;
      ASSERT_EQ(signs.at(n), keep ? 0.5 : -0.5) << n;
      ASSERT_EQ(results.out.at({n / 640, i, n / 320 % 2, j}) != 0, keep) << n;
    }
  }
}

}  // namespace

}  // namespace test
