// Passes of several kernels over a fake driver: the stages of the backward pass and of split-KV, and their workspaces.
#include <algorithm>
#include <cstring>

#include "fake_driver_case.hpp"
#include "kernels/abi.h"

namespace rapt::gpu {
namespace {

// The whole call, through the engine: a pass without kernels is refused by name, and never runs on the host.
TEST_F(Fake, TheBackwardPassIsRefusedByName) {
  const Tensors t(kFirst), results(kFirst);
  rapt::api::DeviceMemory lse(kFirst, size_t{2} * 70 * 4);
  const rapt::api::Attention a{.q = t[0], .k = t[1], .v = t[2]};
  const rapt::api::Gradients gradients{.dq = results[0], .dk = results[1], .dv = results[2]};
  const rapt::api::Tensor rows(lse.data(), rapt::kFp32, {2, 1, 70}, {}, kFirst);
  hip.calls.clear();
  for (const char* backend : {"auto", "hip", "cpu", "math"}) {
    const std::string refused =
        error_of([&] { rapt::api::backward(a, t[3], rows, t[3], gradients, {.backend = backend, .allow_math = true}); },
                 RAPT_UNSUPPORTED);
    EXPECT_NE(refused.find(backend == std::string("auto") || backend == std::string("hip")
                               ? "it computes forward, which the problem does not need"
                               : "the tensors are on hip:0"),
              std::string::npos)
        << refused;
  }
  EXPECT_EQ(hip.calls, std::vector<std::string>{});
}

class FakeBackward : public Fake {
 protected:
  explicit FakeBackward(const std::vector<std::string>& more = {}) {
    std::vector<std::string> kernels = {"backward_dq gfx942 dtype=bf16 head_dim=64 block_k=64",
                                        "backward_dkv gfx942 dtype=bf16 head_dim=64 block_k=32",
                                        "backward_dsink gfx942 dtype=fp32 head_dim=32 block_k=32"};
    kernels.insert(kernels.end(), more.begin(), more.end());
    std::string rows;
    for (const std::string& row : kernels)
      rows += row + " features=plain waves=4 waves_per_eu=2 vgprs<=128 lds<=16384 occupancy>=4 p=nearest\n";
    write_archive(archive::good_archive(archive::read_manifest("manifest", rows)));
  }

  // Two sequences of 70 rows, two heads of q and one of k. Inputs share their memory.
  void backward(const rapt::api::Execution& execution, bool with_dk = true) const {
    const auto at = [&](size_t part) { return static_cast<char*>(memory_.data()) + part * kBytes; };
    const auto tensor = [&](size_t part, rapt_dtype dtype, std::vector<int64_t> shape) {
      return rapt::api::Tensor(at(part), dtype, std::move(shape), {}, kFirst);
    };
    const std::vector<int64_t> rows = {2, 70, 2, 64}, key_rows = {2, 70, 1, 64};
    const rapt::api::Tensor q = tensor(0, rapt::kBf16, rows), k = tensor(0, rapt::kBf16, key_rows);
    rapt::api::Attention a{.q = q, .k = k, .v = k};
    rapt::api::Gradients gradients{.dq = tensor(1, rapt::kBf16, rows)};
    if (with_dk) {
      gradients.dk = tensor(2, rapt::kBf16, key_rows);
      a.sink = tensor(0, rapt::kFp32, {2});
      gradients.dsink = tensor(3, rapt::kFp32, {2});
    }
    rapt::api::backward(a, q, tensor(0, rapt::kFp32, {2, 2, 70}), q, gradients, execution);
  }

  static constexpr size_t kStatistics = size_t{2} * 2 * 70 * 8;

 private:
  static constexpr size_t kBytes = size_t{2} * 70 * 2 * 64 * 2;
  rapt::api::DeviceMemory memory_{kFirst, 4 * kBytes};
};

TEST_F(FakeBackward, LaunchesTheStagesOfWhatIsAskedFor) {
  backward({});
  ASSERT_EQ(hip.launches.size(), 3U);
  EXPECT_EQ(hip.launches[0].symbol, "backward_dq_d64_bf16_plain_k64w4");
  EXPECT_EQ(hip.launches[0].shape.grid, (Extent{4, 1, 1}));  // 128 rows of each of two heads and sequences
  EXPECT_EQ(hip.launches[1].symbol, "backward_dkv_d64_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[1].shape.grid, (Extent{2, 1, 1}));
  EXPECT_EQ(hip.launches[2].symbol, "backward_dsink_d32_fp32_plain_k32w4");
  EXPECT_EQ(hip.launches[2].shape.grid, (Extent{2, 1, 1}));
  std::vector<rapt_backward_args> arguments(3);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(hip.launches[i].arguments.size(), sizeof(rapt_backward_args));
    std::memcpy(&arguments[i], hip.launches[i].arguments.data(), sizeof(rapt_backward_args));
    EXPECT_NE(arguments[i].statistics.data, nullptr);
    EXPECT_EQ(arguments[i].statistics.data, arguments[0].statistics.data);
    EXPECT_EQ(arguments[i].statistics.batch, 140);
    EXPECT_EQ(arguments[i].statistics.head, 70);
    EXPECT_EQ(arguments[i].tiles, 1);
  }
  EXPECT_NE(arguments[1].dk.data, nullptr);
  EXPECT_EQ(arguments[1].dv.data, nullptr) << "was not asked for";
  EXPECT_EQ(hip.allocated, 1) << "the tensors";
  hip.launches.clear();
  backward({}, false);
  ASSERT_EQ(hip.launches.size(), 1U);
  EXPECT_EQ(hip.launches[0].symbol, "backward_dq_d64_bf16_plain_k64w4");
}

// Where tensors without elements point to does not matter.
TEST_F(FakeBackward, WithoutBatchesNothingIsReadOrLaunched) {
  char host = 0;
  const auto tensor = [&](rapt_dtype dtype, std::vector<int64_t> shape) {
    return rapt::api::Tensor(&host, dtype, std::move(shape), {}, kFirst);
  };
  const rapt::api::Tensor rows = tensor(rapt::kBf16, {0, 70, 1, 64});
  const rapt::api::Attention a{.q = rows, .k = rows, .v = rows};
  EXPECT_EQ(error_of([&] {
              rapt::api::backward(a, rows, tensor(rapt::kFp32, {0, 1, 70}), rows, {.dq = rows, .dk = rows, .dv = rows});
            }),
            "");
  EXPECT_EQ(hip.launches.size(), 0U);
}

TEST_F(FakeBackward, WorkspaceIsTheCallersOrTheStreams) {
  rapt::api::preload(kFirst);
  hip.calls.clear();
  backward({});
  EXPECT_EQ(hip.calls, (std::vector<std::string>{"allocate_async", "launch", "launch", "launch", "free_async"}));
  const rapt::api::DeviceMemory memory(kFirst, kStatistics + 64);
  void* workspace = memory.data();
  size_t space = kStatistics + 64;
  std::align(64, kStatistics, workspace, space);
  hip.calls.clear();
  backward({.workspace = workspace, .workspace_size = kStatistics});
  EXPECT_EQ(hip.calls, (std::vector<std::string>{"launch", "launch", "launch"}));
  const std::string small =
      error_of([&] { backward({.workspace = workspace, .workspace_size = kStatistics - 1}); }, RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(small, "execution.workspace_size is 2239, must be at least 2240");
  const rapt::api::DeviceMemory elsewhere(kSecond, kStatistics + 64);
  void* of_second = elsewhere.data();
  space = kStatistics + 64;
  std::align(64, kStatistics, of_second, space);
  const std::string located =
      error_of([&] { backward({.workspace = of_second, .workspace_size = kStatistics}); }, RAPT_INVALID_ARGUMENT);
  EXPECT_NE(located.find("execution.workspace is at "), std::string::npos) << located;
  EXPECT_NE(located.find("in the memory of hip:1, must be in that of hip:0"), std::string::npos) << located;
  hip.in_stream_order = false;
  const std::string refused = error_of([&] { backward({}); }, RAPT_INVALID_ARGUMENT);
  EXPECT_NE(refused.find("give 2240 bytes of execution.workspace"), std::string::npos) << refused;
  hip.in_stream_order = true;
  hip.failing = "launch";
  EXPECT_NE(error_of([&] { backward({}); }).find("launching backward_dq.d64.bf16.plain.k64w4"), std::string::npos);
  EXPECT_EQ(hip.allocated, 3) << "the tensors and the workspaces";
}

// The kernel that adds to dq, with a tile of 128 dimensions.
class FakeFused : public FakeBackward {
 protected:
  FakeFused()
      : FakeBackward({"backward_fused gfx942 dtype=bf16 head_dim=128 block_k=32",
                      "backward_dq_round gfx942 dtype=bf16 head_dim=128 block_k=32"}) {}
};

TEST_F(FakeFused, RunsUnlessEqualBitsAreAskedFor) {
  backward({});
  ASSERT_EQ(hip.launches.size(), 4U);
  EXPECT_EQ(hip.launches[1].symbol, "backward_fused_d128_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[1].shape.grid, (Extent{2, 1, 1}));
  EXPECT_EQ(hip.launches[2].symbol, "backward_dq_round_d128_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[2].shape.grid, (Extent{4, 1, 1}));
  std::vector<rapt_backward_args> arguments(3);
  for (size_t i = 0; i < 3; ++i) {
    std::memcpy(&arguments[i], hip.launches[i].arguments.data(), sizeof(rapt_backward_args));
    EXPECT_EQ(arguments[i].dq_sum.data, arguments[0].dq_sum.data);
    EXPECT_EQ(arguments[i].dq_sum.dims, 128);
  }
  EXPECT_EQ(arguments[0].dq.data, nullptr) << "only lse and delta";
  EXPECT_NE(arguments[2].dq.data, nullptr);
  const size_t sums = size_t{2} * 2 * 70 * 128 * 4;
  EXPECT_GE(reinterpret_cast<char*>(arguments[0].statistics.data) - reinterpret_cast<char*>(arguments[0].dq_sum.data),
            static_cast<ptrdiff_t>(sums));
  hip.launches.clear();
  backward({.deterministic = true});
  ASSERT_EQ(hip.launches.size(), 3U);
  EXPECT_EQ(hip.launches[1].symbol, "backward_dkv_d64_bf16_plain_k32w4");
  hip.launches.clear();
  backward({}, false);
  EXPECT_EQ(hip.launches.size(), 1U) << "dk and dv are not wanted";
}

TEST_F(FakeFused, ByName) {
  backward({.backend = "hip.backward_dkv.d64.bf16.plain.k32w4"});
  ASSERT_EQ(hip.launches.size(), 3U);
  hip.launches.clear();
  backward({.backend = "hip.backward_dq_round.d128.bf16.plain.k32w4"});
  EXPECT_EQ(hip.launches.size(), 4U);
  const std::string refused =
      error_of([&] { backward({.backend = "hip.backward_fused.d128.bf16.plain.k32w4", .deterministic = true}); },
               RAPT_UNSUPPORTED);
  EXPECT_NE(refused.find("deterministic is asked for, and it adds to dq in any order"), std::string::npos) << refused;
}

// The kernel that computes all gradients alone, with a tile of 128 keys.
class FakeShort : public FakeBackward {
 protected:
  FakeShort() : FakeBackward({"backward_short gfx942 dtype=bf16 head_dim=64 block_k=32"}) {}
  static constexpr const char* kBackend = "hip.backward_short.d64.bf16.plain.k32w4";
};

TEST_F(FakeShort, LaunchesOneKernelWithoutWorkspace) {
  rapt::api::preload(kFirst);
  hip.calls.clear();
  backward({.backend = kBackend}, false);
  EXPECT_EQ(hip.calls, std::vector<std::string>{"launch"});
  ASSERT_EQ(hip.launches.size(), 1U);
  EXPECT_EQ(hip.launches[0].symbol, "backward_short_d64_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[0].shape.grid, (Extent{2, 1, 1})) << "a head of k of each of two sequences";
  rapt_backward_args arguments;
  ASSERT_EQ(hip.launches[0].arguments.size(), sizeof arguments);
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.tiles, 1);
  EXPECT_NE(arguments.dq.data, nullptr);
  EXPECT_EQ(arguments.dk.data, nullptr) << "was not asked for";
  EXPECT_EQ(arguments.problem.group, 2);
}

TEST_F(FakeShort, LeavesNoStatisticsForASink) {
  const std::string refused = error_of([&] { backward({.backend = kBackend}); }, RAPT_UNSUPPORTED);
  EXPECT_NE(refused.find("it has no gradient of a bias or sink"), std::string::npos) << refused;
  EXPECT_TRUE(hip.launches.empty());
}

// One query of four heads over a cache of one head and 2000 keys, on 10 compute units.
class FakeSplit : public Fake {
 protected:
  FakeSplit() {
    std::string rows;
    for (const char* row : {"split gfx942 dtype=bf16 head_dim=64", "split_combine gfx942 dtype=fp32 head_dim=32"})
      rows += std::string(row) + " features=plain block_k=32 waves=4 waves_per_eu=2 vgprs<=128 lds<=16384 " +
              "occupancy>=4 p=nearest\n";
    write_archive(archive::good_archive(archive::read_manifest("manifest", rows)));
  }

  void split(int64_t capacity, const rapt::api::Execution& execution = {}, int64_t queries = 1, int used_at = -4,
             int64_t seqlen_new = 0) const {
    char* const data = static_cast<char*>(memory_.data());
    const rapt::api::Tensor q(data, rapt::kBf16, {1, queries, 4, 64}, {}, kFirst);
    const rapt::api::Tensor k(data + kMostRows, rapt::kBf16, {1, capacity, 1, 64}, {}, kFirst);
    const rapt::api::Tensor v(data + kMostRows + kMostKeys, rapt::kBf16, {1, capacity, 1, 64}, {}, kFirst);
    const rapt::api::Tensor out(data + kBytes - kMostRows, rapt::kBf16, {1, queries, 4, 64}, {}, kFirst);
    rapt::api::Attention a{.q = q, .k = k, .v = v};
    rapt::api::KvCache cache;
    cache.seqused_k = rapt::api::Tensor(data + kBytes - kMostRows + used_at, rapt::kInt32, {1}, {}, kFirst);
    if (seqlen_new > 0) cache.new_k = cache.new_v = {data, rapt::kBf16, {1, seqlen_new, 1, 64}, {}, kFirst};
    a.kv_cache = cache;
    rapt::api::forward(a, out, {}, execution);
  }

  static constexpr size_t kPartial = size_t{4} * 8 * (64 * 4 + 8);  // 4 rows, 8 splits

 private:
  static constexpr size_t kMostRows = size_t{32} * 4 * 64 * 2, kMostKeys = size_t{6000} * 64 * 2;
  static constexpr size_t kBytes = 2 * kMostRows + 2 * kMostKeys + 4;
  rapt::api::DeviceMemory memory_{kFirst, kBytes};
};

// Kernels start before the one in front has ended, but for folded splits. A workgroup has several splits where there
// are more than fit 10 compute units at once.
TEST_F(Fake, SplitsOnHopper) {
  write_archive(archive::hopper_split_archive(), "sm_90.rapt");
  cuda.arch = "sm_90";
  const rapt::api::DeviceMemory memory(kCuda, size_t{30} * 1024 * 64 * 2), results(kCuda, size_t{30} * 2 * 64 * 2);
  const auto grid = [&](int64_t batch, int64_t keys, int32_t splits, bool lengths) {
    const rapt::api::Tensor q(memory.data(), rapt::kBf16, {batch, 1, 2, 64}, {}, kCuda);
    const rapt::api::Tensor k(memory.data(), rapt::kBf16, {batch, keys, 1, 64}, {}, kCuda);
    rapt::api::Attention a{.q = q, .k = k, .v = k};
    if (lengths) a.kv_cache = {.seqused_k = rapt::api::Tensor(memory.data(), rapt::kInt32, {batch}, {}, kCuda)};
    cuda.launches.clear();
    rapt::api::forward(a, {results.data(), rapt::kBf16, {batch, 1, 2, 64}, {}, kCuda});
    EXPECT_EQ(cuda.launches.size(), splits == 1 ? 1U : 2U);
    for (const FakeDriver::Launched& launched : cuda.launches) EXPECT_EQ(launched.shape.overlaps, splits > 1);
    rapt_split_args arguments;
    std::memcpy(&arguments, cuda.launches.at(0).arguments.data(), sizeof arguments);
    EXPECT_EQ(arguments.splits, splits);
    return cuda.launches[0].shape.grid;
  };
  EXPECT_EQ(grid(1, 2000, 8, false), (Extent{8}));
  EXPECT_EQ(grid(6, 1024, 4, false), (Extent{24})) << "they fit at once";
  EXPECT_EQ(grid(6, 2560, 10, false), (Extent{5, 6}));
  EXPECT_EQ(grid(6, 2560, 10, true), (Extent{60})) << "one sequence may be long";
  EXPECT_EQ(grid(7, 1024, 1, false), (Extent{7})) << "folded";
}

TEST_F(FakeSplit, SplitsFollowFromCapacityAndDevice) {
  split(2000);
  ASSERT_EQ(hip.launches.size(), 2U);
  EXPECT_FALSE(hip.launches[1].shape.overlaps) << "only sm_90's kernels wait";
  EXPECT_EQ(hip.launches[0].symbol, "split_d64_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[0].shape.grid, (Extent{8, 1, 1}));
  EXPECT_EQ(hip.launches[1].symbol, "split_combine_d32_fp32_plain_k32w4");
  EXPECT_EQ(hip.launches[1].shape.grid, (Extent{4, 1, 1}));
  rapt_split_args arguments;
  for (const FakeDriver::Launched& launched : hip.launches) {
    ASSERT_EQ(launched.arguments.size(), sizeof arguments);
    std::memcpy(&arguments, launched.arguments.data(), sizeof arguments);
    EXPECT_EQ(arguments.splits, 8);
    EXPECT_EQ(arguments.split_rows, 256);
    EXPECT_EQ(
        reinterpret_cast<const char*>(arguments.partial.softmax) - reinterpret_cast<const char*>(arguments.partial.out),
        4 * 8 * 64 * 4);
  }
  hip.launches.clear();
  split(250);
  ASSERT_EQ(hip.launches.size(), 1U) << "one split needs no merging";
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.splits, 1);
  EXPECT_EQ(arguments.partial.out, nullptr);
  hip.launches.clear();
  split(6000);  // two splits for each compute unit, of whole blocks of 32 keys
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.split_rows, 320);
  EXPECT_EQ(arguments.splits, 19);
  hip.launches.clear();
  split(1000, {}, 32);  // 64 keys for each of 8 tiles of rows; the compute units had room for three splits
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.split_rows, 512);
  EXPECT_EQ(arguments.splits, 2);
  hip.launches.clear();
  split(6000, {}, 24);  // of 6 tiles; 4 splits would give some of 10 units three workgroups, and most of them two
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.splits, 3);
}

// On NVIDIA, where the batch has enough workgroups for 10 compute units, each has all splits of its rows.
TEST_F(FakeSplit, WorkgroupsFoldSplitsOfALargeBatch) {
  const rapt::api::DeviceMemory memory(kCuda, size_t{12} * 512 * 64 * 2), results(kCuda, size_t{12} * 4 * 64 * 2);
  const auto launched = [&](int64_t batch, bool lengths) {
    const rapt::api::Tensor q(memory.data(), rapt::kBf16, {batch, 1, 4, 64}, {}, kCuda);
    const rapt::api::Tensor k(memory.data(), rapt::kBf16, {batch, 512, 1, 64}, {}, kCuda);
    rapt::api::Attention a{.q = q, .k = k, .v = k};
    if (lengths) a.kv_cache = {.seqused_k = rapt::api::Tensor(memory.data(), rapt::kInt32, {batch}, {}, kCuda)};
    cuda.launches.clear();
    rapt::api::forward(a, {results.data(), rapt::kBf16, {batch, 1, 4, 64}, {}, kCuda});
    rapt_split_args arguments;
    std::memcpy(&arguments, cuda.launches.at(0).arguments.data(), sizeof arguments);
    EXPECT_EQ(arguments.split_rows, 256) << "whatever the batch";
    EXPECT_EQ(cuda.launches.size(), arguments.splits == 1 ? 1U : 2U);
    return std::pair(cuda.launches[0].shape.grid.x, arguments.splits);
  };
  EXPECT_EQ(launched(8, false), std::pair(8U, 1));
  EXPECT_EQ(launched(10, false), std::pair(10U, 1));
  EXPECT_EQ(launched(8, true), std::pair(16U, 2)) << "one sequence may be long";
  EXPECT_EQ(launched(6, false), std::pair(12U, 2)) << "too few";
  EXPECT_EQ(launched(12, false), std::pair(24U, 2)) << "too few at the end";
}

// The kernel that attends appends too: without queries there is one workgroup for each split, and nothing to merge.
TEST_F(FakeSplit, NewKeysAreAppendedWithoutQueries) {
  split(2000, {}, 0);
  EXPECT_TRUE(hip.launches.empty()) << "nothing to do";
  split(2000, {}, 0, -4, 3);
  ASSERT_EQ(hip.launches.size(), 1U);
  EXPECT_EQ(hip.launches[0].symbol, "split_d64_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[0].shape.grid, (Extent{8, 1, 1}));
}

TEST_F(FakeSplit, NumbersAreAligned) {
  const std::string error = error_of([&] { split(2000, {}, 1, -6); }, RAPT_INVALID_ARGUMENT);
  EXPECT_TRUE(error.starts_with("kv_cache.seqused_k is at 0x")) << error;
  EXPECT_TRUE(error.ends_with(", must be at a multiple of 4")) << error;
  EXPECT_TRUE(hip.launches.empty());
}

TEST_F(FakeSplit, DivisorsDivide) {
  split(6000);
  rapt_split_args arguments;
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  for (const auto& [divisor, by] : {std::pair{arguments.by_row_tiles, 1},
                                    {arguments.by_splits, 19},
                                    {arguments.by_split_rows, 320},
                                    {arguments.by_heads_k, 1},
                                    {arguments.by_group, 4},
                                    {arguments.by_heads_q, 4},
                                    {arguments.by_seqlen_q, 1}})
    for (const uint32_t n : {0U, 1U, 18U, 19U, 319U, 320U, 321U, 0x7fffffffU, 0x7fffffffU / 19 * 19 - 1, 0x7ffffec0U})
      EXPECT_EQ((uint64_t{2 * n} * divisor.factor >> 32) >> divisor.shift, n / static_cast<uint32_t>(by))
          << n << '/' << by;
}

// What kernels clamp lengths, pages and positions to must exist.
TEST_F(FakeSplit, SizesOfTheCacheAreChecked) {
  const rapt::api::DeviceMemory memory(kFirst, 65536);
  const auto tensor = [&](rapt_dtype dtype, std::vector<int64_t> shape) {
    return rapt::api::Tensor(memory.data(), dtype, std::move(shape), {}, kFirst);
  };
  const rapt::api::Tensor q = tensor(rapt::kBf16, {1, 1, 4, 64}), used = tensor(rapt::kInt32, {1});
  const auto refused = [&](int64_t capacity, rapt::api::KvCache cache) {
    const rapt::api::Tensor k = tensor(rapt::kBf16, {cache.block_table ? 0 : 1, capacity, 1, 64});
    rapt::api::Attention a{.q = q, .k = k, .v = k};
    cache.seqused_k = used;
    a.kv_cache = cache;
    return error_of([&] { rapt::api::forward(a, tensor(rapt::kBf16, {1, 1, 4, 64})); }, RAPT_INVALID_ARGUMENT);
  };
  const rapt::api::Tensor fresh = tensor(rapt::kBf16, {1, 24, 1, 64}), none = tensor(rapt::kFp32, {0, 8});
  EXPECT_NE(refused(16, {.new_k = fresh, .new_v = fresh}).find("kv_cache.new_k has 24 rows"), std::string::npos);
  EXPECT_NE(refused(32, {.rotary_cos = none, .rotary_sin = none}).find("kv_cache.rotary_cos has 0 positions"),
            std::string::npos);
  EXPECT_NE(refused(16, {.block_table = tensor(rapt::kInt32, {1, 2})}).find("k has 0 pages"), std::string::npos);
  EXPECT_TRUE(hip.launches.empty());
}

TEST_F(FakeSplit, WorkspaceIsTheCallersOrTheStreams) {
  rapt::api::preload(kFirst);
  hip.calls.clear();
  split(2000);
  EXPECT_EQ(hip.calls, (std::vector<std::string>{"allocate_async", "launch", "launch", "free_async"}));
  const rapt::api::DeviceMemory memory(kFirst, kPartial + 64);
  void* workspace = memory.data();
  size_t space = kPartial + 64;
  std::align(64, kPartial, workspace, space);
  hip.calls.clear();
  split(2000, {.workspace = workspace, .workspace_size = kPartial});
  EXPECT_EQ(hip.calls, (std::vector<std::string>{"launch", "launch"}));
  EXPECT_EQ(
      error_of([&] { split(2000, {.workspace = workspace, .workspace_size = kPartial - 1}); }, RAPT_INVALID_ARGUMENT),
      "execution.workspace_size is 8447, must be at least 8448");
}

}  // namespace
}  // namespace rapt::gpu
