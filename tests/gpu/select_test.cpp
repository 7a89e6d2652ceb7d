// The kernel that a problem takes, by its requirements and a tuning table, without a device.
#include "select_case.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt::gpu {
namespace {

KernelRequirements needed(int64_t head_dim, int64_t seqlen_q = 1024, bool general = false) {
  return {Stage::forward, DType::bf16, MaskKind::none, general, head_dim, 1, 8, seqlen_q};
}

std::string chosen(const std::string& table, const KernelRequirements& d) {
  const Tuning tuning = Tuning::parse(table, "table", Tuning::Extent::whole);
  const auto selected = select(kVariants, tuning, d, 100);
  return selected ? kVariants[*selected->index].name + " by " + selected->row->where : "nothing";
}

TEST(Select, SmallestTileThatFits) {
  EXPECT_EQ(chosen(kLast, needed(40)), "forward.d64.bf16.plain.k64w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(64)), "forward.d64.bf16.plain.k64w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(65)), "forward.d128.bf16.plain.k64w2 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(512)), "nothing");
}

TEST(Select, GeneralOnlyWhereNeeded) {
  EXPECT_EQ(chosen(kLast, needed(64, 1024, true)), "forward.d64.bf16.general.k64w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(128, 1024, true)), "forward.d256.bf16.general.k32w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(200)), "forward.d256.bf16.general.k32w4 by table line 1");  // no plain one is so wide
}

TEST(Select, FirstMatchingRowWins) {
  const std::string table = "# a comment\nforward groups>=1 use=largest by=model # another\n\n" + kLast;
  EXPECT_EQ(chosen(table, needed(128, 100 * 256 / 8)), "forward.d128.bf16.plain.k64w8 by table line 2");
  EXPECT_EQ(chosen(table, needed(128, 100 * 256 / 8 - 256)), "forward.d128.bf16.plain.k64w2 by table line 4");
  EXPECT_EQ(chosen("forward groups<0.5 use=k64w8 by=x\n" + kLast, needed(128, 256)),
            "forward.d128.bf16.plain.k64w8 by table line 1");
}

TEST(Select, Conditions) {
  const auto first = [](const std::string& condition, const KernelRequirements& d) {
    return chosen("forward " + condition + " use=k64w8 by=x\n" + kLast, d).ends_with("line 1");
  };
  EXPECT_TRUE(first("dtype=fp16,bf16", needed(128)));
  EXPECT_FALSE(first("dtype=fp16", needed(128)));
  EXPECT_TRUE(first("head_dim=100..128", needed(128)));
  EXPECT_FALSE(first("head_dim=100..127", needed(128)));
  EXPECT_TRUE(first("features=plain", needed(128)));
  EXPECT_FALSE(first("features=general", needed(128)));
  EXPECT_TRUE(first("mask=none", needed(128)));
  EXPECT_FALSE(first("mask=causal,window", needed(128)));
  KernelRequirements causal = needed(128);
  causal.mask = MaskKind::causal;
  EXPECT_TRUE(first("mask=causal,window", causal));
}

TEST(Select, LengthOfKeysAndLoad) {
  KernelRequirements d = needed(128);
  const auto first = [&](const std::string& condition) {
    return chosen("forward " + condition + " use=k64w8 by=x\n" + kLast, d).ends_with("line 1");
  };
  d.seqlen_k = 700;
  EXPECT_TRUE(first("seqlen_k>=384 seqlen_k<768"));
  EXPECT_FALSE(first("seqlen_k>=768"));
  EXPECT_FALSE(first("seqlen_k<700"));
  d.query_rows = 4800;  // of 100 compute units
  EXPECT_TRUE(first("unit_rows>=48 unit_rows<49"));
  EXPECT_FALSE(first("unit_rows>=48.1"));
  EXPECT_FALSE(first("unit_rows<48"));
}

TEST(Select, AKernelByItsWholeName) {
  EXPECT_EQ(chosen("forward use=forward.d256.bf16.general.k32w4 by=x\n" + kLast, needed(64)),
            "forward.d256.bf16.general.k32w4 by table line 1");
  EXPECT_EQ(chosen("forward use=forward.d128.fp16.plain.k64w8 by=x\n" + kLast, needed(64)),
            "forward.d64.bf16.plain.k64w4 by table line 2");  // it is for fp16
}

// A measured row is about two kernels; where the archive has another version of either, the row says nothing any more.
TEST(Select, RowsOfKernelsThatHaveChangedArePassedOver) {
  std::vector<Variant> variants = kVariants;
  for (Variant& v : variants) v.crc32 = 0x1234abcd;
  const auto answer = [&](const std::string& row) {
    Tuning tuning = Tuning::parse(row + "\n" + kLast, "table", Tuning::Extent::whole);
    tuning.compare_checksums(variants);
    const auto selected = select(variants, tuning, needed(128), 100);
    return cat(selected->row->where, "; ", passed_over(tuning, *selected->row, needed(128), 100));
  };
  const std::string use = "forward.d128.bf16.plain.k64w8", other = "forward.d128.bf16.plain.k64w2";
  EXPECT_EQ(answer(cat("forward use=", use, ":1234abcd by=x against=", other, ":1234abcd")), "table line 1; ");
  EXPECT_EQ(answer(cat("forward use=", use, ":1234abce by=x")),
            cat("table line 2; table line 1 was passed over: ", use,
                " has changed since: its checksum was 1234abce, it is 1234abcd"));
  EXPECT_EQ(answer(cat("forward use=", use, ":1234abcd by=x against=", other, ":00000000")),
            cat("table line 2; table line 1 was passed over: ", other,
                " has changed since: its checksum was 00000000, it is 1234abcd"));
  EXPECT_EQ(answer(cat("forward use=", use, "9:1234abcd by=x")),
            cat("table line 2; table line 1 was passed over: it is about ", use, "9, which the archive has not"));
  std::string many;
  for (int i = 0; i < 10; ++i) many += cat("forward use=", use, ":00000000 by=x\n");
  EXPECT_TRUE(answer(many).ends_with("it is 1234abcd; and 2 more were")) << answer(many);
  // Elsewhere such a row is not worth a word.
  EXPECT_EQ(answer(cat("forward dtype=fp16 use=", use, ":00000000 by=x")), "table line 2; ");
}

TEST(Select, WhatRowsSayOfTheirMeasurementIsChecked) {
  const auto error = [](const std::string& words) -> std::string {
    try {
      Tuning::parse("forward use=k64w8 by=measured " + words, "table", Tuning::Extent::part);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("gain=1.03..1.07 n=60 against=k64w4"), "");
  EXPECT_NE(error("gain=1.03").find("gain '1.03' must be LEAST..MOST"), std::string::npos);
  EXPECT_NE(error("gain=1.07..1.03").find("must be LEAST..MOST"), std::string::npos);
  EXPECT_NE(error("n=many").find("'many' must be a number above 0"), std::string::npos);
  EXPECT_NE(error("against=k64w4:123").find("'k64w4:123' must be NAME or NAME:CRC32"), std::string::npos);
  EXPECT_NE(error("unit_rows=5").find("'unit_rows=5' is unknown"), std::string::npos);
}

TEST(Select, RowsOfAHead) {
  const std::string table = "forward rows>=64 rows<128 use=k64w8 by=x\n" + kLast;
  for (const auto& [rows, line] : {std::pair{63, "line 2"}, {64, "line 1"}, {127, "line 1"}, {128, "line 2"}})
    EXPECT_TRUE(chosen(table, needed(128, rows)).ends_with(line)) << rows;
}

// Few rows for each head of k are for split kernels, and whatever has a cache.
TEST(Select, SplitOrForward) {
  Variant split = variant("split.d64.fp16.plain.k32w4", DType::fp16, 64, "plain", 16);
  split.operation = "split";
  split.argument_size = sizeof(rapt_split_args);
  const Tuning tuning =
      Tuning::parse("split rows>=17 use=forward by=x\nsplit use=largest by=x\n", "table", Tuning::Extent::whole);
  const auto splits = [&](const std::string& options) {
    const KernelRequirements d = requirements_of(Problem::parse("b2 hq8 hk2 " + options), Stage::split);
    const auto selected = select(std::span(&split, 1), tuning, d, 100);
    return selected && selected->index;
  };
  EXPECT_TRUE(splits("sq1 sk90 d64 fp16"));
  EXPECT_TRUE(splits("sq4 sk90 d64 fp16"));   // 4 queries of 4 heads
  EXPECT_FALSE(splits("sq5 sk90 d64 fp16"));  // 20 rows
  EXPECT_TRUE(splits("sq5 sk90 d64 fp16 cache"));
  EXPECT_FALSE(splits("sq1 sk90 d65 fp16"));
  EXPECT_FALSE(splits("sq1 sk90 d64 fp16 alibi"));
}

TEST(Select, AnotherTileByName) {
  EXPECT_EQ(chosen("forward use=d128.k64w8 by=x\n" + kLast, needed(64)),
            "forward.d128.bf16.plain.k64w8 by table line 1");
  for (const char* none : {"k99w9", "d.k64w4", "d99999999999.k64w4", "d64x.k64w4"})
    EXPECT_EQ(chosen(cat("forward use=", none, " by=x\n", kLast), needed(64)),
              "forward.d64.bf16.plain.k64w4 by table line 2");
}

// backward_dq and backward_dkv add up in one order.
TEST(Select, GradientsInOneOrder) {
  const Operation& dkv = *find_operation("backward_dkv");
  Variant own = variant("backward_dkv.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 512);
  own.operation = dkv.name;
  own.argument_size = static_cast<int32_t>(dkv.argument_size);
  Variant wide = variant("backward_dkv_wide.d64.bf16.plain.k64w4s2", DType::bf16, 64, "plain", 512);
  wide.operation = "backward_dkv_wide";
  wide.argument_size = own.argument_size;
  const std::vector<Variant> all = {own, by_triton(dkv), wide};
  const auto taken = [&](const std::string& use, Sums sums) {
    const Tuning tuning = Tuning::parse("backward_dkv use=" + use + " by=x\nbackward_dkv use=largest by=x\n", "table",
                                        Tuning::Extent::whole);
    return select(all, tuning, requirements_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16"), dkv.stage, sums), 100)
        ->index;
  };
  EXPECT_EQ(taken("largest", Sums::whole), 0u);
  EXPECT_EQ(taken("tq256k64w8", Sums::whole), 0u);
  EXPECT_EQ(taken("k64w4s2", Sums::whole), 0u);
  EXPECT_EQ(taken("largest", Sums::triton), 1u);
  EXPECT_EQ(taken("k64w4", Sums::triton), 1u);
  EXPECT_EQ(taken("k64w4", Sums::in_slices), 2u);
  const KernelRequirements forward =
      requirements_of(Problem::parse("b1 hq2 hk1 sq8 sk9 d64 bf16"), Stage::forward, Sums::triton);
  EXPECT_EQ(refusal(kVariants[0], forward), "");  // other stages have either
}

// A row of backward_fused that names a kernel of backward_dq leaves the pass to it only where it can run.
TEST(Select, FusedLeavesToAKernelThatCanRun) {
  const Operation& fused = *find_operation("backward_fused");
  Variant own = variant("backward_fused.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 64);
  own.operation = fused.name;
  own.argument_size = static_cast<int32_t>(fused.argument_size);
  const Variant dq = by_triton(*find_operation("backward_dq"));
  const auto leaves = [&](const std::vector<Variant>& variants, const std::string& problem, const char* crc = "") {
    Tuning tuning = Tuning::parse("backward_fused use=" + dq.name + crc + " by=x\nbackward_fused use=largest by=x\n",
                                  "table", Tuning::Extent::whole);
    tuning.compare_checksums(variants);
    return !select(variants, tuning, requirements_of(Problem::parse(problem), fused.stage), 100)->index.has_value();
  };
  const std::string problem = "b1 hq2 hk1 sq8 sk9 d64 bf16";
  EXPECT_TRUE(leaves({own, dq}, problem));
  EXPECT_FALSE(leaves({own}, problem));
  EXPECT_FALSE(leaves({own, dq}, problem + " align=8"));
  EXPECT_FALSE(leaves({own, dq}, problem + " stride=1048576"));
  EXPECT_FALSE(leaves({own, dq}, problem + " sink"));
  EXPECT_FALSE(leaves({own, dq}, "b1 hq2 hk1 sq8 sk9 d63 bf16"));
  EXPECT_TRUE(leaves({own, dq}, problem, ":00000000"));
  EXPECT_FALSE(leaves({own, dq}, problem, ":00000001"));
}

TEST(Select, ScalesThatAreNotPositiveInFloat32AreGeneral) {
  Problem problem;
  EXPECT_FALSE(requirements_of(problem, Stage::forward).general);
  for (const auto& [scale, general] :
       {std::pair{0.1, false}, {1e-30, false}, {1e-40, true}, {1e-60, true}, {0.0, true}, {-0.1, true}}) {
    problem.softmax_scale = scale;
    EXPECT_EQ(requirements_of(problem, Stage::forward).general, general) << scale;
  }
  problem.softmax_scale = 1e39;
  EXPECT_EQ(unsupported(problem), "softmax_scale is 1e+39, GPU kernels take values that are finite in float32");
}

// The options' table says which need general kernels.
TEST(Select, OptionsOfAProblem) {
  const auto problem = [](const std::string& options) {
    return Problem::parse("b1 hq2 hk1 sq8 sk9 d64 fp16" + options);
  };
  for (const char* plain : {"", " causal", " causal-tl", " window=1,2", " sink", " varlen=8:9", " device-lengths=8:9",
                            " det", " lse", " align=2", " stride=999"})
    EXPECT_FALSE(requirements_of(problem(plain), Stage::forward).general) << plain;
  for (const char* general : {" bias=b1h1", " mask=bNhN", " alibi", " softcap=3", " drop=0.5"})
    EXPECT_TRUE(requirements_of(problem(general), Stage::forward).general) << general;
  EXPECT_EQ(unsupported(problem(" cache")), "");
  EXPECT_EQ(unsupported(problem(" paged=32 leftpad")), "");
  EXPECT_EQ(unsupported(problem(" paged=3 leftpad")), "page is 3, GPU kernels take multiples of 16");
  EXPECT_EQ(unsupported(problem(" softcap=1e-40")),
            "softcap is 1e-40, GPU kernels take values that are normal in float32");
  EXPECT_EQ(unsupported(problem(" softcap=1e+39")),
            "softcap is 1e+39, GPU kernels take values that are normal in float32");
  EXPECT_EQ(unsupported(problem(" cache append=3")), "");
  Problem no_queries = problem(" cache append=3");
  no_queries.seqlen_q = 0;
  EXPECT_NE(unsupported(no_queries).find("there are no queries"), std::string::npos);
  EXPECT_EQ(unsupported(problem(" sink")), "");
  EXPECT_EQ(requirements_of(problem(" causal"), Stage::forward).mask, MaskKind::causal);
  EXPECT_EQ(requirements_of(problem(" causal-tl window=3,9"), Stage::forward).mask, MaskKind::window);
  EXPECT_EQ(requirements_of(problem(" window=-1,0"), Stage::forward).mask, MaskKind::causal);
}

// The stages of what is asked for; a kernel serves one stage only.
TEST(Select, StagesOfPasses) {
  const auto names = [](const Stages& stages) {
    std::string text;
    for (const Stage stage : stages) text.append(text.empty() ? "" : " ").append(stage_name(stage));
    return text;
  };
  const auto problem = [](const char* options) {
    return Problem::parse(std::string("b1 hq2 hk1 sq8 sk9 d64 fp16") + options);
  };
  const auto backward = [&](const char* options, BackwardKernels kernels = BackwardKernels::apart) {
    return names(Stages(problem(options), kernels));
  };
  EXPECT_EQ(names(Stages(ForwardKernels::forward)), "forward");
  EXPECT_EQ(names(Stages(ForwardKernels::split)), "split split_combine");
  EXPECT_EQ(backward(""), "backward_dq backward_dkv");
  EXPECT_EQ(backward(" grads=dq"), "backward_dq");
  EXPECT_EQ(backward(" grads=dv"), "backward_dq backward_dkv");
  EXPECT_EQ(backward(" bias=b1h1 sink grads=dbias,dsink"), "backward_dq backward_dbias backward_dsink");
  EXPECT_EQ(backward("", BackwardKernels::fused), "backward_dq backward_fused backward_dq_round");
  EXPECT_EQ(backward(" bias=b1h1 sink grads=dq,dv,dbias,dsink", BackwardKernels::fused),
            "backward_dq backward_fused backward_dq_round backward_dbias backward_dsink");
  EXPECT_TRUE(wants_fused(problem("")));
  EXPECT_TRUE(wants_fused(problem(" grads=dq,dv")));
  EXPECT_FALSE(wants_fused(problem(" det")));
  EXPECT_FALSE(wants_fused(problem(" grads=dq")));
  EXPECT_FALSE(wants_fused(problem(" grads=dk,dv")));
  Variant other = kVariants[0];
  other.operation = "something_else";
  EXPECT_EQ(refusal(other, needed(64)), "it computes something_else, which this library does not know");
  other.operation = "forward_wide";
  EXPECT_EQ(refusal(other, needed(64)), "");
  other.argument_size -= 8;
  EXPECT_NE(refusal(other, needed(64)).find("bytes of arguments, this library passes"), std::string::npos);
}

// The workgroups of each stage, for 100 rows and 50 keys in tiles of 64.
TEST(Select, WorkgroupsOfStages) {
  const Problem problem = Problem::parse("b3 hq8 hk2 sq100 sk50 d64 fp16 bias=b1hN sink grads=dq,dk,dv,dbias,dsink");
  Variant v = variant("", DType::fp16, 64, "general", 64);
  v.block_k = 32;
  const auto groups = [&](Stage stage) { return workgroups(v, requirements_of(problem, stage)); };
  EXPECT_EQ(groups(Stage::backward_dq), 2 * 8 * 3);
  EXPECT_EQ(groups(Stage::backward_dkv), 1 * 2 * 3);
  EXPECT_EQ(groups(Stage::backward_fused), 1 * 2 * 3);
  EXPECT_EQ(groups(Stage::backward_dq_round), 2 * 8 * 3);
  EXPECT_EQ(groups(Stage::backward_dbias), 2 * 2 * 8);
  EXPECT_EQ(groups(Stage::backward_dsink), 8);
  v.block_q = 16;
  EXPECT_EQ(groups(Stage::split), 25 * 2 * 3);  // 100 queries of 4 heads
  v.block_q = 1;
  EXPECT_EQ(groups(Stage::split_combine), 100 * 8 * 3);
  EXPECT_EQ(requirements_of(problem, Stage::split_combine).dtype, DType::fp32);
  EXPECT_EQ(requirements_of(problem, Stage::backward_dsink).dtype, DType::fp32);
  EXPECT_FALSE(requirements_of(problem, Stage::backward_dsink).general);
  EXPECT_FALSE(requirements_of(problem, Stage::backward_dq_round).general);
  EXPECT_TRUE(requirements_of(problem, Stage::backward_dkv).general);
}

TEST(Select, LongerThanPositionsCanBeAddedUpIn) {
  Problem problem;
  problem.seqlen_k = int64_t{1} << 29;
  EXPECT_EQ(unsupported(problem), "");
  ++problem.seqlen_k;
  EXPECT_EQ(unsupported(problem), "seqlen_k is 536870913, GPU kernels take up to 536870912");
}

TEST(Select, RefusesGridsThatCannotBeLaunched) {
  KernelRequirements d = needed(64);
  d.batch = 1 << 20;
  d.rows = 128 * 16;
  EXPECT_EQ(refusal(kVariants[0], d).find("it needs"), 0u) << refusal(kVariants[0], d);
}

}  // namespace
}  // namespace rapt::gpu
