// The launch path over a fake driver: launches and their places, capture, two devices, and each function's failure. A
// case is a separate process, because devices and kernels are cached until it ends.
#include "fake_driver_case.hpp"
#include "kernels/abi.h"

namespace rapt::gpu {
namespace {

TEST_F(Fake, Launches) {
  const Tensors t(kFirst);
  int streams[1];
  t.forward(&streams[0]);
  ASSERT_EQ(hip.launches.size(), 1U);
  const FakeDriver::Launched& launched = hip.launches[0];
  EXPECT_EQ(launched.symbol, "forward_d64_bf16_plain_k64w4");
  EXPECT_EQ(launched.shape.grid, (Extent{2, 1, 1}));  // a tile of 128 queries for each of two sequences
  EXPECT_EQ(launched.shape.cluster, Extent{});
  EXPECT_EQ(launched.shape.block, (Extent{256, 1, 1}));
  EXPECT_EQ(launched.shape.dynamic_shared_memory, 0U);
  EXPECT_EQ(launched.stream, &streams[0]);
  rapt_forward_args arguments;
  ASSERT_EQ(launched.arguments.size(), sizeof arguments);
  std::memcpy(&arguments, launched.arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.size, sizeof arguments);
  EXPECT_EQ(arguments.q.data, static_cast<const void*>(t.at(0)));
  EXPECT_EQ(arguments.problem.seqlen_k, 70);
  t.forward();
  EXPECT_EQ(std::ranges::count(hip.calls, "load_module"), 1) << "a kernel was loaded again";
  EXPECT_EQ(hip.launches.size(), 2U);
}

TEST_F(Fake, RecordsClusters) {
  Module module = nullptr;
  Function function = nullptr;
  ASSERT_EQ(cuda.load_module(&module, ""), Status::success);
  ASSERT_EQ(cuda.find_function(&function, module, "of_clusters"), Status::success);
  const int32_t argument = 5;
  const LaunchShape shape{.grid = {8, 2}, .cluster = {2}, .block = {128}, .dynamic_shared_memory = 100000};
  ASSERT_EQ(driver_of(RAPT_CUDA).launch(function, shape, &argument, sizeof argument, nullptr), Status::success);
  EXPECT_EQ(cuda.launches[0].shape.cluster, (Extent{2, 1, 1}));
  EXPECT_EQ(cuda.launches[0].shape.grid, (Extent{8, 2, 1}));
  EXPECT_EQ(cuda.launches[0].shape.dynamic_shared_memory, 100000U);
}

// A kernel of kernels/hopper: its tensors are described to the copy engine, and it has a workgroup for each unit.
TEST_F(Fake, LaunchesWithTensorMaps) {
  using namespace archive::instruction;
  write_archive(archive::hopper_archive({product, exponential, wait_for_all}), "sm_90.rapt");
  cuda.arch = "sm_90";
  constexpr int64_t kRows = 300, kHeads = 6, kKeyHeads = 2, kDim = 128, kBatch = 2;
  rapt::api::DeviceMemory memory(kCuda, 4 * kBatch * kRows * kHeads * kDim * 2);
  const auto tensor = [&](size_t part, int64_t heads) {
    char* const data = static_cast<char*>(memory.data()) + part * kBatch * kRows * kHeads * kDim * 2;
    return rapt::api::Tensor(data, rapt::kBf16, {kBatch, kRows, heads, kDim}, {}, kCuda);
  };
  rapt::api::Attention a{.q = tensor(0, kHeads), .k = tensor(1, kKeyHeads), .v = tensor(2, kKeyHeads)};
  a.causal = RAPT_CAUSAL;
  rapt::api::forward(a, tensor(3, kHeads));
  EXPECT_EQ(cuda.located, 1) << "the tensors share an allocation";
  ASSERT_EQ(cuda.launches.size(), 1U);
  const FakeDriver::Launched& launched = cuda.launches[0];
  EXPECT_EQ(launched.symbol, "forward_hopper_d128_bf16_plain_k128w12");
  EXPECT_EQ(launched.shape.grid, (Extent{10, 1, 1}));  // for 3 tiles of 12 heads
  EXPECT_EQ(launched.shape.block, (Extent{384, 1, 1}));
  EXPECT_TRUE(launched.shape.overlaps) << "it waits for what was launched before";
  rapt_hopper_forward_scores_args all;
  ASSERT_EQ(launched.arguments.size(), sizeof all);
  std::memcpy(&all, launched.arguments.data(), sizeof all);
  const rapt_hopper_forward_args& arguments = all.all;
  EXPECT_EQ(arguments.turns.tiles, 3);
  EXPECT_EQ(arguments.turns.heads, 12);
  EXPECT_EQ(arguments.turns.dealing, RAPT_DEAL_SNAKE);
  EXPECT_EQ(arguments.turns.heads_at_once, 12);  // 2 MiB of keys hold more
  TensorLayout k;
  std::memcpy(static_cast<void*>(&k), &arguments.k, sizeof k);
  EXPECT_EQ(k.data, static_cast<char*>(memory.data()) + kBatch * kRows * kHeads * kDim * 2);
  EXPECT_TRUE(k.bf16);
  EXPECT_EQ(k.batch, kBatch);
  EXPECT_EQ(k.heads, kKeyHeads);
  EXPECT_EQ(k.rows, kRows);
  EXPECT_EQ(k.columns, kDim);
  EXPECT_EQ(k.row_stride, kKeyHeads * kDim * 2);
  EXPECT_EQ(k.head_stride, kDim * 2);
  EXPECT_EQ(k.batch_stride, kRows * kKeyHeads * kDim * 2);
  EXPECT_EQ(k.box_rows, 128);
}

// What the kernel's box of K holds, and its arguments, for 4 heads of 2 sequences.
struct Cut {
  rapt_hopper_slices slices;
  int32_t narrow, tiles, rows, keys;
};
class FakeCuts : public Fake {
 protected:
  Cut cut_by(const std::string& tile, int64_t queries, int64_t keys, int64_t dim, rapt_causal causal) {
    using namespace archive::instruction;
    write_archive(archive::hopper_archive({product, exponential, wait_for_all}, "", "plain", tile), "sm_90.rapt");
    cuda.arch = "sm_90";
    constexpr int64_t kHeads = 4, kBatch = 2;
    rapt::api::DeviceMemory memory(kCuda, size_t{4} << 20);
    const auto tensor = [&](size_t part, int64_t rows) {
      char* const data = static_cast<char*>(memory.data()) + (part << 20);
      return rapt::api::Tensor(data, rapt::kBf16, {kBatch, rows, kHeads, dim}, {}, kCuda);
    };
    rapt::api::Attention a{.q = tensor(0, queries), .k = tensor(1, keys), .v = tensor(2, keys)};
    a.causal = causal;
    rapt::api::forward(a, tensor(3, queries));
    rapt_hopper_forward_scores_args all;
    EXPECT_EQ(cuda.launches.back().arguments.size(), sizeof all);
    std::memcpy(&all, cuda.launches.back().arguments.data(), sizeof all);
    TensorLayout q, k;
    std::memcpy(static_cast<void*>(&q), &all.all.q, sizeof q);
    std::memcpy(static_cast<void*>(&k), &all.all.k, sizeof k);
    return {all.slices, all.all.narrow, all.all.turns.tiles, q.box_rows, k.box_rows};
  }
};

// Few keys: the 8 heads are cut into 2 parts each, because the GPU has more units than heads.
TEST_F(FakeCuts, CutsFewKeysIntoSlices) {
  const std::string tile = "head_dim=64 block_k=128 waves=16 waves_per_eu=4";
  const Cut full = cut_by(tile, 310, 130, 64, RAPT_NOT_CAUSAL);
  EXPECT_EQ(full.slices.count, 3);  // of 5
  EXPECT_EQ(full.slices.tiles, 2);
  EXPECT_EQ(full.slices.keys, 128);
  EXPECT_EQ(full.tiles, 2);
  EXPECT_EQ(full.rows, 64);
  EXPECT_EQ(full.keys, 128);
}

TEST_F(FakeCuts, CutsCausalSlicesOfSmallTiles) {
  const std::string tile = "head_dim=64 block_k=128 waves=16 waves_per_eu=4";
  const Cut causal = cut_by(tile, 100, 250, 64, RAPT_CAUSAL_TOP_LEFT);
  EXPECT_EQ(causal.slices.count, 1);
  EXPECT_EQ(causal.slices.tiles, 2);  // no row attends the others
  EXPECT_EQ(causal.slices.keys, 64);
  EXPECT_EQ(causal.keys, 64);
}

TEST_F(FakeCuts, CutsNoSlicesOfManyKeys) {
  const Cut many = cut_by("head_dim=64 block_k=128 waves=16 waves_per_eu=4", 310, 257, 64, RAPT_CAUSAL);
  EXPECT_EQ(many.slices.count, 0);
  EXPECT_EQ(many.tiles, 2);
  EXPECT_EQ(many.rows, 192);
  EXPECT_EQ(many.keys, 128);
}

TEST_F(FakeCuts, TakesTheNarrowTile) {
  const std::string tile = "head_dim=256 block_k=64 waves=12 waves_per_eu=3";
  const Cut narrow = cut_by(tile, 100, 100, 192, RAPT_CAUSAL);
  EXPECT_EQ(narrow.narrow, 1);
  EXPECT_EQ(narrow.keys, RAPT_NARROW_KEYS);
}

TEST_F(FakeCuts, TakesTheWideTile) {
  const Cut wide = cut_by("head_dim=256 block_k=64 waves=12 waves_per_eu=3", 100, 100, 200, RAPT_CAUSAL);
  EXPECT_EQ(wide.narrow, 0);
  EXPECT_EQ(wide.keys, 64);
}

// Boxes of a bias and a mask. Each is described as far as it is not shared: the bias among sequences, the mask among
// heads and queries.
TEST_F(Fake, LaunchesWithTensorMapsOfScores) {
  using namespace archive::instruction;
  write_archive(archive::hopper_archive({product, exponential, wait_for_all}, "", "scores"), "sm_90.rapt");
  cuda.arch = "sm_90";
  constexpr int64_t kRows = 160, kHeads = 3, kDim = 128, kBatch = 2;
  rapt::api::DeviceMemory memory(kCuda, size_t{1} << 20);
  const rapt::api::Tensor q(memory.data(), rapt::kBf16, {kBatch, kRows, kHeads, kDim}, {}, kCuda);
  const rapt::api::Tensor bias(memory.data(), rapt::kBf16, {1, kHeads, kRows, kRows}, {}, kCuda);
  const rapt::api::Tensor mask(memory.data(), rapt::kBool, {kBatch, 1, 1, kRows}, {}, kCuda);
  const rapt::api::Tensor out(static_cast<char*>(memory.data()) + (size_t{1} << 19), rapt::kBf16,
                              {kBatch, kRows, kHeads, kDim}, {}, kCuda);
  rapt::api::forward({.q = q, .k = q, .v = q, .bias = bias, .mask = mask}, out);
  ASSERT_EQ(cuda.launches.size(), 1U);
  rapt_hopper_forward_scores_args all;
  ASSERT_EQ(cuda.launches[0].arguments.size(), sizeof all);
  std::memcpy(&all, cuda.launches[0].arguments.data(), sizeof all);
  const auto check = [](const rapt_hopper_score_tiles& t, int32_t boxes, const TensorLayout& expected) {
    TensorLayout layout;
    std::memcpy(static_cast<void*>(&layout), &t.map, sizeof layout);
    EXPECT_EQ(t.boxes, boxes);
    EXPECT_EQ(t.box_bytes, 128 * expected.box_rows);
    EXPECT_EQ(t.per_query, expected.rows > 1);
    EXPECT_EQ(t.per_head, expected.heads > 1);
    EXPECT_EQ(t.per_batch, expected.batch > 1);
    EXPECT_EQ(layout.batch, expected.batch);
    EXPECT_EQ(layout.heads, expected.heads);
    EXPECT_EQ(layout.rows, expected.rows);
    EXPECT_EQ(layout.columns, expected.columns);
    EXPECT_EQ(layout.batch_stride, expected.batch_stride);
    EXPECT_EQ(layout.head_stride, expected.head_stride);
    EXPECT_EQ(layout.row_stride, expected.row_stride);
    EXPECT_EQ(layout.box_rows, expected.box_rows);
  };
  check(all.scores.bias, 2,
        {.batch = 1,
         .heads = kHeads,
         .rows = kRows,
         .columns = kRows,
         .batch_stride = 16,
         .head_stride = kRows * kRows * 2,
         .row_stride = kRows * 2,
         .box_rows = 128});
  check(all.scores.mask, 1,
        {.batch = kBatch,
         .heads = 1,
         .rows = 1,
         .columns = kRows / 2,
         .batch_stride = kRows,
         .head_stride = 16,
         .row_stride = 16,
         .box_rows = 1});
  EXPECT_EQ(all.scores.unit, 1);  // the bias is in natural units
  const rapt::api::Tensor reversed(static_cast<char*>(memory.data()) + (kRows - 1) * kRows * 2, rapt::kBf16,
                                   {1, 1, kRows, kRows}, {0, 0, -kRows, 1}, kCuda);
  const std::string refused =
      error_of([&] { rapt::api::forward({.q = q, .k = q, .v = q, .bias = reversed}, out); }, RAPT_UNSUPPORTED);
  EXPECT_NE(refused.find("strides must not be negative"), std::string::npos) << refused;
}

TEST_F(Fake, CaptureNeitherLoadsNorAllocates) {
  const Tensors t(kFirst);
  int stream;
  hip.capturing.insert(&stream);
  hip.calls.clear();
  const std::string refused = error_of([&] { t.forward(&stream); }, RAPT_INVALID_ARGUMENT);
  EXPECT_NE(refused.find("captured: call rapt_preload before"), std::string::npos) << refused;
  EXPECT_EQ(hip.calls, std::vector<std::string>{});
  rapt::api::preload(kFirst);
  hip.calls.clear();
  t.forward(&stream);
  EXPECT_EQ(hip.calls, std::vector<std::string>{"launch"});
  EXPECT_TRUE(hip.launches.at(0).captured);
}

TEST_F(Fake, TwoDevicesOfOneDriver) {
  const Tensors first(kFirst), second(kSecond);
  first.forward();
  second.forward();
  ASSERT_EQ(hip.launches.size(), 2U);  // the fake refuses a function of another device's module
  EXPECT_EQ(hip.launches[0].device, 0);
  EXPECT_EQ(hip.launches[1].device, 1);
  EXPECT_EQ(std::ranges::count(hip.calls, "load_module"), 2);
  EXPECT_EQ(hip.current(), 0) << "the caller's device stays current";
  const std::string refused = error_of(
      [&] { rapt::api::forward({.q = first[0], .k = second[1], .v = first[2]}, first[3]); }, RAPT_INVALID_ARGUMENT);
  EXPECT_NE(refused.find("hip:1"), std::string::npos) << refused;
  const std::string located =
      error_of([&] { rapt::api::forward({.q = first[0], .k = second.said_on(kFirst, 1), .v = first[2]}, first[3]); },
               RAPT_INVALID_ARGUMENT);
  EXPECT_NE(located.find("in the memory of hip:1, must be in that of hip:0"), std::string::npos) << located;
}

TEST_F(Fake, DevicesOfTwoDriversAreTwo) {
  EXPECT_EQ(device(kFirst).text(), "hip:0");
  EXPECT_EQ(device(kCuda).text(), "cuda:0");
  EXPECT_EQ(device(kFirst).driver, &hip);
  EXPECT_EQ(device(kCuda).driver, &cuda);
  Kernels &of_hip = Kernels::of(kFirst), &of_cuda = Kernels::of(kCuda);
  EXPECT_NE(&of_hip, &of_cuda);
  const Function on_hip = of_hip.function(of_hip.shelf.kernels[0], nullptr),
                 on_cuda = of_cuda.function(of_cuda.shelf.kernels[0], nullptr);
  EXPECT_NE(on_hip, on_cuda);
  EXPECT_EQ(std::ranges::count(hip.calls, "load_module"), 1);
  EXPECT_EQ(std::ranges::count(cuda.calls, "load_module"), 1);
  void* const data = allocate(kCuda, 64);
  EXPECT_EQ(hip.allocated, 0);
  EXPECT_EQ(cuda.allocated, 1);
  release(kCuda, data);
  EXPECT_EQ(cuda.allocated, 0);
  const std::string missing = error_of([] { device({RAPT_CUDA, 1}); }, RAPT_INVALID_ARGUMENT);
  EXPECT_EQ(missing, "cuda:1 does not exist, Fake has 1 device: cuda:0");
}

TEST_F(Fake, LengthsGoToMemoryOfTheStream) {
  const Tensors t(kFirst);
  rapt::api::preload(kFirst);
  hip.calls.clear();
  t.forward_packed();
  EXPECT_EQ(hip.calls,
            (std::vector<std::string>{"allocate_async", "copy_async", "copy_async", "launch", "free_async"}));
  EXPECT_EQ(hip.allocated, 1);  // the tensors
  hip.in_stream_order = false;
  const std::string refused = error_of([&] { t.forward_packed(); }, RAPT_INVALID_ARGUMENT);
  EXPECT_NE(refused.find("bytes of execution.workspace"), std::string::npos) << refused;
}

// Rows behind the last sequence become 0: these rows, or all if the lengths are in device memory.
TEST_F(Fake, UnusedRowsAreCleared) {
  const Tensors t(kFirst);
  constexpr int32_t kEnds[] = {0, 100, 120};
  rapt::api::DeviceMemory on_device(kFirst, sizeof kEnds);
  on_device.copy_from_host(kEnds);
  for (const rapt::api::Tensor& ends : {rapt::api::Tensor(kEnds, rapt::kInt32, {3}),
                                        rapt::api::Tensor(on_device.data(), rapt::kInt32, {3}, {}, kFirst)}) {
    std::memset(t.at(2), 1, size_t{2} * (t.at(3) - t.at(2)));
    rapt::api::Attention a{.q = t.packed(0), .k = t.packed(1), .v = t.packed(2)};
    a.varlen = {.cu_seqlens_q = ends, .cu_seqlens_k = ends, .max_seqlen_q = 100, .max_seqlen_k = 100};
    rapt::api::forward(a, t.packed(3));
    const bool known = ends.c().data == kEnds;
    const std::string rows(t.at(3), t.at(3) + 140 * 128);
    EXPECT_EQ(rows.find_last_of('\1'), known ? 120 * 128 - 1 : std::string::npos);
    EXPECT_EQ(rows.find('\0'), known ? 120 * 128 : 0);
  }
}

TEST_F(Fake, EachFailureIsAnErrorThatLeavesNothingBehind) {
  const Tensors t(kSecond);
  struct Case {
    const char *function, *says;
  };
  for (const auto& [function, says] :
       {Case{"enter", "making hip:1 the current device"}, Case{"locate", "asking which memory q is in"},
        Case{"is_capturing", "asking whether the stream is being captured"},
        Case{"load_module", "loading forward.d64.bf16.plain.k64w4"},
        Case{"find_function", "looking for the kernel forward_d64_bf16_plain_k64w4"},
        Case{"allocate_async", "allocating 128 bytes on hip:1"}, Case{"copy_async", "copying cu_seqlens to hip:1"},
        Case{"launch", "launching forward.d64.bf16.plain.k64w4 on hip:1"}}) {
    hip.failing = function;
    const std::string error = error_of([&] { t.forward_packed(); });
    EXPECT_NE(error.find(says), std::string::npos) << function << ": " << error;
    EXPECT_NE(error.find("failed: fakeError77 (as the test asked for)"), std::string::npos)
        << function << ": " << error;
    EXPECT_EQ(hip.current(), 0) << function;
    EXPECT_EQ(hip.allocated, 1) << function;  // the tensors
    EXPECT_TRUE(hip.launches.empty()) << function;
  }
  hip.failing = "";
  t.forward_packed();
  EXPECT_EQ(hip.launches.size(), 1U) << "a failure was remembered";
}

// The kernel runs, but the call reports that memory is lost; if the launch fails too, it reports that instead.
TEST_F(Fake, FailureToFreeLengths) {
  const Tensors t(kSecond);
  hip.failing = "free_async";
  EXPECT_EQ(error_of([&] { t.forward_packed(); }),
            "freeing the workspace on hip:1 failed: fakeError77 (as the test asked for)");
  EXPECT_EQ(hip.current(), 0);
  EXPECT_EQ(hip.launches.size(), 1U);
  EXPECT_EQ(hip.allocated, 2) << "the tensors, and what the driver kept";
  hip.failing = "";
  t.forward_packed();
  EXPECT_EQ(hip.launches.size(), 2U);
  EXPECT_EQ(hip.allocated, 2);
  hip.also_failing = "free_async";
  hip.failing = "launch";
  const std::string both = error_of([&] { t.forward_packed(); });
  EXPECT_TRUE(both.starts_with("launching forward.d64.bf16.plain.k64w4 on hip:1")) << both;
}

TEST_F(Fake, LengthsThatNoReplayCouldRead) {
  const Tensors t(kFirst);
  rapt::api::preload(kFirst);
  hip.capturing.insert(nullptr);
  EXPECT_EQ(
      error_of([&] { t.forward_packed(); }, RAPT_INVALID_ARGUMENT),
      "varlen.cu_seqlens_q is in host memory and the stream is being captured, must be in device or pinned memory, "
      "which replays read");
  EXPECT_EQ(error_of([&] { t.forward_checked(); }, RAPT_INVALID_ARGUMENT),
            "check_device_seqlens is set and the stream is being captured: lengths cannot be waited for");
  EXPECT_TRUE(hip.launches.empty());
  EXPECT_EQ(hip.allocated, 1);  // the tensors
}

TEST_F(Fake, FailuresOfCheckedLengths) {
  const Tensors t(kSecond);
  for (const auto& [function, says] : {std::pair{"copy_async", "copying cu_seqlens from hip:1"},
                                       std::pair{"synchronize_stream", "waiting for lengths from hip:1"}}) {
    hip.failing = function;
    EXPECT_EQ(error_of([&] { t.forward_checked(); }),
              std::string(says) + " failed: fakeError77 (as the test asked for)");
    EXPECT_EQ(hip.current(), 0) << function;
    EXPECT_EQ(hip.allocated, 1) << function;  // the tensors
    EXPECT_TRUE(hip.launches.empty()) << function;
  }
  hip.failing = "";
  t.forward_checked();
  EXPECT_EQ(hip.launches.size(), 1U) << "a failure was remembered";
  EXPECT_EQ(hip.allocated, 1);
}

TEST_F(Fake, FailuresOfMemoryFunctions) {
  const rapt::api::DeviceMemory memory(kSecond, 100);
  char host[100];
  const auto failing = [&](const char* function, const auto& body) {
    hip.failing = function;
    const std::string error = error_of(body);
    hip.failing = "";
    EXPECT_EQ(hip.current(), 0) << function;
    return error;
  };
  const std::string end = " failed: fakeError77 (as the test asked for)";
  EXPECT_EQ(failing("allocate", [] { rapt::api::DeviceMemory(kSecond, 5); }), "allocating 5 bytes on hip:1" + end);
  EXPECT_EQ(failing("copy", [&] { memory.copy_to_host(host); }), "copying 100 bytes to or from hip:1" + end);
  EXPECT_EQ(failing("synchronize_device", [] { rapt::api::synchronize(kSecond); }), "waiting for hip:1" + end);
  EXPECT_EQ(failing("free", [&] { release(kSecond, memory.data()); }), "freeing memory of hip:1" + end);
  hip.failing = "allocate";
  hip.failure = FakeDriver::kOutOfMemory;
  EXPECT_EQ(error_of([] { rapt::api::DeviceMemory(kSecond, 5); }, RAPT_OUT_OF_MEMORY),
            "hip:1 (Fake 1, 1048576 bytes) has no memory for 5 bytes");
}

}  // namespace
}  // namespace rapt::gpu
