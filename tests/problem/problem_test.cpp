// Problem texts: printing a parsed text gives it back, and an error shows the column and every violation.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "support/cases.hpp"

namespace test {

namespace {

std::string print(const rapt_problem& problem) {
  size_t length = 0;
  EXPECT_EQ(rapt_problem_print(&problem, nullptr, 0, &length), RAPT_OK) << rapt_last_error();
  std::string text(length + 1, '#');
  EXPECT_EQ(rapt_problem_print(&problem, text.data(), text.size(), &length), RAPT_OK) << rapt_last_error();
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

std::string refusal(const std::string& text) {
  auto problem = init<rapt_problem>();
  int64_t varlen[16];
  EXPECT_EQ(rapt_problem_parse(text.c_str(), &problem, varlen, 8), RAPT_INVALID_ARGUMENT) << text;
  return rapt_last_error();
}

TEST(ProblemText, EveryCaseRoundTrips) {
  std::vector<Case> all = cases();
  for (const Case& c : nightly_cases()) all.push_back(c);
  for (const Case& c : option_cases("fp64")) all.push_back(c);
  for (const Case& c : all) EXPECT_EQ(print(Problem(c.problem).c), c.problem);
}

TEST(ProblemText, EveryOptionRoundTrips) {
  for (const char* text : {
           "b2 hq8 hk2 sq1000 sk1000 d128 bf16 causal window=127,0",
           "b0 hq1 hk1 sq0 sk0 d1 fp16",
           "b1 hq1 hk1 sq1 sk1 d1 fp64 causal-tl window=-1,-1",
           "b1 hq1 hk1 sq1 sk1 d1 fp64 window-tl=0,3",
           "b2 hq4 hk1 sq5 sk9 d64 dv32 fp32 causal window=3,0 bias=b1hNq1 mask=bNh1 alibi softcap=1e-05 sink drop=0.1 "
           "scale=-0.25 varlen=5:9,2:3 paged=16 det",
           "b2 hq4 hk1 sq5 sk9 d64 fp16 cache whole-cache append=3 rotary=32 rotary-interleaved leftpad batch-idx lse "
           "align=4 stride=4096",
           "b2 hq4 hk1 sq5 sk9 d64 fp16 bias=b1h1 sink device-lengths=7:12 grads=dq,dbias,dsink",
       })
    EXPECT_EQ(print(Problem(text).c), text);
}

TEST(ProblemText, OptionsComeInAnyOrder) {
  const std::string sizes = "b2 hq4 hk1 sq5 sk9 d64 fp16 ";
  for (const char* text : {"alibi softcap=20 det causal", "softcap=20 causal det alibi", "det alibi causal softcap=20"})
    EXPECT_EQ(print(Problem(sizes + text).c), sizes + "causal alibi softcap=20 det");
}

TEST(ProblemText, WhatNeedsACacheOrATensorSaysSo) {
  const std::string sizes = "b1 hq1 hk1 sq4 sk4 d8 fp32 ";
  EXPECT_NE(refusal(sizes + "leftpad").find("leftpad needs a KV cache"), std::string::npos) << rapt_last_error();
  EXPECT_NE(refusal(sizes + "append=2").find("append=<rows> needs a KV cache"), std::string::npos);
  EXPECT_NE(refusal(sizes + "grads=dbias").find("there is no bias"), std::string::npos) << rapt_last_error();
  EXPECT_NE(refusal(sizes + "cache rotary=7").find("rotary_dim is 7"), std::string::npos) << rapt_last_error();
  EXPECT_NE(refusal(sizes + "align=3").find("alignment is 3"), std::string::npos) << rapt_last_error();
}

// rapt_problem_parse of 0.1 did not read struct_size: whatever it is, no byte behind the struct of 0.1 is written.
TEST(ProblemText, OlderStructsAreFilledToTheirEnd) {
  struct {
    rapt_problem problem;
    char behind[sizeof(rapt_problem)];
  } older = {};
  constexpr size_t kOlder = offsetof(rapt_problem, total_q);
  int64_t varlen[4] = {};
  for (const size_t size : {size_t{0}, size_t{8}, kOlder, sizeof(rapt_problem) + 8, ~size_t{0}}) {
    SCOPED_TRACE(size);
    std::memset(&older, 0x5a, sizeof older);
    older.problem.struct_size = size;
    ASSERT_EQ(rapt_problem_parse("b2 hq2 hk1 sq4 sk5 d8 bf16 causal varlen=4:5,3:2", &older.problem, varlen, 2),
              RAPT_OK)
        << rapt_last_error();
    EXPECT_EQ(older.problem.struct_size, kOlder);
    EXPECT_EQ(older.problem.seqlen_k, 5);
    EXPECT_EQ(older.problem.varlen, varlen);
    for (size_t i = kOlder; i < sizeof older; ++i) ASSERT_EQ(reinterpret_cast<const char*>(&older)[i], 0x5a) << i;
    EXPECT_EQ(print(older.problem), "b2 hq2 hk1 sq4 sk5 d8 bf16 causal varlen=4:5,3:2");
    const rapt_problem before = older.problem;
    EXPECT_EQ(rapt_problem_parse("b1 hq2 hk1 sq4 sk5 d8 bf16 lse", &older.problem, nullptr, 0), RAPT_UNSUPPORTED);
    EXPECT_NE(std::string(rapt_last_error()).find("problem.struct_size is"), std::string::npos) << rapt_last_error();
    EXPECT_EQ(std::memcmp(&before, &older.problem, kOlder), 0);
  }
}

TEST(ProblemOptions, AreListed) {
  ASSERT_GT(rapt_option_count(), 20u);
  auto option = init<rapt_option>();
  bool softcap = false;
  for (size_t i = 0; i < rapt_option_count(); ++i) {
    ASSERT_EQ(rapt_option_at(i, &option), RAPT_OK);
    EXPECT_STRNE(option.name, "");
    EXPECT_STRNE(option.help, "");
    if (std::string(option.form) == "softcap=<x>") softcap = option.is_number != 0;
  }
  EXPECT_TRUE(softcap);
  EXPECT_EQ(rapt_option_at(rapt_option_count(), &option), RAPT_INVALID_ARGUMENT);
}

// Compared with a count pair by pair.
TEST(ProblemFlops, AreExact) {
  for (const char* mask : {"", "causal", "causal-tl", "window=2,3", "window=0,0", "causal window=4,0", "window=-1,1",
                           "causal-tl window=3,9", "window=100,-1", "window-tl=2,3"})
    for (const auto& [sq, sk] : {std::pair{7, 7}, {3, 11}, {11, 3}, {1, 9}, {9, 1}, {0, 4}, {4, 0}}) {
      const Problem p("b3 hq2 hk1 sq" + std::to_string(sq) + " sk" + std::to_string(sk) + " d5 dv7 fp32" +
                      (*mask ? " " : "") + mask);
      const bool top_left = p.c.causal == RAPT_CAUSAL_TOP_LEFT || p.c.window_top_left;
      const int64_t off = top_left ? 0 : sk - sq;
      const int64_t left = p.c.has_window ? p.c.window_left : -1;
      const int64_t right = p.c.causal != RAPT_NOT_CAUSAL ? 0 : p.c.has_window ? p.c.window_right : -1;
      int pairs = 0;
      for (int64_t i = 0; i < sq; ++i)
        for (int64_t j = 0; j < sk; ++j)
          pairs += (left < 0 || j >= i + off - left) && (right < 0 || j <= i + off + right);
      double forward = 0, backward = 0;
      ASSERT_EQ(rapt_problem_flops(&p.c, RAPT_FORWARD, &forward), RAPT_OK);
      ASSERT_EQ(rapt_problem_flops(&p.c, RAPT_BACKWARD, &backward), RAPT_OK);
      EXPECT_EQ(forward, 2.0 * 3 * 2 * 12 * pairs) << mask << " " << sq << " " << sk;
      EXPECT_EQ(backward, 2.5 * forward);
    }
}

TEST(ProblemText, SizesThatOverflowAreRefused) {
  for (const char* text :
       {"b1 hq1 hk1 sq9223372036854775807 sk0 d1 fp16", "b1000000000 hq1000000 hk1 sq1000000 sk1 d1 fp32"})
    EXPECT_NE(refusal(text).find("2^62"), std::string::npos) << rapt_last_error();
}

TEST(ProblemText, FieldsAreWhatTheTextSays) {
  const Problem p(
      "b2 hq4 hk1 sq5 sk9 d64 dv32 bf16 causal-tl window=3,7 bias=bNh1q1 mask=b1hN alibi softcap=20 sink "
      "drop=0.5 scale=0.125 varlen=5:9,2:3 paged=16 det");
  EXPECT_EQ(p.c.batch, 2);
  EXPECT_EQ(p.c.heads_q, 4);
  EXPECT_EQ(p.c.heads_k, 1);
  EXPECT_EQ(p.c.seqlen_q, 5);
  EXPECT_EQ(p.c.seqlen_k, 9);
  EXPECT_EQ(p.c.head_dim, 64);
  EXPECT_EQ(p.c.head_dim_v, 32);
  EXPECT_EQ(p.c.dtype.code, RAPT_BFLOAT);
  EXPECT_EQ(p.c.causal, RAPT_CAUSAL_TOP_LEFT);
  EXPECT_EQ(p.c.window_left, 3);
  EXPECT_EQ(p.c.window_right, 7);
  EXPECT_EQ(p.c.bias_shape, RAPT_PER_BATCH);
  EXPECT_EQ(p.c.mask_shape, RAPT_PER_HEAD | RAPT_PER_QUERY);
  EXPECT_TRUE(p.c.has_alibi && p.c.has_sink && p.c.deterministic && p.c.has_scale);
  EXPECT_EQ(p.c.softcap, 20);
  EXPECT_EQ(p.c.dropout, 0.5);
  EXPECT_EQ(p.c.softmax_scale, 0.125);
  EXPECT_EQ(p.varlen, (std::vector<int64_t>{5, 9, 2, 3}));
  EXPECT_EQ(p.c.page, 16);
}

TEST(ProblemText, ErrorsShowTheColumn) {
  const struct {
    const char* text;
    int column;
  } rows[] = {
      {"", 1},
      {"hq1", 1},
      {"b1 hk1", 4},
      {"bx hq1 hk1 sq1 sk1 d1 fp32", 2},
      {"b01 hq1 hk1 sq1 sk1 d1 fp32", 2},
      {"b1 hq1 hk1 sq1 sk1 d1 fp8", 23},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 casual", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 causal causal", 35},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 sink alibi sink", 39},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 causal alibi causal-tl", 41},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 sink  alibi", 33},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 grads=dk,dq", 37},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 grads=dq,dk,dv", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 align=16", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 device-lengths=3", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 ", 28},
      {"b1  hq1 hk1 sq1 sk1 d1 fp32", 4},
      {"b1 hq1 hk1 sq1 sk1 d1 dv1 fp32", 23},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 window=1", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 window=1,x", 37},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 bias=b2h1", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 softcap=0", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 softcap=1.50", 36},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 drop=p", 33},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 paged=0", 28},
      {"b1 hq1 hk1 sq1 sk1 d1 fp32 varlen=1", 35},
      {"b99999999999999999999 hq1 hk1 sq1 sk1 d1 fp32", 2},
  };
  for (const auto& row : rows) {
    const std::string column = "column " + std::to_string(row.column) + ":";
    EXPECT_NE(refusal(row.text).find(column), std::string::npos) << row.text << ": " << rapt_last_error();
  }
}

TEST(ProblemText, EveryViolationIsReported) {
  const std::string message = refusal("b1 hq3 hk2 sq1 sk1 d600 fp32 window=-2,0 drop=1.5");
  for (const char* word : {"heads_q is 3", "head_dim is 600", "window is -2,0", "dropout.probability is 1.5"})
    EXPECT_NE(message.find(word), std::string::npos) << word << " is not in: " << message;
}

TEST(ProblemText, VarlenMustAgreeWithTheSizes) {
  EXPECT_NE(refusal("b2 hq1 hk1 sq5 sk5 d8 fp32 varlen=5:5").find("batch = 2"), std::string::npos);
  EXPECT_NE(refusal("b1 hq1 hk1 sq5 sk5 d8 fp32 varlen=4:5").find("largest"), std::string::npos);
  EXPECT_NE(refusal("b1 hq1 hk1 sq5 sk5 d8 fp32 varlen=5:-5").find("seqlen_k is -5"), std::string::npos);
}

TEST(ProblemText, BuffersThatAreTooSmallAreRefused) {
  auto problem = init<rapt_problem>();
  int64_t varlen[2];
  EXPECT_EQ(rapt_problem_parse("b2 hq1 hk1 sq5 sk5 d8 fp32 varlen=5:5,1:1", &problem, varlen, 1),
            RAPT_INVALID_ARGUMENT);
  ASSERT_EQ(rapt_problem_parse("b1 hq1 hk1 sq5 sk5 d8 fp32", &problem, nullptr, 0), RAPT_OK);
  char text[8] = "intact!";
  size_t length = 0;
  EXPECT_EQ(rapt_problem_print(&problem, text, sizeof text, &length), RAPT_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "intact!");
  EXPECT_EQ(length, std::string("b1 hq1 hk1 sq5 sk5 d8 fp32").size());
}

}  // namespace

}  // namespace test
