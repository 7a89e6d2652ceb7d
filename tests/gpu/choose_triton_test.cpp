// Problems that take a kernel by Triton, and problems that do not.
#include "choose_case.hpp"

namespace rapt::gpu {
namespace {

std::string refusal_of(const Variant& v, const Problem& problem) {
  const Stage stage = v.known->stage;
  return refusal(v, needs_of(problem, stage == Stage::forward ? RAPT_FORWARD : RAPT_BACKWARD));
}

// Kernels by Triton assume more of their tensors.
TEST(Choose, ByTritonOnlyWhereItsAssumptionsHold) {
  for (const char* name : {"forward", "backward_dq", "backward_dkv"}) {
    SCOPED_TRACE(name);
    const Variant v = by_triton(name);
    const auto why_not = [&](const std::string& sizes) { return refusal_of(v, Problem::parse(sizes)); };
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

// Rows that name no kernel take one by Triton only where nothing else can run.
TEST(Choose, ByTritonByName) {
  const auto taken = [](const std::string& row, const std::string& problem) {
    const MadeUpShelf shelf(row + kLast, {kForwards[0], by_triton("forward")});
    return shelf.choose(needs_of(Problem::parse(problem), RAPT_FORWARD)).pass.lead->by_triton();
  };
  const std::string row = "forward use=forward.tq256k64w8 by=x\n", problem = "b1 hq2 hk1 sq8 sk9 d64 bf16";
  EXPECT_FALSE(taken("", problem));
  EXPECT_FALSE(taken("forward use=forward.largest by=x\n", problem));
  EXPECT_TRUE(taken(row, problem));
  EXPECT_FALSE(taken(row, problem + " align=8"));
  EXPECT_FALSE(taken(row, problem + " stride=1048576"));
  const MadeUpShelf alone(kLast, {by_triton("forward")});
  EXPECT_EQ(alone.text(needs_of(Problem::parse(problem), RAPT_FORWARD)),
            "forward.d64.bf16.plain.tq256k64w8 by table line 1");
}

// Where the smallest tile that fits has no other kernels, rows that name none take the next tile.
TEST(Choose, ATileThatOnlyTritonHas) {
  const auto taken = [](const std::string& use) {
    const MadeUpShelf shelf("forward use=" + use + " by=x\nforward use=forward.largest by=x\n",
                            {by_triton("forward"), kForwards[4]});
    return shelf.text(needs_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16"), RAPT_FORWARD));
  };
  for (const char* use : {"forward.largest", "forward.smallest", "forward.d256.k32w4"})
    EXPECT_EQ(taken(use), "forward.d256.bf16.general.k32w4 by table line 1") << use;
  EXPECT_EQ(taken("forward.tq256k64w8"), "forward.d64.bf16.plain.tq256k64w8 by table line 1");
  EXPECT_EQ(taken("forward.d64.largest"), "forward.d256.bf16.general.k32w4 by table line 2");
}

// A pass is of one family, and one by Triton takes both kernels from it.
TEST(Choose, BothKernelsByTriton) {
  const std::vector<Variant> all = {variant("backward_dq.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
                                    variant("backward_dkv.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
                                    by_triton("backward_dq"), by_triton("backward_dkv")};
  const Needs n = needs_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16"), RAPT_BACKWARD);
  const std::string own = "backward_dq.d64.bf16.plain.k64w4 + backward_dkv.d64.bf16.plain.k64w4",
                    triton = "backward_dq.d64.bf16.plain.tq256k64w8 + backward_dkv.d64.bf16.plain.tq256k64w8";
  EXPECT_EQ(MadeUpShelf("backward use=apart.largest by=x\n", all).text(n), own + " by table line 1");
  const MadeUpShelf by_row(
      "backward use=backward_dkv.d64.bf16.plain.tq256k64w8 by=x\nbackward use=apart.largest by=x\n", all);
  EXPECT_EQ(by_row.text(n), triton + " by table line 1");
  for (const size_t named : {2, 3}) EXPECT_EQ(by_row.text(n, all[named].name), triton + " by table line 1");
  for (const size_t named : {0, 1}) EXPECT_EQ(by_row.text(n, all[named].name), own + " by table line 2");
  const Needs dq_alone = needs_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16 grads=dq"), RAPT_BACKWARD);
  EXPECT_EQ(by_row.text(dq_alone), "backward_dq.d64.bf16.plain.tq256k64w8 by table line 1");
  // Where the named kernel could not run with dk and dv, its row says nothing of dq alone.
  const Needs unaligned = needs_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16 grads=dq align=8"), RAPT_BACKWARD);
  EXPECT_EQ(by_row.text(unaligned), "backward_dq.d64.bf16.plain.k64w4 by table line 2");
}

}  // namespace
}  // namespace rapt::gpu
