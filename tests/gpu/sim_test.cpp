// The hip backend on the simulator, with kernels as simple as the formulas (kernels/forward.hip). Tests of devices,
// streams, capture, tensors in the wrong memory, lengths in either memory. hip:0 is a gfx942, hip:1 a gfx1151, and for
// hip:2, a gfx1100, there is no archive.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "rapt/rapt.hpp"

namespace {

constexpr rapt_device kGpu = {RAPT_ROCM, 0}, kOther = {RAPT_ROCM, 1}, kNoArchive = {RAPT_ROCM, 2};

// HIP as a user's program has it, for streams and graphs, from the library that the driver opens too.
template <class Function>
Function* hip(const char* name) {
  static void* const library = dlopen(std::getenv("RAPT_HIP_LIBRARY"), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::vector<float> normal(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float& x : values) x = distribution(random);
  return values;
}

// q, k, v, out and lse of one fp32 problem, on the host and on a device.
struct Tensors {
  rapt::Dims shape_q, shape_k, shape_lse;
  std::vector<float> q, k, v, out, lse;
  rapt_device device;
  rapt::DeviceMemory dq, dk, dv, dout, dlse;

  Tensors(int64_t batch, int64_t seqlen_q, int64_t seqlen_k, int64_t heads, int64_t head_dim, rapt_device on = kGpu,
          bool packed = false)
      : shape_q(packed ? rapt::Dims{seqlen_q, heads, head_dim} : rapt::Dims{batch, seqlen_q, heads, head_dim}),
        shape_k(packed ? rapt::Dims{seqlen_k, heads, head_dim} : rapt::Dims{batch, seqlen_k, heads, head_dim}),
        shape_lse(packed ? rapt::Dims{heads, seqlen_q} : rapt::Dims{batch, heads, seqlen_q}),
        q(normal(static_cast<size_t>((packed ? 1 : batch) * seqlen_q * heads * head_dim), 1)),
        k(normal(static_cast<size_t>((packed ? 1 : batch) * seqlen_k * heads * head_dim), 2)),
        v(normal(k.size(), 3)),
        out(q.size(), NAN),
        lse(q.size() / static_cast<size_t>(head_dim), NAN),
        device(on),
        dq(copy(q)),
        dk(copy(k)),
        dv(copy(v)),
        dout(copy(out)),
        dlse(copy(lse)) {}

  rapt::DeviceMemory copy(const std::vector<float>& from) const {
    rapt::DeviceMemory memory(device, from.size() * 4);
    memory.copy_from_host(from.data());
    return memory;
  }
  rapt::Tensor gpu(const rapt::DeviceMemory& memory, const rapt::Dims& shape) const {
    return {memory.data(), rapt::kFp32, shape, {}, device};
  }
  rapt::Attention attention() const { return {.q = gpu(dq, shape_q), .k = gpu(dk, shape_k), .v = gpu(dv, shape_k)}; }
  rapt::Tensor out_gpu() const { return gpu(dout, shape_q); }
  rapt::Tensor lse_gpu() const { return gpu(dlse, shape_lse); }
  void run(const rapt::Attention& a, const rapt::Execution& how = {}) { rapt::forward(a, out_gpu(), lse_gpu(), how); }
  void fetch() {
    rapt::synchronize(device);
    dout.copy_to_host(out.data());
    dlse.copy_to_host(lse.data());
  }
  // Expects the CPU's results, for the options in `a`.
  void expect_right(rapt::Attention a = {}) {
    fetch();
    a.q = {q.data(), rapt::kFp32, shape_q};
    a.k = {k.data(), rapt::kFp32, shape_k};
    a.v = {v.data(), rapt::kFp32, shape_k};
    std::vector<float> right(out.size()), right_lse(lse.size());
    rapt::forward(a, {right.data(), rapt::kFp32, shape_q}, rapt::Tensor(right_lse.data(), rapt::kFp32, shape_lse));
    for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], right[i], 2e-5) << i;
    for (size_t i = 0; i < lse.size(); ++i) ASSERT_NEAR(lse[i], right_lse[i], 2e-5) << i;
  }
  void expect_untouched() {
    fetch();
    for (const float x : out) ASSERT_TRUE(std::isnan(x));
    for (const float x : lse) ASSERT_TRUE(std::isnan(x));
  }
};

template <class Body>
void refused(rapt_status status, const Body& body, std::initializer_list<const char*> says) {
  try {
    body();
    ADD_FAILURE() << "was not refused";
  } catch (const rapt::Error& e) {
    EXPECT_EQ(e.status(), status) << e.what();
    for (const char* part : says) EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(AlreadyLoaded, IsTheOneUsed) {  // alone in its process, with ROCm 7's on the library path
  ASSERT_NE(dlopen(std::getenv("RAPT_TEST_LOADED"), RTLD_NOW | RTLD_LOCAL), nullptr);
  EXPECT_NE(std::string(rapt::describe(kGpu).runtime).find("HIP 5."), std::string::npos)
      << rapt::describe(kGpu).runtime;
}

TEST(Gpu, Devices) {
  ASSERT_EQ(rapt::device_count(RAPT_ROCM), 3);
  const rapt_device_info first = rapt::describe(kGpu), second = rapt::describe(kOther);
  EXPECT_STREQ(first.arch, "gfx942");
  EXPECT_STREQ(first.target, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(first.compute_units, 304);
  EXPECT_EQ(first.simulator, 1);
  EXPECT_NE(std::string(first.runtime).find("simulator"), std::string::npos);
  EXPECT_STREQ(second.arch, "gfx1151");
  EXPECT_EQ(second.compute_units, 40);  // HIP counts pairs
}

TEST(Gpu, Plain) {
  for (const rapt_device device : {kGpu, kOther}) {
    Tensors t(2, 70, 90, 3, 40, device);
    t.run(t.attention());
    t.expect_right();
    rapt::Attention a = t.attention();
    a.causal = RAPT_CAUSAL;
    a.window = rapt::Window{17, 3};
    t.run(a);
    t.expect_right({.causal = RAPT_CAUSAL, .window = rapt::Window{17, 3}});
    a.causal = RAPT_CAUSAL_TOP_LEFT;
    a.window = rapt::Window{int64_t{1} << 40, -1};
    t.run(a);
    t.expect_right({.causal = RAPT_CAUSAL_TOP_LEFT});
  }
}

TEST(Gpu, EveryOptionOfAGeneralKernel) {
  Tensors t(2, 30, 37, 2, 100);
  const std::vector<float> bias = normal(2 * 30 * 37, 4), slopes = {0.1f, 0.3f}, sink = {0.5f, -1};
  std::vector<uint8_t> mask(2 * 37);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 5 != 0;
  const rapt::DeviceMemory dbias = t.copy(bias), dslopes = t.copy(slopes), dsink = t.copy(sink);
  rapt::DeviceMemory dmask(kGpu, mask.size());
  dmask.copy_from_host(mask.data());
  const auto with = [&](rapt::Attention a, rapt_device device, const void* b, const void* m, const void* s,
                        const void* k) {
    a.bias = rapt::Tensor(b, rapt::kFp32, {1, 2, 30, 37}, {}, device);
    a.mask = rapt::Tensor(m, rapt::kBool, {2, 1, 1, 37}, {}, device);
    a.alibi_slopes = rapt::Tensor(s, rapt::kFp32, {2}, {}, device);
    a.sink = rapt::Tensor(k, rapt::kFp32, {2}, {}, device);
    a.softcap = 7;
    a.softmax_scale = -0.2;
    a.dropout = rapt::Dropout{0.3, 12345678901234567u, 77};
    return a;
  };
  t.run(with(t.attention(), kGpu, dbias.data(), dmask.data(), dslopes.data(), dsink.data()));
  t.expect_right(with({}, rapt::kHost, bias.data(), mask.data(), slopes.data(), sink.data()));
}

TEST(Gpu, NothingToCompute) {
  Tensors none(2, 0, 5, 1, 16), empty(0, 5, 5, 1, 16), keyless(1, 5, 0, 1, 16);
  none.run(none.attention());
  empty.run(empty.attention());
  keyless.run(keyless.attention());
  keyless.fetch();
  for (const float x : keyless.out) EXPECT_EQ(x, 0);
  for (const float x : keyless.lse) EXPECT_EQ(x, -INFINITY);
}

struct Packed {
  std::vector<int32_t> cu_q = {0, 5, 5, 40}, cu_k = {0, 9, 20, 57};
  Tensors t{3, 40, 57, 2, 24, kGpu, true};
  rapt::DeviceMemory dcu_q{kGpu, 16}, dcu_k{kGpu, 16};

  rapt::Attention attention(bool lengths_on_device) {
    dcu_q.copy_from_host(cu_q.data());
    dcu_k.copy_from_host(cu_k.data());
    rapt::Attention a = t.attention();
    const rapt_device where = lengths_on_device ? kGpu : rapt::kHost;
    a.varlen = {
        .cu_seqlens_q = rapt::Tensor(lengths_on_device ? dcu_q.data() : cu_q.data(), rapt::kInt32, {4}, {}, where),
        .cu_seqlens_k = rapt::Tensor(lengths_on_device ? dcu_k.data() : cu_k.data(), rapt::kInt32, {4}, {}, where),
        .max_seqlen_q = lengths_on_device ? 35 : 0,
        .max_seqlen_k = lengths_on_device ? 37 : 0};
    a.causal = RAPT_CAUSAL;
    return a;
  }
  void expect_right() {
    rapt::Attention a{.causal = RAPT_CAUSAL};
    a.varlen = {.cu_seqlens_q = rapt::Tensor(cu_q.data(), rapt::kInt32, {4}),
                .cu_seqlens_k = rapt::Tensor(cu_k.data(), rapt::kInt32, {4})};
    t.expect_right(a);
  }
};

TEST(Gpu, LengthsOnTheDevice) {
  Packed p;
  p.t.run(p.attention(true));
  p.expect_right();
  Packed checked;
  rapt::Attention a = checked.attention(true);
  a.varlen->check_device_seqlens = true;
  checked.t.run(a);
  checked.expect_right();
}

// A bias has the promised size, wherever the lengths are.
TEST(Gpu, ThePromisedLengthMayBeMoreThanAllRows) {
  Packed p;
  std::vector<float> bias(size_t{50} * 60);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 7) / 4;
  const rapt::DeviceMemory on_device = p.t.copy(bias);
  rapt::Attention a = p.attention(true);
  a.varlen->max_seqlen_q = 50;
  a.varlen->max_seqlen_k = 60;
  a.bias = rapt::Tensor(on_device.data(), rapt::kFp32, {1, 1, 50, 60}, {}, kGpu);
  p.t.run(a);
  rapt::Attention expected{.causal = RAPT_CAUSAL};
  expected.varlen = {.cu_seqlens_q = rapt::Tensor(p.cu_q.data(), rapt::kInt32, {4}),
                     .cu_seqlens_k = rapt::Tensor(p.cu_k.data(), rapt::kInt32, {4}),
                     .max_seqlen_q = 50,
                     .max_seqlen_k = 60};
  expected.bias = rapt::Tensor(bias.data(), rapt::kFp32, {1, 1, 50, 60});
  p.t.expect_right(expected);
}

TEST(Gpu, LengthsOnTheDeviceAreCheckedWhereAsked) {
  Packed p;
  p.cu_k = {0, 9, 8, 57};
  rapt::Attention a = p.attention(true);
  a.varlen->check_device_seqlens = true;
  refused(RAPT_INVALID_ARGUMENT, [&] { p.t.run(a); }, {"cu_seqlens_k[2] is 8"});
  p.cu_k = {0, 9, 20, 57};
  a = p.attention(true);
  a.varlen->check_device_seqlens = true;
  a.varlen->max_seqlen_q = 34;
  refused(RAPT_INVALID_ARGUMENT, [&] { p.t.run(a); }, {"max_seqlen_q is 34", "35"});
  a.varlen->max_seqlen_q = 0;
  refused(RAPT_INVALID_ARGUMENT, [&] { p.t.run(a); }, {"max_seqlen_q is 0", "device memory"});
  p.t.expect_untouched();
}

TEST(Gpu, LengthsOnTheHost) {
  Packed p;
  const rapt::Attention a = p.attention(false);
  p.t.run(a);
  p.expect_right();
  Packed own;
  const size_t bytes = rapt::forward_workspace_size(a, p.t.out_gpu());
  ASSERT_GE(bytes, 32u);
  const rapt::DeviceMemory workspace(kGpu, bytes);
  own.t.run(own.attention(false), {.workspace = workspace.data(), .workspace_size = bytes});
  own.expect_right();
  refused(RAPT_INVALID_ARGUMENT, [&] { p.t.run(a, {.workspace = workspace.data(), .workspace_size = bytes - 1}); },
          {"workspace_size"});
}

TEST(Gpu, TensorsElsewhere) {
  Tensors t(1, 8, 8, 1, 16), other(1, 8, 8, 1, 16, kOther);
  rapt::Attention a = t.attention();
  a.k = rapt::Tensor(t.k.data(), rapt::kFp32, t.shape_k, {}, kGpu);  // claims the GPU, is on the host
  refused(RAPT_INVALID_ARGUMENT, [&] { t.run(a); }, {"k is at 0x", "host memory", "hip:0"});
  a.k = rapt::Tensor(other.dk.data(), rapt::kFp32, t.shape_k, {}, kGpu);
  refused(RAPT_INVALID_ARGUMENT, [&] { t.run(a); }, {"k is at 0x", "memory of hip:1", "hip:0"});
  a.k = rapt::Tensor(other.dk.data(), rapt::kFp32, t.shape_k, {}, kOther);
  refused(RAPT_INVALID_ARGUMENT, [&] { t.run(a); }, {"k is on", "like q"});
  t.expect_untouched();
}

TEST(Gpu, WhatNoVariantTakes) {
  Tensors t(1, 8, 8, 1, 300);
  refused(RAPT_UNSUPPORTED, [&] { t.run(t.attention()); }, {"d300 fp32", "hip:0 (gfx942)", "head dims up to 256"});
  Tensors small(1, 8, 8, 1, 16);
  rapt::Attention paged = small.attention();
  const int32_t table[1] = {0};
  paged.kv_cache = {.block_table = rapt::Tensor(table, rapt::kInt32, {1, 1})};
  refused(RAPT_UNSUPPORTED, [&] { small.run(paged); }, {"page is 8, GPU kernels take multiples of 16"});
  const rapt::Tensor out = small.out_gpu();
  const rapt::DeviceMemory gradient = small.copy(small.q);
  refused(
      RAPT_UNSUPPORTED,
      [&] { rapt::backward(small.attention(), out, small.lse_gpu(), out, {.dq = small.gpu(gradient, small.shape_q)}); },
      {"grads=dq on hip:0", "8: it computes forward, which the problem does not need"});
  refused(RAPT_UNSUPPORTED, [&] { small.run(small.attention(), {.backend = "cpu"}); }, {"host memory"});
  refused(RAPT_INVALID_ARGUMENT, [&] { small.run(small.attention(), {.backend = "hip.nonsense"}); },
          {"hip.nonsense", "no such variant", "forward.d64.fp32.plain"});
  refused(RAPT_UNSUPPORTED, [&] { small.run(small.attention(), {.backend = "hip.forward.d64.bf16.plain.k32w2"}); },
          {"it is for bf16"});
  small.expect_untouched();
}

TEST(Gpu, NoArchive) {
  Tensors t(1, 8, 8, 1, 16, kNoArchive);
  refused(RAPT_UNSUPPORTED, [&] { t.run(t.attention()); }, {"gfx1100", "gfx942", "gfx1151"});
  t.expect_untouched();
}

TEST(Gpu, Explains) {
  const auto problem = [](const char* text) { return rapt::Problem::parse(text); };
  const rapt::Explanation large = rapt::explain(problem("b8 hq64 hk64 sq512 sk512 d128 bf16"), RAPT_FORWARD, {}, kGpu);
  ASSERT_TRUE(large.chosen());
  EXPECT_EQ(large.chosen()->backend, "hip");
  EXPECT_EQ(large.chosen()->kernel, "forward.d128.bf16.plain.k64w2");
  for (const char* part : {"tuning/gfx942 line 2 fired", "tile 64 queries x 64 keys", "VGPRs", "LDS", "waves per SIMD"})
    EXPECT_NE(large.chosen()->reason.find(part), std::string::npos) << large.chosen()->reason;
  const rapt::Explanation little = rapt::explain(problem("b1 hq1 hk1 sq64 sk64 d128 bf16"), RAPT_FORWARD, {}, kGpu);
  ASSERT_TRUE(little.chosen());
  EXPECT_EQ(little.chosen()->kernel, "forward.d128.bf16.plain.k32w1");
  for (const rapt::Candidate& c : little.candidates) EXPECT_FALSE(c.reason.empty()) << c.backend;
  const rapt::Explanation paged =
      rapt::explain(problem("b1 hq1 hk1 sq1 sk64 d128 bf16 paged=16"), RAPT_FORWARD, {}, kGpu);
  EXPECT_EQ(paged.chosen(), nullptr);
  EXPECT_TRUE(std::ranges::any_of(paged.candidates, [](const rapt::Candidate& c) {
    return c.backend == "hip" && c.reason.find("it takes no KV cache") != std::string::npos;
  }));
}

TEST(Gpu, Events) {
  Tensors t(1, 70, 90, 3, 40);
  rapt::Event before(kGpu), after(kGpu);
  before.record();
  t.run(t.attention());
  after.record();
  EXPECT_GT(after.since(before), 0);
  EXPECT_STREQ(rapt::describe(kGpu).time_model, "");  // RAPT_SIM_TIME is not set
  const rapt::Event never(kGpu);
  refused(RAPT_DEVICE_ERROR, [&] { after.since(never); }, {"time between two events of hip:0"});
  rapt::Event other(kOther);
  other.record();
  refused(RAPT_INVALID_ARGUMENT, [&] { after.since(other); }, {"hip:1", "hip:0", "must be the same"});
  refused(RAPT_UNSUPPORTED, [] { const rapt::Event host(rapt::kHost); }, {"device is cpu", "must be hip"});
  refused(RAPT_INVALID_ARGUMENT, [] { const rapt::Event none({RAPT_ROCM, 9}); }, {"hip:9 does not exist"});
}

TEST(Gpu, StreamsAndCapture) {
  using Stream = void*;
  using Graph = void*;
  auto* const create = hip<int(Stream*)>("hipStreamCreate");
  auto* const begin = hip<int(Stream, int)>("hipStreamBeginCapture");
  auto* const end = hip<int(Stream, Graph*)>("hipStreamEndCapture");
  auto* const set_device = hip<int(int)>("hipSetDevice");
  constexpr int kThreadLocal = 1;
  Stream stream = nullptr, other_stream = nullptr;
  Graph graph = nullptr;

  Tensors other(1, 20, 20, 1, 200, kOther);  // no other test loads its kernel there
  ASSERT_EQ(set_device(1), 0);
  ASSERT_EQ(create(&other_stream), 0);
  ASSERT_EQ(begin(other_stream, kThreadLocal), 0);
  refused(RAPT_INVALID_ARGUMENT, [&] { other.run(other.attention(), {.stream = other_stream}); },
          {"d256.fp32.general", "captured", "rapt_preload"});
  ASSERT_EQ(end(other_stream, &graph), 0);
  ASSERT_EQ(set_device(0), 0);

  Tensors t(1, 20, 20, 1, 30);
  ASSERT_EQ(create(&stream), 0);
  rapt::preload(kGpu, rapt::Problem::parse("b1 hq1 hk1 sq20 sk20 d30 fp32"));
  ASSERT_EQ(begin(stream, kThreadLocal), 0);
  t.run(t.attention(), {.stream = stream});
  ASSERT_EQ(end(stream, &graph), 0);
  t.expect_untouched();  // recorded, not run
  void* executable = nullptr;
  ASSERT_EQ(
      hip<int(void**, Graph, void*, char*, size_t)>("hipGraphInstantiate")(&executable, graph, nullptr, nullptr, 0), 0);
  ASSERT_EQ(hip<int(void*, Stream)>("hipGraphLaunch")(executable, stream), 0);
  ASSERT_EQ(hip<int(Stream)>("hipStreamSynchronize")(stream), 0);
  t.expect_right();
}

TEST(Gpu, TheCallersDeviceStaysCurrent) {
  ASSERT_EQ(hip<int(int)>("hipSetDevice")(1), 0);
  Tensors t(1, 20, 20, 1, 30);
  t.run(t.attention());
  t.expect_right();
  int device = -1;
  ASSERT_EQ(hip<int(int*)>("hipGetDevice")(&device), 0);
  EXPECT_EQ(device, 1);
  ASSERT_EQ(hip<int(int)>("hipSetDevice")(0), 0);
}

TEST(Gpu, ManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      Tensors t(1, 20 + i, 33, 2, 48, i % 2 ? kGpu : kOther);
      t.run(t.attention());
      t.expect_right();
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Gpu, PreloadsEverything) {
  rapt::preload(kOther);
  rapt::preload(rapt::kHost);
  refused(RAPT_UNSUPPORTED, [] { rapt::preload(kNoArchive); }, {"gfx1100"});
}

}  // namespace
