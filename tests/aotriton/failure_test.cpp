// Calls that cannot be computed. PyTorch ignores their status, so their results are NaN and one line says why. Each
// test is a process, because only the first failure of a process is printed.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "client.hpp"

namespace test {

namespace {

using namespace aotriton;
namespace v2 = aotriton::v2::flash;
namespace v3 = aotriton::v3::flash;

template <class Body>
std::string printed_by(const Body& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

void expect_one_line(const std::string& text, std::initializer_list<const char*> says) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  for (const char* part : says) EXPECT_NE(text.find(part), std::string::npos) << text;
}

void expect_nan(const Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i) ASSERT_TRUE(std::isnan(t.at(i))) << i;
  EXPECT_TRUE(t.gaps_untouched());
}

// A call whose window Rapt does not have, into tensors that begin as 1.
struct Failing {
  Inputs in = make_inputs(Problem("b2 hq4 hk2 sq9 sk12 d24 bf16"));
  Results results = make_results(in, Layout::padded, true);
  Tensor lse{kFp32, {8, 9}};
  Views views{gpus()[0]};

  Failing() {
    for (Tensor* t : {&results.out, &results.dq, &results.dk, &results.dv, &lse}) t->fill([](int64_t) { return 1; });
  }
  template <class Params>
  void fill(Params& p) {
    p.q = views.rows(in.q);
    p.k = views.rows(in.k);
    p.v = views.rows(in.v);
    p.out = views.rows_written(results.out);
    p.lse = views.matrix_written(lse);
    p.scale = 1;
    p.causal = v3::kWindow;
    p.window_left = -7;
    p.window_right = v3::kTopLeft;
  }
  Error forward(int32_t version = 3) {
    v3::ForwardParams3 p = {};
    fill(p);
    const Error e = v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), version, nullptr, nullptr);
    rapt::check(rapt_device_synchronize(gpus()[0]));
    views.fetch();
    return e;
  }
};

TEST(Failure, ForwardIsNan) {
  Failing f;
  const std::string text = printed_by([&] {
    EXPECT_EQ(f.forward(), kInvalidValue);
    EXPECT_EQ(f.forward(), kInvalidValue);  // not printed again
  });
  expect_one_line(text, {"attn_fwd", "window_left is -7", "must be -1"});
  expect_nan(f.results.out);
  expect_nan(f.lse);
}

TEST(Failure, GradientsAreNan) {
  Failing f;
  v3::BackwardParams6 p = {};
  f.fill(p);
  p.dout = f.views.rows(f.in.dout);
  p.dq = f.views.rows_written(f.results.dq);
  p.dk = f.views.rows_written(f.results.dk);
  p.dv = f.views.rows_written(f.results.dv);
  const std::string text = printed_by([&] {
    EXPECT_EQ(v3::attn_bwd(reinterpret_cast<const v3::attn_bwd_params&>(p), 6, nullptr, nullptr), kInvalidValue);
  });
  rapt::check(rapt_device_synchronize(gpus()[0]));
  f.views.fetch();
  expect_one_line(text, {"attn_bwd", "window_left is -7"});
  for (const Tensor* t : {&f.results.dq, &f.results.dk, &f.results.dv}) expect_nan(*t);
  EXPECT_EQ(f.results.out.at(0), 1);  // an input here
}

// Rapt's own sentence about an argument.
TEST(Failure, NamesTheArgument) {
  Failing f;
  f.in.k = Tensor(kBf16, {2, 12, 3, 24});  // 3 heads do not divide 4
  const std::string text = printed_by([&] {
    v3::ForwardParams3 p = {};
    f.fill(p);
    p.causal = v3::kNotCausal;
    EXPECT_NE(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 3, nullptr, nullptr), kSuccess);
  });
  expect_one_line(text, {"q has 4 heads, must be a multiple of k's 3"});
}

// Calls for which AOTriton would silently read or write beyond a tensor, or misread an argument.
TEST(Failure, RefusesTheCall) {
  Failing f;
  Tensor encoded(kFp16, {2, 4, 9, 12});
  const T4 signs = f.views.scores_written(encoded);
  const T0 number = f.views.number(1);
  const T1 lengths = f.views.lengths(Tensor(rapt::kInt32, {3}));
  using Params = v3::ForwardParams3;
  const auto pack = [&](Params& p, v3::Varlen varlen) {
    p.varlen = varlen;
    p.cu_seqlens_q = p.cu_seqlens_k = lengths;
    p.max_seqlen_q = 9;
    p.max_seqlen_k = 12;
  };
  const auto signs_of = [&](T4::Numbers sizes, aotriton::DType dtype) {
    return T4(reinterpret_cast<intptr_t>(signs.data_ptr()), sizes, signs.strides(), dtype);
  };
  const std::pair<const char*, std::function<void(Params&)>> changes[] = {
      {"dropout", [&](Params& p) { p.dropout = NAN; }},
      {"negative dropout", [&](Params& p) { p.dropout = -0.5f; }},
      {"seed", [&](Params& p) { p.seed = {}; }},
      {"causal_type", [&](Params& p) { p.causal = v3::Causal{1}; }},
      {"heads of the encoded softmax", [&](Params& p) { p.encoded_softmax = signs_of({2, 2, 9, 12}, kFloat16); }},
      {"type of the encoded softmax", [&](Params& p) { p.encoded_softmax = signs_of(signs.sizes(), kInt8); }},
      {"lse", [&](Params& p) { p.lse = T2(reinterpret_cast<intptr_t>(p.lse.data_ptr()), {7, 9}, {9, 1}, kFloat32); }},
      {"batch of packed sequences", [&](Params& p) { pack(p, v3::kCompact); }},
      {"varlen_type", [&](Params& p) { pack(p, v3::Varlen{9}); }},
      {"starts of strided sequences", [&](Params& p) { pack(p, v3::kStrided); }},
      {"batch of padded sequences",
       [&](Params& p) {
         pack(p, v3::kPadded);
         p.cu_seqlens_q = p.cu_seqlens_k =
             T1(reinterpret_cast<intptr_t>(lengths.data_ptr()), {2}, {1}, aotriton::kInt32);
       }},
      {"type of padded sequences' lengths",
       [&](Params& p) {
         pack(p, v3::kPadded);
         p.cu_seqlens_k = T1(reinterpret_cast<intptr_t>(lengths.data_ptr()), {3}, {1}, kInt64);
       }},
  };
  for (const auto& [what, change] : changes) {
    f.results.out.fill([](int64_t) { return 1; });
    Params p = {};
    f.fill(p);
    p.causal = v3::kNotCausal;
    p.dropout = 0.5f;
    p.seed = p.offset1 = number;
    p.encoded_softmax = signs;
    change(p);
    printed_by([&] {
      EXPECT_NE(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 3, nullptr, nullptr), kSuccess) << what;
    });
    rapt::check(rapt_device_synchronize(gpus()[0]));
    f.views.fetch();
    expect_nan(f.results.out);
  }
}

// If lse is converted, Rapt does not see the caller's lse.
TEST(Failure, BackwardWithoutLse) {
  Failing f;
  v3::BackwardParams1 p = {};
  f.fill(p);
  p.causal = v3::kNotCausal;
  p.dout = f.views.rows(f.in.dout);
  p.dq = f.views.rows_written(f.results.dq);
  p.dk = f.views.rows_written(f.results.dk);
  p.dv = f.views.rows_written(f.results.dv);
  p.lse = T2::get_null_tensor(kFloat32);
  const std::string text = printed_by([&] {
    EXPECT_EQ(v3::attn_bwd(reinterpret_cast<const v3::attn_bwd_params&>(p), 1, nullptr, nullptr), kInvalidValue);
  });
  rapt::check(rapt_device_synchronize(gpus()[0]));
  f.views.fetch();
  expect_one_line(text, {"attn_bwd", "lse is null"});
  expect_nan(f.results.dq);
}

// Rows from the last to the first.
TEST(Failure, NanInReverse) {
  Failing f;
  v3::ForwardParams3 p = {};
  f.fill(p);
  constexpr uint64_t kBack = uint64_t{0} - 9;
  p.lse = T2(reinterpret_cast<intptr_t>(p.lse.data_ptr()) + 7 * 9 * 4, {8, 9}, {kBack, 1}, kFloat32);
  printed_by(
      [&] { EXPECT_NE(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 3, nullptr, nullptr), kSuccess); });
  rapt::check(rapt_device_synchronize(gpus()[0]));
  f.views.fetch();
  expect_nan(f.lse);
}

TEST(Failure, UnknownVersion) {
  Failing f;
  const std::string text = printed_by([&] { EXPECT_EQ(f.forward(7), kInvalidSymbol); });
  expect_one_line(text, {"params_version is 7", "must be 1, 3 or 4", "rapt install-aotriton --undo"});
  EXPECT_EQ(f.results.out.at(0), 1);  // a struct of unknown layout: nothing can be written
}

// Two of 0.14's layouts that Rapt has not: lse of [total, heads], and dense keys for packed queries.
TEST(Failure, UnknownLayout) {
  for (const uint32_t bits : {0x10b0bu, 0x000bu}) {
    Failing f;
    v3::ForwardParams4 p = {};
    f.fill(p);
    p.window_left = v3::kTopLeft;
    p.lengths_q = p.lengths_k = f.views.lengths(Tensor(rapt::kInt32, {3}));
    p.varlen_bits = bits;
    const std::string text = printed_by([&] {
      EXPECT_EQ(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 4, nullptr, nullptr), kNotSupported);
    });
    if (bits == 0x10b0bu) expect_one_line(text, {"varlen_bits is 0x10b0b", "0xb0b (packed)"});
    rapt::check(rapt_device_synchronize(gpus()[0]));
    f.views.fetch();
    expect_nan(f.results.out);
  }
}

// NaN is written in the order of the stream, also while it is captured.
TEST(Failure, NanInACapturedStream) {
  using Stream = ihipStream_t*;
  const auto hip = [](const char* name) { return hip_function(name); };
  Failing f;
  Stream stream = nullptr;
  void *graph = nullptr, *executable = nullptr;
  v3::ForwardParams3 p = {};
  f.fill(p);
  ASSERT_EQ(reinterpret_cast<int (*)(Stream*)>(hip("hipStreamCreate"))(&stream), 0);
  ASSERT_EQ(reinterpret_cast<int (*)(Stream, int)>(hip("hipStreamBeginCapture"))(stream, 1), 0);
  printed_by(
      [&] { EXPECT_NE(v3::attn_fwd(reinterpret_cast<const v3::attn_fwd_params&>(p), 3, stream, nullptr), kSuccess); });
  ASSERT_EQ(reinterpret_cast<int (*)(Stream, void**)>(hip("hipStreamEndCapture"))(stream, &graph), 0);
  f.views.fetch();
  EXPECT_EQ(f.results.out.at(0), 1);
  ASSERT_EQ(reinterpret_cast<int (*)(void**, void*, void*, char*, size_t)>(hip("hipGraphInstantiate"))(
                &executable, graph, nullptr, nullptr, 0),
            0);
  ASSERT_EQ(reinterpret_cast<int (*)(void*, Stream)>(hip("hipGraphLaunch"))(executable, stream), 0);
  rapt::check(rapt_device_synchronize(gpus()[0]));
  f.views.fetch();
  expect_nan(f.results.out);
}

TEST(FailureDeathTest, StrictAborts) {
  setenv("RAPT_STRICT", "1", 1);
  Failing f;
  EXPECT_DEATH(f.forward(), "window_left is -7");
}

}  // namespace

}  // namespace test
