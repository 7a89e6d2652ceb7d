// The problems that take Triton's kernels.
#include "select_case.hpp"

namespace rapt::gpu {
namespace {

// Kernels by Triton assume more of their tensors.
TEST(Select, ByTritonOnlyWhereItsAssumptionsHold) {
  for (const char* name : {"forward", "backward_dq", "backward_dkv"}) {
    SCOPED_TRACE(name);
    const Operation& operation = *find_operation(name);
    const Variant v = by_triton(operation);
    const auto why_not = [&](const std::string& sizes) {
      return refusal(v, requirements_of(Problem::parse(sizes), operation.stage));
    };
    const std::string exact = "by Triton: head_dim and head_dim_v must be 64";
    for (const char* able :
         {"", " causal", " causal-tl window=9,4", " varlen=8:9", " device-lengths=8:9", " stride=1048575"})
      EXPECT_EQ(why_not(std::string("b1 hq2 hk1 sq8 sk9 d64 bf16") + able), "") << able;
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d63 bf16"), exact);
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d64 dv32 bf16"), exact);
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d32 dv64 bf16"), exact);
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d64 bf16 align=8"),
              "by Triton: tensors and rows must be aligned to 16 bytes, the problem's are to 8");
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d64 bf16 stride=1048576"),
              "by Triton: rows must be less than 1048576 elements apart");
    EXPECT_EQ(why_not("b1 hq16384 hk1 sq8 sk9 d64 bf16"), "by Triton: rows must be less than 1048576 elements apart");
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d64 bf16 sink"), "by Triton: it has no sink");
    EXPECT_NE(why_not("b1 hq2 hk1 sq8 sk9 d64 bf16 alibi").find("plain kernels lack"), std::string::npos);
    EXPECT_EQ(why_not("b1 hq2 hk1 sq8 sk9 d64 fp16"), "it is for bf16");
  }
}

// Kernels with features scores have all options of plain and general ones but a few.
TEST(Select, ScoresLackAFewOptions) {
  const Problem like = Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16 bias=b1hN mask=bNh1 alibi softcap=30");
  for (const char* name : {"forward", "backward_dq", "backward_dkv"}) {
    SCOPED_TRACE(name);
    const Operation& operation = *find_operation(name);
    const Variant v = by_triton(operation, "scores");
    const auto why_not = [&](const std::string& options) {
      return refusal(v, requirements_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16" + options), operation.stage));
    };
    EXPECT_EQ(refusal(v, requirements_of(like, operation.stage)), "");
    for (const char* able : {"", " bias=b1hN", " mask=bNh1q1", " causal alibi", " softcap=20 window=9,4", " scale=2"})
      EXPECT_EQ(why_not(able), "") << able;
    const std::string lacking =
        "kernels with features scores lack bias_fp32, dropout, or a softmax_scale below float32's least normal number, "
        "one of which the problem has";
    for (const char* unable :
         {" drop=0.1", " bias=b1hN drop=0.1", " bias=b1hN bias-fp32", " alibi scale=-1", " scale=0"})
      EXPECT_EQ(why_not(unable), lacking) << unable;
    EXPECT_EQ(why_not(" bias=b1hN align=2"),
              "by Triton: tensors and rows must be aligned to 16 bytes, the problem's are to 2");
    EXPECT_EQ(why_not(" alibi sink"), "by Triton: it has no sink");
    EXPECT_EQ(why_not(" softcap=128"), "");
    EXPECT_EQ(why_not(" softcap=129"),
              operation.stage == Stage::forward ? "" : "by Triton: the backward pass takes a softcap of at most 128");
  }
  Problem with_gradient = like;
  with_gradient.gradients |= gradient::bias;
  const auto of_gradient = [&](const char* name) {
    const Operation& operation = *find_operation(name);
    return refusal(by_triton(operation, "scores"), requirements_of(with_gradient, operation.stage));
  };
  EXPECT_EQ(of_gradient("forward"), "");
  EXPECT_EQ(of_gradient("backward_dq"), "by Triton: it has no gradient of a bias");
}

// They are taken only by a row that names one.
TEST(Select, ByTritonOnlyByName) {
  const std::vector<Variant> both = {kVariants[0], by_triton(*find_operation("forward"))};
  const auto taken = [&](const std::string& table, const std::string& problem) {
    const Tuning tuning = Tuning::parse(table + kLast, "table", Tuning::Extent::whole);
    return select(both, tuning, requirements_of(Problem::parse(problem), Stage::forward), 100)->index;
  };
  const std::string row = "forward use=tq256k64w8 by=x\n", problem = "b1 hq2 hk1 sq8 sk9 d64 bf16";
  EXPECT_EQ(taken("", problem), 0u);
  EXPECT_EQ(taken("forward use=largest by=x\n", problem), 0u);
  EXPECT_EQ(taken(row, problem), 1u);
  EXPECT_EQ(taken(row, problem + " align=8"), 0u);
  EXPECT_EQ(taken(row, problem + " stride=1048576"), 0u);
}

// Where the smallest tile that fits has no other kernels, rows that name none take the next one.
TEST(Select, ATileThatOnlyTritonHas) {
  const std::vector<Variant> both = {by_triton(*find_operation("forward"), "scores"), kVariants[4]};
  const auto taken = [&](const std::string& use) {
    const Tuning tuning =
        Tuning::parse("forward use=" + use + " by=x\nforward use=largest by=x\n", "table", Tuning::Extent::whole);
    return select(both, tuning, requirements_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16 alibi"), Stage::forward),
                  100);
  };
  for (const char* use : {"largest", "smallest", "d256.k32w4"}) {
    ASSERT_TRUE(taken(use)) << use;
    EXPECT_EQ(taken(use)->index, 1u) << use;
  }
  EXPECT_EQ(taken("tq256k64w8")->index, 0u);
  EXPECT_EQ(taken("d64.largest")->index, 1u);  // by the second row
}

}  // namespace
}  // namespace rapt::gpu
