// choose() without a device: a problem's needs, made-up kernels and a tuning table.
#include "choose_case.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt::gpu {
namespace {

Needs needed(int64_t head_dim, int64_t seqlen_q = 1024, bool general = false) {
  Needs n;
  n.dtype = DType::bf16;
  n.options = general ? KernelSupport::general : KernelSupport::every;
  n.heads_q = n.heads_k = 8;
  n.head_dim = n.head_dim_v = head_dim;
  n.seqlen_q = seqlen_q;
  return n;
}

Needs of(const std::string& problem, rapt_op op = RAPT_FORWARD) { return needs_of(Problem::parse(problem), op); }

std::string chosen(const std::string& table, const Needs& n) { return MadeUpShelf(table, kForwards).text(n); }

TEST(Choose, SmallestTileThatFits) {
  EXPECT_EQ(chosen(kLast, needed(40)), "forward.d64.bf16.plain.k64w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(64)), "forward.d64.bf16.plain.k64w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(65)), "forward.d128.bf16.plain.k64w2 by table line 1");
  EXPECT_EQ(
      chosen(kLast, needed(512))
          .find("none of the 6 variants of made_up.rapt takes it on hip:0 (gfx942); 1: it is for fp16; 2: its tile "
                "holds head dims up to 128, the problem's is 512; "),
      0u);
}

TEST(Choose, GeneralOnlyWhereNeeded) {
  EXPECT_EQ(chosen(kLast, needed(64, 1024, true)), "forward.d64.bf16.general.k64w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(128, 1024, true)), "forward.d256.bf16.general.k32w4 by table line 1");
  EXPECT_EQ(chosen(kLast, needed(200)), "forward.d256.bf16.general.k32w4 by table line 1");  // no plain one is so wide
}

TEST(Choose, FirstMatchingRowWins) {
  const std::string table = "# a comment\nforward groups>=1 use=forward.largest by=model # another\n\n" + kLast;
  EXPECT_EQ(chosen(table, needed(128, 100 * 256 / 8)), "forward.d128.bf16.plain.k64w8 by table line 2");
  EXPECT_EQ(chosen(table, needed(128, 100 * 256 / 8 - 256)), "forward.d128.bf16.plain.k64w2 by table line 4");
  EXPECT_EQ(chosen("forward groups<0.5 use=forward.k64w8 by=x\n" + kLast, needed(128, 256)),
            "forward.d128.bf16.plain.k64w8 by table line 1");
}

TEST(Choose, Conditions) {
  const auto first = [](const std::string& condition, const Needs& d) {
    return chosen("forward " + condition + " use=forward.k64w8 by=x\n" + kLast, d).ends_with("line 1");
  };
  EXPECT_TRUE(first("dtype=fp16,bf16", needed(128)));
  EXPECT_FALSE(first("dtype=fp16", needed(128)));
  EXPECT_TRUE(first("head_dim=100..128", needed(128)));
  EXPECT_FALSE(first("head_dim=100..127", needed(128)));
  EXPECT_TRUE(first("features=plain", needed(128)));
  EXPECT_FALSE(first("features=general", needed(128)));
  EXPECT_TRUE(first("mask=none", needed(128)));
  EXPECT_FALSE(first("mask=causal,window", needed(128)));
  Needs causal = needed(128);
  causal.mask = MaskKind::causal;
  EXPECT_TRUE(first("mask=causal,window", causal));
}

TEST(Choose, LengthOfKeysAndLoad) {
  Needs d = needed(128);
  const auto first = [&](const std::string& condition) {
    return chosen("forward " + condition + " use=forward.k64w8 by=x\n" + kLast, d).ends_with("line 1");
  };
  d.seqlen_k = 700;
  EXPECT_TRUE(first("seqlen_k>=384 seqlen_k<768"));
  EXPECT_FALSE(first("seqlen_k>=768"));
  EXPECT_FALSE(first("seqlen_k<700"));
  d.batch = 6;  // of 8 heads and 100 queries, on 100 compute units
  d.seqlen_q = 100;
  EXPECT_TRUE(first("unit_rows>=48 unit_rows<49"));
  EXPECT_FALSE(first("unit_rows>=48.1"));
  EXPECT_FALSE(first("unit_rows<48"));
}

TEST(Choose, AKernelByItsWholeName) {
  EXPECT_EQ(chosen("forward use=forward.d256.bf16.general.k32w4 by=x\n" + kLast, needed(64)),
            "forward.d256.bf16.general.k32w4 by table line 1");
  EXPECT_EQ(chosen("forward use=forward.d128.fp16.plain.k64w8 by=x\n" + kLast, needed(64)),
            "forward.d64.bf16.plain.k64w4 by table line 2");  // it is for fp16
}

// A measured row is about two kernels; where the archive has another version of either, the row says nothing any more.
TEST(Choose, RowsOfKernelsThatHaveChangedArePassedOver) {
  std::vector<Variant> variants = kForwards;
  for (Variant& v : variants) v.crc32 = 0x1234abcd;
  const auto answer = [&](const std::string& row) {
    const MadeUpShelf shelf(row + "\n" + kLast, variants);
    const TuningRow& fired = *shelf.choose(needed(128)).pass.row;
    return cat(fired.where, shelf.tuning.passed_over(fired, needed(128), 100));
  };
  const std::string use = "forward.d128.bf16.plain.k64w8", other = "forward.d128.bf16.plain.k64w2";
  EXPECT_EQ(answer(cat("forward use=", use, ":1234abcd by=x against=", other, ":1234abcd")), "table line 1");
  EXPECT_EQ(answer(cat("forward use=", use, ":1234abce by=x")),
            cat("table line 2; table line 1 was passed over: ", use,
                " has changed since: its checksum was 1234abce, it is 1234abcd"));
  EXPECT_EQ(answer(cat("forward use=", use, ":1234abcd by=x against=", other, ":00000000")),
            cat("table line 2; table line 1 was passed over: ", other,
                " has changed since: its checksum was 00000000, it is 1234abcd"));
  EXPECT_EQ(answer(cat("forward use=", use, "9:1234abcd by=x")),
            cat("table line 2; table line 1 was passed over: it is about ", use, "9, which the archive does not have"));
  std::string many;
  for (int i = 0; i < 10; ++i) many += cat("forward use=", use, ":00000000 by=x\n");
  EXPECT_TRUE(answer(many).ends_with("it is 1234abcd; and 2 more were")) << answer(many);
  // Where its conditions do not hold, such a row is not worth a word.
  EXPECT_EQ(answer(cat("forward dtype=fp16 use=", use, ":00000000 by=x")), "table line 2");
  EXPECT_EQ(answer(cat("decode rows>=17 use=forward by=x")),
            "table line 2; table line 1 was passed over: it is of an earlier version, whose rows named 'decode': tune "
            "again");
}

TEST(Choose, WhatRowsSayOfTheirMeasurementIsChecked) {
  const auto error = [](const std::string& words) -> std::string {
    try {
      Tuning::parse("forward use=forward.k64w8 by=measured " + words, "table");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("gain=1.03..1.07 n=60 against=forward.d64.bf16.plain.k64w4"), "");
  EXPECT_NE(error("gain=1.03").find("gain '1.03' must be LEAST..MOST"), std::string::npos);
  EXPECT_NE(error("gain=1.07..1.03").find("must be LEAST..MOST"), std::string::npos);
  EXPECT_NE(error("n=many").find("'many' must be a number above 0"), std::string::npos);
  EXPECT_NE(error("against=forward.d64.bf16.plain.k64w4:123").find("k64w4:123' must be NAME or NAME:CRC32"),
            std::string::npos);
  EXPECT_NE(error("unit_rows=5").find("'unit_rows=5' is unknown"), std::string::npos);
}

TEST(Choose, RowsOfAHead) {
  const std::string table = "forward rows>=64 rows<128 use=forward.k64w8 by=x\n" + kLast;
  for (const auto& [rows, line] : {std::pair{63, "line 2"}, {64, "line 1"}, {127, "line 1"}, {128, "line 2"}})
    EXPECT_TRUE(chosen(table, needed(128, rows)).ends_with(line)) << rows;
}

const std::vector<Variant> kSplits = {
    variant("split.d64.fp16.plain.k32w4", DType::fp16, 64, "plain", 16),
    variant("split_combine.d32.fp32.plain.k32w4", DType::fp32, 32, "plain", 1),
    variant("forward.d64.fp16.plain.k64w4", DType::fp16, 64, "plain", 128),
};

// Few rows for each head of k are for split kernels, and whatever has a cache.
TEST(Choose, SplitOrForward) {
  const MadeUpShelf shelf(
      "forward group_rows<17 use=split.largest by=x\nforward use=forward.largest by=x\n"
      "forward use=split.largest by=x\n",
      kSplits);
  const auto taken = [&](const std::string& options) { return shelf.text(of("b2 hq8 hk2 " + options)); };
  const std::string split = "split.d64.fp16.plain.k32w4 by table line ", forward = "forward.d64.fp16.plain.k64w4";
  EXPECT_EQ(taken("sq1 sk90 d64 fp16"), split + "1");
  EXPECT_EQ(taken("sq4 sk90 d64 fp16"), split + "1");                   // 4 queries of 4 heads
  EXPECT_EQ(taken("sq5 sk90 d64 fp16"), forward + " by table line 2");  // 20 rows
  EXPECT_EQ(taken("sq5 sk90 d64 fp16 cache"), split + "3");
  EXPECT_EQ(taken("sq1 sk90 d65 fp16").find("none of the 3 variants"), 0u);
  EXPECT_EQ(taken("sq1 sk9000 d64 fp16").find("split.d64.fp16.plain.k32w4 + split_combine.d32"), 0u);
  EXPECT_EQ(shelf.text(of("b1 hq2 hk1 sq9 sk90 d64 fp16"), "split.d64.fp16.plain.k32w4"), split + "3");
  EXPECT_EQ(shelf.text(of("b1 hq2 hk1 sq1 sk90 d64 fp16 cache"), forward), forward + ": it takes no KV cache");
}

// One split needs nothing to merge it: neither a kernel, nor a grid that can be launched.
TEST(Choose, OneSplitNeedsNoMerging) {
  const std::string table = "forward use=split.largest by=x\n", split = "split.d64.fp16.plain.k32w4 by table line 1";
  const MadeUpShelf alone(table, {kSplits[0]}), both(table, kSplits);
  EXPECT_EQ(alone.text(of("b1 hq2 hk1 sq1 sk90 d64 fp16 cache")), split);
  EXPECT_EQ(alone.text(of("b1 hq2 hk1 sq1 sk9000 d64 fp16 cache")),
            "none of the 1 variants of made_up.rapt takes it on hip:0 (gfx942); 1: no kernel of split_combine can run "
            "with it");
  EXPECT_EQ(both.text(of("b64 hq136 hk8 sq4096 sk15 d64 fp16 causal cache")), split);
  EXPECT_EQ(both.text(of("b1 hq2 hk1 sq1 sk90 d64 fp16"), kSplits[1].name),
            kSplits[1].name + ": there is one split of the keys, so nothing to merge");
}

TEST(Choose, AnotherTileByName) {
  EXPECT_EQ(chosen("forward use=forward.d128.k64w8 by=x\n" + kLast, needed(64)),
            "forward.d128.bf16.plain.k64w8 by table line 1");
  EXPECT_EQ(chosen("forward use=forward.k99w9 by=x\n" + kLast, needed(64)),
            "forward.d64.bf16.plain.k64w4 by table line 2");
}

const std::vector<Variant> kBackwards = {
    variant("backward_dq.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
    variant("backward_dkv.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
    variant("backward_dkv_pipelined.d64.bf16.plain.k32w4", DType::bf16, 64, "plain", 256),
    variant("backward_dq_wide.d128.bf16.plain.k64w4s2", DType::bf16, 128, "plain", 64),
    variant("backward_dkv_wide.d128.bf16.plain.k64w4s2", DType::bf16, 128, "plain", 64),
    variant("backward_fused.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 64),
    variant("backward_dq_round.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 128),
    variant("backward_dbias.d128.bf16.general.k64w4", DType::bf16, 128, "general", 128),
    variant("backward_dsink.d32.fp32.plain.k64w4", DType::fp32, 32, "plain", 1),
};
const std::string kOfBackward = "backward use=fused.largest by=x\nbackward use=apart.largest by=x\n",
                  kApart = "backward_dq.d64.bf16.plain.k64w4 + backward_dkv_pipelined.d64.bf16.plain.k32w4";

// Kernels of a pass are of one family.
TEST(Choose, GradientsInOneOrder) {
  const MadeUpShelf shelf("backward use=apart.d128.k64w4s2 by=x\n" + kOfBackward, kBackwards);
  EXPECT_EQ(shelf.text(of("b1 hq2 hk1 sq8 sk9 d100 bf16", RAPT_BACKWARD)),
            "backward_dq_wide.d128.bf16.plain.k64w4s2 + backward_dkv_wide.d128.bf16.plain.k64w4s2 by table line 1");
  EXPECT_EQ(shelf.text(of("b1 hq2 hk1 sq8 sk9 d64 bf16", RAPT_BACKWARD), "backward_dq.d64.bf16.plain.k64w4"),
            kApart + " by table line 3");
  std::vector<Variant> without_dq = kBackwards;
  without_dq[0].operation = "something_else";
  without_dq[0].known = nullptr;
  EXPECT_EQ(MadeUpShelf(kOfBackward, without_dq).text(of("b1 hq2 hk1 sq8 sk9 d64 bf16 det", RAPT_BACKWARD)),
            "backward_dq_wide.d128.bf16.plain.k64w4s2 + backward_dkv_wide.d128.bf16.plain.k64w4s2 by table line 2");
}

// The kernels of what is asked for.
TEST(Choose, KernelsOfBackwardPasses) {
  const MadeUpShelf shelf(kOfBackward, kBackwards);
  const auto taken = [&](const std::string& options, std::string_view named = "") {
    return shelf.text(of("b1 hq2 hk1 sq8 sk9 d64 bf16" + options, RAPT_BACKWARD), named);
  };
  const std::string dq = "backward_dq.d64.bf16.plain.k64w4", dsink = " + backward_dsink.d32.fp32.plain.k64w4",
                    fused = dq + " + backward_fused.d64.bf16.plain.k64w4 + backward_dq_round.d64.bf16.plain.k64w4";
  EXPECT_EQ(taken(""), fused + " by table line 1");
  EXPECT_EQ(taken(" grads=dq,dv"), fused + " by table line 1");
  EXPECT_EQ(taken(" sink grads=dq,dk,dsink"), fused + dsink + " by table line 1");
  EXPECT_EQ(taken(" det"), kApart + " by table line 2");
  EXPECT_EQ(taken(" grads=dv"), kApart + " by table line 2");
  EXPECT_EQ(taken(" grads=dq"), dq + " by table line 2");
  EXPECT_EQ(taken(" sink grads=dsink"), dq + dsink + " by table line 2");
  EXPECT_EQ(taken("", "backward_dkv.d64.bf16.plain.k64w4"),
            dq + " + backward_dkv.d64.bf16.plain.k64w4 by table line 2");
  EXPECT_EQ(taken("", "backward_dq_round.d64.bf16.plain.k64w4"), fused + " by table line 1");
  EXPECT_EQ(taken(" det", "backward_fused.d64.bf16.plain.k64w4"),
            "backward_fused.d64.bf16.plain.k64w4: deterministic is asked for, and it adds to dq in any order");
  EXPECT_EQ(taken(" grads=dq", "backward_dkv.d64.bf16.plain.k64w4"),
            "backward_dkv.d64.bf16.plain.k64w4: it computes backward_dkv, which the problem does not need");
  const std::string none = taken(" bias=b1h1");
  EXPECT_EQ(none.find("none of the 9 variants of made_up.rapt takes it on hip:0 (gfx942); "), 0u) << none;
  EXPECT_NE(none.find("; 6: plain kernels lack bias, "), std::string::npos) << none;
  EXPECT_TRUE(
      none.ends_with("; 1: it computes backward_dbias, which the problem does not need; "
                     "1: it computes backward_dsink, which the problem does not need"))
      << none;
  EXPECT_THROW(taken("", "backward_dq.nonsense"), Error);
}

// What explain() prints of each kernel.
TEST(Choose, ReasonsOfKernels) {
  const Needs n = of("b1 hq2 hk1 sq8 sk9 d64 bf16 det", RAPT_BACKWARD);
  const std::string unneeded = ", which the problem does not need", tile = "the tile of 64 fits",
                    any_order = "deterministic is asked for, and it adds to dq in any order";
  EXPECT_EQ(
      MadeUpShelf(kOfBackward, kBackwards).choose(n).reasons,
      (std::vector<std::string>{"", "the tuning row takes " + kBackwards[2].name, "", tile, tile, any_order, any_order,
                                "it computes backward_dbias" + unneeded, "it computes backward_dsink" + unneeded}));
  const MadeUpShelf of_dq(kOfBackward, {kBackwards[0], kBackwards[4]});
  EXPECT_EQ(of_dq.choose(n).reasons, (std::vector<std::string>{"no kernel of backward_dkv can run with it",
                                                               "no kernel of backward_dq can run with it"}));
  EXPECT_EQ(of_dq.text(n, kBackwards[0].name), kBackwards[0].name + ": no kernel of backward_dkv can run with it");
}

// A kernel that takes all keys of a head in one tile needs no other, and nothing of the workspace.
TEST(Choose, KeysOfOneTile) {
  std::vector<Variant> kernels = kBackwards;
  kernels.push_back(variant("backward_short.d64.bf16.plain.k64w4", DType::bf16, 64, "plain", 64));
  const std::string name = kernels.back().name;
  const MadeUpShelf shelf("backward seqlen_k<65 groups>=0.04 use=alone.d64.k64w4 by=x\n" + kOfBackward, kernels);
  const auto needs = [](const std::string& sizes) { return of(sizes + " d64 bf16 det", RAPT_BACKWARD); };
  EXPECT_EQ(shelf.text(needs("b2 hq4 hk2 sq900 sk64")), name + " by table line 1");
  EXPECT_EQ(shelf.text(needs("b2 hq4 hk2 sq8 sk64")), name + " by table line 1");
  EXPECT_EQ(shelf.choose(needs("b2 hq4 hk2 sq900 sk64")).pass.workspace.bytes, 0u);
  EXPECT_EQ(shelf.choose(needs("b2 hq4 hk2 sq900 sk0")).pass.kernels.at(0).workgroups, 4u) << "dq is 0";
  EXPECT_EQ(shelf.text(needs("b1 hq6 hk3 sq900 sk64")), kApart + " by table line 3") << "too few workgroups";
  EXPECT_EQ(shelf.text(needs("b2 hq4 hk2 sq8 sk65")), kApart + " by table line 3");
  const auto refused = [&](const std::string& sizes) { return shelf.choose(of(sizes, RAPT_BACKWARD)).reasons.back(); };
  EXPECT_EQ(refused("b1 hq2 hk2 sq8 sk65 d64 bf16"), "all keys must fit its tile of 64, the problem has up to 65");
  EXPECT_EQ(refused("b1 hq2 hk2 sq8 sk9 d64 bf16 sink grads=dq,dsink"),
            "it has no gradient of a bias or sink, and leaves no statistics");
  EXPECT_NE(refused("b1 hq2 hk2 sq8 sk9 d64 bf16 alibi").find("plain kernels lack "), std::string::npos);
}

TEST(Choose, RowsOfEqualBits) {
  const MadeUpShelf shelf("backward deterministic=yes use=apart.smallest by=x\n" + kOfBackward, kBackwards);
  EXPECT_TRUE(shelf.text(of("b1 hq2 hk1 sq8 sk9 d64 bf16 det", RAPT_BACKWARD)).ends_with("line 1"));
  EXPECT_TRUE(shelf.text(of("b1 hq2 hk1 sq8 sk9 d64 bf16", RAPT_BACKWARD)).ends_with("line 2"));
}

TEST(Choose, RowsOfPackedSequences) {
  const std::string table = "forward packed=yes use=forward.k64w4 by=x\nforward packed=no use=forward.largest by=x\n";
  EXPECT_TRUE(chosen(table, of("b2 hq2 hk1 sq8 sk9 d64 bf16 varlen=8:9,3:4")).ends_with("line 1"));
  EXPECT_TRUE(chosen(table, of("b2 hq2 hk1 sq8 sk9 d64 bf16 device-lengths=11:13")).ends_with("line 1"));
  EXPECT_TRUE(chosen(table, of("b2 hq2 hk1 sq8 sk9 d64 bf16")).ends_with("line 2"));
}

// Each part begins where the one before it ends.
TEST(Choose, WorkspaceOfPasses) {
  const MadeUpShelf backward(kOfBackward, kBackwards), forward("forward use=split.largest by=x\n", kSplits);
  const auto of_backward = [&](const std::string& options) {
    return backward.choose(of("b2 hq2 hk1 sq8 sk9 d64 bf16" + options, RAPT_BACKWARD)).pass.workspace;
  };
  const WorkspaceLayout fused = of_backward(""), apart = of_backward(" det"), packed = of_backward(" varlen=8:9,5:9");
  EXPECT_EQ(fused.dq_sum, 0u);
  EXPECT_EQ(fused.statistics, (2 * 16 + 144) * 64 * sizeof(float));
  EXPECT_EQ(fused.bytes, fused.statistics + 32 * sizeof(rapt_abi_row_statistics));
  EXPECT_EQ(apart.statistics, 0u);
  EXPECT_EQ(apart.bytes, 32 * sizeof(rapt_abi_row_statistics));
  EXPECT_EQ(packed.dq_sum, 128u) << "two copies of cu_seqlens, of 64 bytes each";
  EXPECT_EQ(packed.statistics, 128 + (2 * 13 + 144) * 64 * sizeof(float));
  const Pass split = forward.choose(of("b1 hq4 hk1 sq1 sk2000 d64 fp16")).pass;
  EXPECT_EQ(split.splits, 8);
  EXPECT_EQ(split.workspace.partial_softmax, 4 * 8 * 64 * sizeof(float));
  EXPECT_EQ(split.workspace.bytes, split.workspace.partial_softmax + 4 * 8 * sizeof(rapt_abi_partial));
  EXPECT_EQ(forward.choose(of("b1 hq4 hk1 sq1 sk200 d64 fp16")).pass.workspace.bytes, 0u) << "one split";
}

TEST(Choose, ScalesThatAreNotPositiveInFloat32AreGeneral) {
  Problem problem;
  EXPECT_FALSE(needs_of(problem, RAPT_FORWARD).general());
  for (const auto& [scale, general] :
       {std::pair{0.1, false}, {1e-30, false}, {1e-40, true}, {1e-60, true}, {0.0, true}, {-0.1, true}}) {
    problem.softmax_scale = scale;
    EXPECT_EQ(needs_of(problem, RAPT_FORWARD).general(), general) << scale;
  }
  problem.softmax_scale = 1e39;
  EXPECT_EQ(unsupported(problem), "softmax_scale is 1e+39, GPU kernels take values that are finite in float32");
}

// The options' table says which need general kernels.
TEST(Choose, OptionsOfAProblem) {
  const auto problem = [](const std::string& options) {
    return Problem::parse("b1 hq2 hk1 sq8 sk9 d64 fp16" + options);
  };
  for (const char* plain : {"", " causal", " causal-tl", " window=1,2", " sink", " varlen=8:9", " device-lengths=8:9",
                            " det", " lse", " align=2", " stride=999"})
    EXPECT_FALSE(needs_of(problem(plain), RAPT_FORWARD).general()) << plain;
  for (const char* general : {" bias=b1h1", " mask=bNhN", " alibi", " softcap=3", " drop=0.5"})
    EXPECT_TRUE(needs_of(problem(general), RAPT_FORWARD).general()) << general;
  EXPECT_EQ(unsupported(problem(" cache")), "");
  EXPECT_EQ(unsupported(problem(" paged=32 leftpad")), "");
  EXPECT_EQ(unsupported(problem(" paged=3 leftpad")), "page is 3, GPU kernels take multiples of 16");
  EXPECT_EQ(unsupported(problem(" softcap=1e-40")),
            "softcap is 1e-40, GPU kernels take values that are normal in float32");
  EXPECT_EQ(unsupported(problem(" softcap=1e+39")),
            "softcap is 1e+39, GPU kernels take values that are normal in float32");
  EXPECT_EQ(unsupported(problem(" cache append=3")), "");
  EXPECT_EQ(unsupported(problem(" sink")), "");
  EXPECT_EQ(needs_of(problem(" causal"), RAPT_FORWARD).mask, MaskKind::causal);
  EXPECT_EQ(needs_of(problem(" causal-tl window=3,9"), RAPT_FORWARD).mask, MaskKind::window);
  EXPECT_EQ(needs_of(problem(" window=-1,0"), RAPT_FORWARD).mask, MaskKind::causal);
}

// Kernels that wait for the one in front start early, but for many tiles of 64 queries with one whole tile of keys.
TEST(Choose, StartsEarly) {
  Variant waiting = variant("forward_hopper.d64.bf16.plain.k64w8", DType::bf16, 64, "plain", 64), other = waiting;
  waiting.waits = true;
  const auto early = [](const Variant& v, int batch, const std::string& lengths) {
    const MadeUpShelf shelf(kLast, {v});
    return shelf.choose(of(cat("b", batch, " hq4 hk4 ", lengths, " d64 bf16"))).pass.kernels.at(0).overlaps;
  };
  EXPECT_FALSE(early(other, 1, "sq64 sk64"));
  EXPECT_TRUE(early(waiting, 1, "sq64 sk64"));
  EXPECT_TRUE(early(waiting, 124, "sq64 sk64"));
  EXPECT_FALSE(early(waiting, 125, "sq64 sk64"));
  EXPECT_TRUE(early(waiting, 125, "sq64 sk63"));
  EXPECT_TRUE(early(waiting, 125, "sq129 sk64"));
}

// Kernels that read tensors by maps say what they do not take; a launch has no more workgroups than there are units.
TEST(Choose, TensorMaps) {
  const MadeUpShelf shelf(kLast, {variant("forward_hopper.d128.bf16.plain.k128w12", DType::bf16, 128, "plain", 128)});
  const auto refused = [&](const std::string& text, auto change) {
    Problem p = Problem::parse(text);
    change(p);
    const Needs n = needs_of(p, RAPT_FORWARD);
    return refusal(shelf.kernels[0], n);
  };
  const auto as_is = [](Problem&) {};
  const std::string sizes = "b2 hq8 hk2 sq1000 sk900 d";
  EXPECT_EQ(refused(sizes + "72 bf16 causal window=70,0 sink lse", as_is), "");
  EXPECT_EQ(refused(sizes + "72 bf16 align=8", as_is),
            "by tensor maps: tensors and rows must be aligned to 16 bytes, the problem's are to 8");
  EXPECT_EQ(refused(sizes + "72 bf16 backwards", as_is), "by tensor maps: strides must not be negative");
  EXPECT_EQ(refused(sizes + "76 bf16", as_is), "by tensor maps: head dims must be multiples of 8");
  EXPECT_EQ(refused("b2 hq8 hk2 sq9 sk9 d72 bf16 varlen=9:9,3:4", as_is), "");
  EXPECT_EQ(refused(sizes + "72 bf16", [](Problem& p) { p.seqlen_k = 0; }), "by tensor maps: there are no keys");
  EXPECT_EQ(refused("b2 hq8 hk2 sq0 sk9 d72 bf16 varlen=0:9,0:4", as_is), "by tensor maps: there are no queries");
  EXPECT_NE(refused(sizes + "72 bf16 alibi", as_is).find("plain kernels lack"), std::string::npos);
  for (const char* cache : {"cache", "paged=64", "paged=192"})
    EXPECT_EQ(refused(sizes + "72 bf16 " + cache, as_is), "");
  EXPECT_EQ(refused(sizes + "72 bf16 paged=96", as_is),
            "pages must have a multiple of 64 rows, as its tiles of keys have, the problem's have 96");
  EXPECT_EQ(refused(sizes + "72 bf16 cache append=3", as_is), "it appends no keys to a KV cache, and rotates none");
  EXPECT_EQ(refused(sizes + "72 bf16 paged=64", [](Problem& p) { p.has_leftpad = true; }),
            "it takes no padding before keys in pages");
  const MadeUpShelf scores(kLast,
                           {variant("forward_hopper.d128.bf16.scores.k128w12", DType::bf16, 128, "scores", 128)});
  const auto lacks = [&](const std::string& options) {
    const Needs n = needs_of(Problem::parse(sizes + "72 bf16 " + options), RAPT_FORWARD);
    return refusal(scores.kernels[0], n);
  };
  EXPECT_EQ(lacks("causal window=70,0 bias=b1hN mask=bNh1q1 alibi softcap=8 sink drop=0.1"), "");
  for (const char* option : {"bias=b1hN bias-fp32", "alibi scale=0"})
    EXPECT_NE(lacks(option).find("kernels with features scores lack bias_fp32, or"), std::string::npos) << option;
  const Choice many = shelf.choose(needs_of(Problem::parse(sizes + "72 bf16"), RAPT_FORWARD));
  EXPECT_EQ(many.refusal, "");
  EXPECT_EQ(many.pass.kernels[0].tiles, 8);
  EXPECT_EQ(many.pass.kernels[0].workgroups, 100U);  // of 8 tiles of 16 heads
}

// Hopper's sums of dq serve any of dq, dk and dv, softcap in each type, and with options a sink's gradient.
TEST(Choose, SumsOfDqOnHopper) {
  const auto refused = [](const char* features, const std::string& options) {
    const Variant v = variant(cat("backward_hopper.d128.fp16.", features, ".k64w12"), DType::fp16, 128, features, 128);
    return refusal(v, needs_of(Problem::parse("b2 hq8 hk2 sq100 sk90 d128 fp16 " + options), RAPT_BACKWARD));
  };
  for (const char* features : {"plain", "scores"}) {
    for (const char* some : {"causal", "grads=dq", "grads=dk", "grads=dk,dv"}) EXPECT_EQ(refused(features, some), "");
    EXPECT_EQ(refused(features, "sink grads=dsink"), "it computes dq, dk and dv, and none of them is asked for");
  }
  EXPECT_EQ(refused("scores", "softcap=5 drop=0.1 sink grads=dq,dk,dv,dsink"), "");
  EXPECT_EQ(refused("plain", "sink grads=dq,dk,dv,dsink"),
            "by tensor maps: plain kernels of the backward pass leave no statistics for the gradient of a sink");
}

TEST(Choose, KernelsOfOtherVersionsAreRefused) {
  Variant other = kForwards[0];
  const auto why = [&] { return refusal(other, needed(64)); };
  other.operation = "something_else";
  other.known = nullptr;
  EXPECT_EQ(why(), cat("it computes something_else from ", other.argument_size,
                       " bytes of arguments, which this library does not know: it is of another version"));
  other.operation = "forward_wide";
  other.known = find_operation(other.operation);
  EXPECT_EQ(why(), "");
}

// What each stage's workgroups share, with 100 rows and 50 keys in tiles of 64.
TEST(Choose, WorkgroupsOfStages) {
  const Needs n = of("b3 hq8 hk2 sq100 sk50 d64 fp16 bias=b1hN sink grads=dq,dk,dv,dbias,dsink", RAPT_BACKWARD);
  Variant v = variant("", DType::fp16, 64, "general", 64);
  v.block_k = 32;
  const auto groups = [&](Stage stage) {
    v.known = find_operation(stage_name(stage));
    return grid_of(v, n).workgroups;
  };
  EXPECT_EQ(groups(Stage::backward_dq), 2 * 8 * 3);
  EXPECT_EQ(groups(Stage::backward_dkv), 1 * 2 * 3);
  EXPECT_EQ(groups(Stage::backward_fused), 1 * 2 * 3);
  EXPECT_EQ(groups(Stage::backward_dq_round), 2 * 8 * 3);
  EXPECT_EQ(groups(Stage::backward_dbias), 2 * 2 * 8);
  EXPECT_EQ(groups(Stage::backward_dsink), 8);
  const Needs no_keys = of("b3 hq8 hk2 sq100 sk0 d64 fp16 bias=b1hN grads=dbias", RAPT_BACKWARD);
  v.known = find_operation("backward_dbias");
  EXPECT_EQ(grid_of(v, no_keys).workgroups, 2 * 8) << "which write zeros";
  v.block_q = 16;
  EXPECT_EQ(groups(Stage::split), 25 * 2 * 3);  // 100 queries of 4 heads
  v.block_q = 1;
  EXPECT_EQ(groups(Stage::split_combine), 100 * 8 * 3);
  EXPECT_EQ(refusal(variant("split_combine.d32.fp32.plain.k32w4", DType::fp32, 32, "plain", 1),
                    of("b3 hq8 hk2 sq100 sk50 d64 fp16 bias=b1hN")),
            "");
  EXPECT_EQ(refusal(variant("backward_dq_round.d64.fp16.plain.k32w4", DType::fp16, 64, "plain", 1), n), "");
}

TEST(Choose, LongerThanPositionsCanBeAddedUpIn) {
  Problem problem;
  problem.seqlen_k = int64_t{1} << 29;
  EXPECT_EQ(unsupported(problem), "");
  ++problem.seqlen_k;
  EXPECT_EQ(unsupported(problem), "seqlen_k is 536870913, GPU kernels take up to 536870912");
}

TEST(Choose, RefusesGridsThatCannotBeLaunched) {
  Needs n = needed(64, 128 * 16);
  n.batch = 1 << 20;
  const std::string why = refusal(kForwards[0], n);
  EXPECT_EQ(why.find("it needs"), 0u) << why;
}

}  // namespace
}  // namespace rapt::gpu
