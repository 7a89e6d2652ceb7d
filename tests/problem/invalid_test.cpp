// Bad input to the C API: the status, a message that names the argument and its value, and no output touched.
#include <cmath>
#include <limits>

#include "support/bad_call.hpp"

namespace test {

namespace {

constexpr const char* kPlain = "b2 hq4 hk2 sq5 sk7 d8 fp32";
constexpr const char* kScores = "b2 hq4 hk2 sq5 sk7 d8 fp32 bias=bNh1 mask=b1hN alibi sink drop=0.1";
constexpr const char* kPacked = "b2 hq4 hk2 sq5 sk7 d8 fp32 varlen=5:7,3:2";
constexpr const char* kPaged = "b2 hq4 hk2 sq5 sk7 d8 fp32 paged=4";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const double kNanScale = kNan, kInfiniteScale = INFINITY;

using C = BadCall;

const BadRow kTensors[] = {
    {"NullAttention", kPlain, [](C& c) { c.forward.attention = nullptr; }, {"attention is null"}},
    {"NullQ", kPlain, [](C& c) { c.attention.c.q = nullptr; }, {"q is null"}},
    {"NullK", kPlain, [](C& c) { c.attention.c.k = nullptr; }, {"k is null"}},
    {"NullV", kPlain, [](C& c) { c.attention.c.v = nullptr; }, {"v is null"}},
    {"NullOut", kPlain, [](C& c) { c.forward.out = nullptr; }, {"out is null"}},
    {"NullData", kPlain, [](C& c) { c.change(c.attention.c.k).data = nullptr; }, {"k.data is null"}},
    {"NullShape", kPlain, [](C& c) { c.change(c.attention.c.q).shape = nullptr; }, {"q.shape is null"}},
    {"NoCallSize", kPlain, [](C& c) { c.forward.struct_size = 0; }, {"struct_size is 0"}},
    {"NoAttentionSize", kPlain, [](C& c) { c.attention.c.struct_size = 0; }, {"attention.struct_size is 0"}},
    {"ThreeDimensions", kPlain, [](C& c) { c.reshape(c.attention.c.q, {10, 4, 8}); }, {"q has 3 dimensions"}},
    {"NegativeSize", kPlain, [](C& c) { c.reshape(c.attention.c.q, {2, -5, 4, 8}); }, {"q has shape [2, -5, 4, 8]"}},
    {"Overflow", kPlain, [](C& c) { c.reshape(c.attention.c.k, {1ll << 40, 1ll << 40, 2, 8}); }, {"k", "2^62"}},
    {"StrideOverflow", kPlain, [](C& c) { c.restride(c.attention.c.k, {1ll << 62, 16, 8, 1}); }, {"k", "2^62"}},
    {"IntegerQ", kPlain, [](C& c) { c.change(c.attention.c.q).dtype = kInt32; }, {"q is int32"}},
    {"Lanes", kPlain, [](C& c) { c.change(c.attention.c.q).dtype.lanes = 4; }, {"q", "lanes"}},
    {"MixedTypes", kPlain, [](C& c) { c.change(c.attention.c.k).dtype = kBf16; }, {"k is bf16", "fp32"}},
    {"OutType", kPlain, [](C& c) { c.change(c.forward.out).dtype = kFp16; }, {"out is fp16", "fp32"}},
    {"LseType", kPlain, [](C& c) { c.change(c.forward.lse).dtype = kFp16; }, {"lse is fp16", "fp32"}},
    {"DeviceOfK", kPlain, [](C& c) { c.change(c.attention.c.k).device = {RAPT_CUDA, 0}; }, {"k is on cuda:0", "cpu"}},
    {"DeviceType", kPlain, [](C& c) { c.change(c.attention.c.q).device.type = 99; }, {"q is on device type 99"}},
    {"StrideOfQ", kPlain, [](C& c) { c.restride(c.attention.c.q, {320, 64, 16, 2}); }, {"q has stride 2"}},
    {"StrideOfK", kPlain, [](C& c) { c.restride(c.attention.c.k, {224, 32, 16, 2}); }, {"k has stride 2"}},
    {"StrideOfV", kPlain, [](C& c) { c.restride(c.attention.c.v, {224, 32, 16, -1}); }, {"v has stride -1"}},
    {"StrideOfOut", kPlain, [](C& c) { c.restride(c.forward.out, {160, 32, 1, 4}); }, {"out has stride 4"}},
    {"Heads",
     "b2 hq4 hk4 sq5 sk7 d8 fp32",
     [](C& c) {
       c.reshape(c.attention.c.k, {2, 7, 3, 8});
       c.reshape(c.attention.c.v, {2, 7, 3, 8});
     },
     {"q has 4 heads", "multiple of k's 3"}},
    {"HeadsOfV", kPlain, [](C& c) { c.reshape(c.attention.c.v, {2, 7, 1, 8}); }, {"v has 1 heads", "2"}},
    {"RowsOfV", kPlain, [](C& c) { c.reshape(c.attention.c.v, {2, 6, 2, 8}); }, {"v has 6 rows", "7"}},
    {"BatchOfK",
     kPlain,
     [](C& c) {
       c.reshape(c.attention.c.k, {1, 7, 2, 8});
       c.reshape(c.attention.c.v, {1, 7, 2, 8});
     },
     {"k has batch 1", "2"}},
    {"HeadDimOfK", kPlain, [](C& c) { c.reshape(c.attention.c.k, {2, 7, 2, 7}); }, {"k has head_dim 7", "8"}},
    {"NoHeadDim",
     kPlain,
     [](C& c) {
       c.reshape(c.attention.c.q, {2, 5, 4, 0});
       c.reshape(c.attention.c.k, {2, 7, 2, 0});
     },
     {"q has head_dim 0", "1 to 576"}},
    {"HeadDim577",
     "b1 hq1 hk1 sq64 sk64 d576 fp32",
     [](C& c) {
       c.reshape(c.attention.c.q, {1, 8, 1, 577});
       c.reshape(c.attention.c.k, {1, 8, 1, 577});
       c.reshape(c.attention.c.v, {1, 8, 1, 577});
     },
     {"q has head_dim 577", "v has head_dim 577", "1 to 576"}},
    {"ShapeOfOut", kPlain, [](C& c) { c.reshape(c.forward.out, {2, 4, 4, 8}); }, {"out has shape [2, 4, 4, 8]", "5"}},
    {"ShapeOfLse", kPlain, [](C& c) { c.reshape(c.forward.lse, {2, 4, 4}); }, {"lse has shape [2, 4, 4]"}},
    {"OutIsQ", kPlain, [](C& c) { c.forward.out = c.attention.c.q; }, {"out", "overlaps q"}},
    {"OutInK",
     kPlain,
     [](C& c) {
       c.change(c.forward.out).data = c.change(c.attention.c.k).data;
       c.reshape(c.attention.c.q, {1, 2, 4, 8});
       c.reshape(c.attention.c.k, {1, 7, 2, 8});
       c.reshape(c.attention.c.v, {1, 7, 2, 8});
       c.reshape(c.forward.out, {1, 2, 4, 8});
       c.forward.lse = nullptr;
     },
     {"out", "overlaps k"}},
    {"LseInOut", kPlain, [](C& c) { c.change(c.forward.lse).data = c.forward.out->data; }, {"lse", "overlaps"}},
    {"OutOnItself", kPlain, [](C& c) { c.restride(c.forward.out, {160, 0, 8, 1}); }, {"out has strides"}},
    {"ThreeThings",
     kPlain,
     [](C& c) {
       c.attention.c.causal = 7;
       c.attention.c.softcap = -1;
       c.attention.c.softmax_scale = &kNanScale;
     },
     {"causal is 7", "softcap is -1", "softmax_scale is nan"}},
};

const BadRow kOptions[] = {
    {"NanScale", kPlain, [](C& c) { c.attention.c.softmax_scale = &kNanScale; }, {"softmax_scale is nan"}},
    {"InfiniteScale", kPlain, [](C& c) { c.attention.c.softmax_scale = &kInfiniteScale; }, {"softmax_scale is inf"}},
    {"Causal", kPlain, [](C& c) { c.attention.c.causal = 3; }, {"causal is 3"}},
    {"NegativeSoftcap", kPlain, [](C& c) { c.attention.c.softcap = -1; }, {"softcap is -1"}},
    {"NanSoftcap", kPlain, [](C& c) { c.attention.c.softcap = kNan; }, {"softcap is nan"}},
    {"WindowAlignment",
     "b2 hq4 hk2 sq5 sk7 d8 fp32 causal window=3,3",
     [](C& c) { c.attention.window.top_left = 1; },
     {"window.top_left is 1"}},
    {"Window", "b2 hq4 hk2 sq5 sk7 d8 fp32 window=3,3", [](C& c) { c.attention.window.left = -2; }, {"window is -2,3"}},
    {"Dropout1", kScores, [](C& c) { c.attention.dropout.probability = 1; }, {"dropout.probability is 1", "[0, 1)"}},
    {"DropoutBelow0", kScores, [](C& c) { c.attention.dropout.probability = -0.1; }, {"dropout.probability is -0.1"}},
    {"DropoutNan", kScores, [](C& c) { c.attention.dropout.probability = kNan; }, {"dropout.probability is nan"}},
    {"DropoutSeed",
     kScores,
     [](C& c) { c.attention.dropout.seed_tensor = c.attention.c.q; },
     {"dropout.seed_tensor has"}},
    {"BiasType", kScores, [](C& c) { c.change(c.attention.c.bias).dtype = kInt32; }, {"bias is int32", "fp32"}},
    {"BiasShape",
     kScores,
     [](C& c) { c.reshape(c.attention.c.bias, {2, 1, 5, 6}); },
     {"bias has shape [2, 1, 5, 6]", "7"}},
    {"BiasHeads", kScores, [](C& c) { c.reshape(c.attention.c.bias, {1, 2, 5, 7}); }, {"bias has shape [1, 2, 5, 7]"}},
    {"MaskType", kScores, [](C& c) { c.change(c.attention.c.mask).dtype = kFp32; }, {"mask is fp32", "bool"}},
    {"MaskShape", kScores, [](C& c) { c.reshape(c.attention.c.mask, {1, 4, 4, 7}); }, {"mask has shape [1, 4, 4, 7]"}},
    {"SlopeType",
     kScores,
     [](C& c) { c.change(c.attention.c.alibi_slopes).dtype = kInt32; },
     {"alibi_slopes is int32"}},
    {"SlopeShape", kScores, [](C& c) { c.reshape(c.attention.c.alibi_slopes, {3}); }, {"alibi_slopes has shape [3]"}},
    {"SinkType", kScores, [](C& c) { c.change(c.attention.c.sink).dtype = kInt32; }, {"sink is int32"}},
    {"SinkShape", kScores, [](C& c) { c.reshape(c.attention.c.sink, {2}); }, {"sink has shape [2]", "4"}},
    {"Backend", kPlain, [](C& c) { c.execution.backend = "tpu"; }, {"execution.backend is \"tpu\"", "math"}},
    {"Concurrency",
     kPlain,
     [](C& c) {
       c.executor.concurrency = 0;
       c.execution.executor = &c.executor;
     },
     {"execution.executor has concurrency 0"}},
    {"NoParallelFor",
     kPlain,
     [](C& c) {
       c.executor.concurrency = 2;
       c.execution.executor = &c.executor;
     },
     {"parallel_for"}},
    {"WorkspaceAlignment",
     kPlain,
     [](C& c) {
       alignas(64) static char memory[1 << 20];
       c.execution.workspace = memory + 4;
       c.execution.workspace_size = sizeof memory - 4;
     },
     {"execution.workspace", "64"}},
};

const BadRow kLengths[] = {
    {"NoCuSeqlensQ", kPacked, [](C& c) { c.attention.varlen.cu_seqlens_q = nullptr; }, {"cu_seqlens_q is null"}},
    {"NoCuSeqlensK", kPacked, [](C& c) { c.attention.varlen.cu_seqlens_k = nullptr; }, {"cu_seqlens_k is null"}},
    {"Start", kPacked, [](C& c) { c.inputs.cu_seqlens_q.set(0, 1); }, {"cu_seqlens_q[0] is 1"}},
    {"Decreasing", kPacked, [](C& c) { c.inputs.cu_seqlens_k.set(1, 10); }, {"cu_seqlens_k[2] is 9", "10"}},
    {"Negative", kPacked, [](C& c) { c.inputs.cu_seqlens_q.set(1, -1); }, {"cu_seqlens_q[1] is -1"}},
    {"Beyond", kPacked, [](C& c) { c.inputs.cu_seqlens_q.set(2, 9); }, {"cu_seqlens_q ends at 9", "8"}},
    {"IndexType",
     kPacked,
     [](C& c) { c.change(c.attention.varlen.cu_seqlens_q).dtype = kFp32; },
     {"cu_seqlens_q is fp32", "int32"}},
    {"BatchOfK",
     kPacked,
     [](C& c) { c.reshape(c.attention.varlen.cu_seqlens_k, {2}); },
     {"cu_seqlens_k has shape [2]", "3"}},
    {"NoSequences",
     kPacked,
     [](C& c) { c.reshape(c.attention.varlen.cu_seqlens_q, {0}); },
     {"cu_seqlens_q has 0 elements"}},
    {"MaxSeqlen", kPacked, [](C& c) { c.attention.varlen.max_seqlen_q = 4; }, {"max_seqlen_q is 4", "5"}},
    {"BlockBeyond", kPaged, [](C& c) { c.inputs.block_table.set(1, 100); }, {"block_table[0][1] is 100"}},
    {"BlockNegative", kPaged, [](C& c) { c.inputs.block_table.set(3, -1); }, {"block_table[1][0] is -1"}},
    {"UsedBeyond", kPaged, [](C& c) { c.inputs.seqused_k.set(1, 1000); }, {"seqused_k[1] is 1000", "block_table"}},
    {"UsedNegative", kPaged, [](C& c) { c.inputs.seqused_k.set(0, -1); }, {"seqused_k[0] is -1"}},
    {"Leftpad", kPaged, [](C& c) { c.attention.cache.leftpad_k = c.extra(kInt32, {2}, 8); }, {"leftpad_k[0] is 8"}},
    {"IndexedPages",
     kPaged,
     [](C& c) { c.attention.cache.cache_batch_idx = c.extra(kInt32, {2}); },
     {"cache_batch_idx", "block_table"}},
    {"NewKAlone", kPaged, [](C& c) { c.attention.cache.new_k = c.extra(kFp32, {2, 1, 2, 8}); }, {"new_k", "new_v"}},
    {"NewKWithoutUsed",
     kPaged,
     [](C& c) {
       c.attention.cache.seqused_k = nullptr;
       c.attention.cache.new_k = c.extra(kFp32, {2, 1, 2, 8});
       c.attention.cache.new_v = c.extra(kFp32, {2, 1, 2, 8});
     },
     {"new_k", "seqused_k"}},
    {"NewKType",
     kPaged,
     [](C& c) {
       c.attention.cache.new_k = c.extra(kBf16, {2, 1, 2, 8});
       c.attention.cache.new_v = c.extra(kFp32, {2, 1, 2, 8});
     },
     {"new_k is bf16"}},
    {"NewKDoesNotFit",
     kPaged,
     [](C& c) {
       c.attention.cache.new_k = c.extra(kFp32, {2, 6, 2, 8});
       c.attention.cache.new_v = c.extra(kFp32, {2, 6, 2, 8});
     },
     {"seqused_k[0] is 7", "6 new"}},
    {"SharedPage",
     kPaged,
     [](C& c) {
       c.inputs.block_table.set(4, c.inputs.block_table.at(1));
       c.attention.cache.new_k = c.extra(kFp32, {2, 1, 2, 8});
       c.attention.cache.new_v = c.extra(kFp32, {2, 1, 2, 8});
     },
     {"block_table", "same place"}},
    {"CosAlone",
     kPaged,
     [](C& c) { c.attention.cache.rotary_cos = c.extra(kFp32, {64, 4}); },
     {"rotary_cos", "rotary_sin"}},
    {"RotaryTooWide",
     kPaged,
     [](C& c) {
       c.attention.cache.rotary_cos = c.extra(kFp32, {64, 5});
       c.attention.cache.rotary_sin = c.extra(kFp32, {64, 5});
     },
     {"rotary_cos"}},
    {"TooFewPositions",
     kPaged,
     [](C& c) {
       c.attention.cache.rotary_cos = c.extra(kFp32, {3, 4});
       c.attention.cache.rotary_sin = c.extra(kFp32, {3, 4});
     },
     {"rotary_cos"}},
};

const BadRow kGradients[] = {
    {"NoGradient", kPlain, [](C& c) { c.backward.dq = c.backward.dk = c.backward.dv = nullptr; }, {"dq, dk, dv"}},
    {"NullDout", kPlain, [](C& c) { c.backward.dout = nullptr; }, {"dout is null"}},
    {"NullLse", kPlain, [](C& c) { c.backward.lse = nullptr; }, {"lse is null"}},
    {"NullOut", kPlain, [](C& c) { c.backward.out = nullptr; }, {"out is null"}},
    {"ShapeOfDq", kPlain, [](C& c) { c.reshape(c.backward.dq, {2, 5, 4, 7}); }, {"dq has shape [2, 5, 4, 7]"}},
    {"TypeOfDk", kPlain, [](C& c) { c.change(c.backward.dk).dtype = kBf16; }, {"dk is bf16", "fp32"}},
    {"StrideOfDv", kPlain, [](C& c) { c.restride(c.backward.dv, {112, 1, 7, 14}); }, {"dv has stride 14"}},
    {"DqIsDk", "b2 hq2 hk2 sq5 sk5 d8 fp32", [](C& c) { c.backward.dk = c.backward.dq; }, {"overlaps"}},
    {"DqIsDout", kPlain, [](C& c) { c.backward.dq = c.backward.dout; }, {"dq", "overlaps"}},
    {"DbiasWithoutBias", kPlain, [](C& c) { c.backward.dbias = c.extra(kFp32, {1, 1, 5, 7}); }, {"dbias"}},
    {"DsinkWithoutSink", kPlain, [](C& c) { c.backward.dsink = c.extra(kFp32, {4}); }, {"dsink"}},
    {"ShapeOfDbias",
     kScores,
     [](C& c) { c.reshape(c.backward.dbias, {1, 1, 5, 7}); },
     {"dbias has shape [1, 1, 5, 7]"}},
    {"ShapeOfDsink", kScores, [](C& c) { c.reshape(c.backward.dsink, {2}); }, {"dsink has shape [2]"}},
    {"Cache", kPlain, [](C& c) { c.attention.c.kv_cache = &c.attention.cache; }, {"kv_cache"}, RAPT_UNSUPPORTED},
};

class Invalid : public testing::TestWithParam<BadRow> {};
class InvalidBackward : public testing::TestWithParam<BadRow> {};

TEST_P(Invalid, IsRefusedInWords) { expect_refused(GetParam(), RAPT_FORWARD); }
TEST_P(InvalidBackward, IsRefusedInWords) { expect_refused(GetParam(), RAPT_BACKWARD); }

constexpr auto kName = [](const testing::TestParamInfo<BadRow>& info) { return std::string(info.param.name); };

INSTANTIATE_TEST_SUITE_P(Tensors, Invalid, testing::ValuesIn(kTensors), kName);
INSTANTIATE_TEST_SUITE_P(Options, Invalid, testing::ValuesIn(kOptions), kName);
INSTANTIATE_TEST_SUITE_P(Lengths, Invalid, testing::ValuesIn(kLengths), kName);
INSTANTIATE_TEST_SUITE_P(Gradients, InvalidBackward, testing::ValuesIn(kGradients), kName);

TEST(Invalid, NullCalls) {
  EXPECT_EQ(rapt_forward(nullptr), RAPT_INVALID_ARGUMENT);
  EXPECT_STREQ(rapt_last_error(), "call is null");
  EXPECT_EQ(rapt_backward(nullptr), RAPT_INVALID_ARGUMENT);
  size_t bytes = 77;
  EXPECT_EQ(rapt_workspace_size(nullptr, nullptr, &bytes), RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, 77u);
  EXPECT_EQ(rapt_pool_create(-1, nullptr), RAPT_INVALID_ARGUMENT);
}

rapt_status forward_on(rapt_device device) {
  BadCall call(kPlain);
  for (const rapt_tensor* t :
       {call.attention.c.q, call.attention.c.k, call.attention.c.v, call.forward.out, call.forward.lse})
    call.change(t).device = device;
  return rapt_forward(&call.forward);
}

// Whatever HIP and CUDA this machine has, the host's memory is never used instead. tests/gpu/ tests each reason.
TEST(Invalid, TensorsOnADeviceThatIsNotThereAreRefused) {
  for (const auto& [device, text] :
       {std::pair{rapt_device{RAPT_ROCM, 999}, "hip:999"}, {rapt_device{RAPT_CUDA, 999}, "cuda:999"}}) {
    EXPECT_NE(forward_on(device), RAPT_OK);
    EXPECT_NE(std::string(rapt_last_error()).find(text), std::string::npos) << rapt_last_error();
  }
}

TEST(Invalid, TheCpuBackendRefusesFp64) {
  BadCall call("b1 hq1 hk1 sq2 sk2 d4 fp64");
  call.execution.backend = "cpu";
  EXPECT_EQ(rapt_forward(&call.forward), RAPT_UNSUPPORTED);
  EXPECT_NE(std::string(rapt_last_error()).find("fp64"), std::string::npos) << rapt_last_error();
}

TEST(Invalid, AWorkspaceTooSmallIsRefused) {
  for (const std::string& backend : backends(Problem(kPlain))) {
    BadCall call(kPlain);
    call.execution.backend = backend.c_str();
    size_t bytes = 0;
    ASSERT_EQ(rapt_workspace_size(&call.forward, nullptr, &bytes), RAPT_OK);
    if (bytes == 0) continue;
    alignas(64) char workspace[64];
    call.execution.workspace = workspace;
    call.execution.workspace_size = bytes - 1;
    EXPECT_EQ(rapt_forward(&call.forward), RAPT_INVALID_ARGUMENT) << backend;
    EXPECT_NE(std::string(rapt_last_error()).find("workspace_size"), std::string::npos) << rapt_last_error();
  }
}

}  // namespace

}  // namespace test
