// The launch path over a fake driver: what it launches and where, capture, two devices, and each function's failure. A
// case is a separate process, because devices and kernels are cached until it ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "fake_driver.hpp"
#include "gpu/device.hpp"
#include "gpu/memory.hpp"
#include "gpu/modules.hpp"
#include "kernels/abi.h"
#include "rapt/rapt.hpp"
#include "tests/packer/made_up.hpp"

namespace rapt::gpu {
namespace {

constexpr rapt_device kFirst = {RAPT_ROCM, 0}, kSecond = {RAPT_ROCM, 1}, kCuda = {RAPT_CUDA, 0};

// q, k, v and out of two sequences of 70 rows and one head, all in one allocation of a device.
class Tensors {
 public:
  explicit Tensors(rapt_device device) : device_(device), memory_(device, 4 * kBytes) {}

  char* at(size_t part) const { return static_cast<char*>(memory_.data()) + part * kBytes; }
  rapt::api::Tensor operator[](size_t part) const { return said_on(device_, part); }
  rapt::api::Tensor said_on(rapt_device device, size_t part) const {
    return {at(part), rapt::kBf16, {2, 70, 1, 64}, {}, device};
  }
  rapt::api::Tensor packed(size_t part) const { return {at(part), rapt::kBf16, {140, 1, 64}, {}, device_}; }
  void forward(Stream stream = nullptr) const {
    rapt::api::forward({.q = (*this)[0], .k = (*this)[1], .v = (*this)[2]}, (*this)[3], {}, {.stream = stream});
  }
  // With lengths in host memory.
  void forward_packed() const { forward_packed(rapt::api::Tensor(kLengths, rapt::kInt32, {3})); }
  // With lengths in device memory that must be checked.
  void forward_checked() const {
    rapt::api::DeviceMemory lengths(device_, sizeof kLengths);
    lengths.copy_from_host(kLengths);
    forward_packed(rapt::api::Tensor(lengths.data(), rapt::kInt32, {3}, {}, device_));
  }

 private:
  static constexpr int32_t kLengths[] = {0, 100, 140};
  static constexpr size_t kBytes = size_t{2} * 70 * 64 * 2;

  void forward_packed(const rapt::api::Tensor& lengths) const {
    rapt::api::Attention a{.q = packed(0), .k = packed(1), .v = packed(2)};
    a.varlen = {.cu_seqlens_q = lengths,
                .cu_seqlens_k = lengths,
                .max_seqlen_q = 100,
                .max_seqlen_k = 100,
                .check_device_seqlens = true};
    rapt::api::forward(a, packed(3));
  }

  rapt_device device_;
  rapt::api::DeviceMemory memory_;
};

std::string error_of(const std::function<void()>& body, rapt_status status = RAPT_DEVICE_ERROR) {
  try {
    body();
  } catch (const rapt::api::Error& e) {
    EXPECT_EQ(e.status(), status) << e.what();
    return e.what();
  } catch (const std::exception& e) {  // of the library's inside
    return e.what();
  }
  return "";
}

class Fake : public ::testing::Test {
 protected:
  Fake() : folder_(std::filesystem::temp_directory_path() / ("rapt_fake_driver_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write_archive(archive::good_archive());
    setenv("RAPT_KERNEL_PATH", folder_.c_str(), 1);
    install_driver(hip);
    install_driver(cuda);
  }
  ~Fake() override { std::filesystem::remove_all(folder_); }

  void write_archive(const std::string& bytes) const {
    std::ofstream(folder_ / "gfx942.rapt", std::ios::binary) << bytes;
  }

  FakeDriver hip{RAPT_ROCM, 2}, cuda{RAPT_CUDA, 1};

 private:
  std::filesystem::path folder_;
};

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
                               ? "gfx942.rapt has no kernel of backward_dq yet, which the problem needs"
                               : "the tensors are on hip:0"),
              std::string::npos)
        << refused;
  }
  EXPECT_EQ(hip.calls, std::vector<std::string>{});
}

class FakeBackward : public Fake {
 protected:
  FakeBackward() {
    std::string rows;
    for (const char* row : {"backward_dq gfx942 dtype=bf16 head_dim=64 block_k=64",
                            "backward_dkv gfx942 dtype=bf16 head_dim=64 block_k=32",
                            "backward_dsink gfx942 dtype=fp32 head_dim=32 block_k=32"})
      rows +=
          std::string(row) + " features=plain waves=4 waves_per_eu=2 vgprs<=128 lds<=16384 occupancy>=4 p=nearest\n";
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
  const rapt::api::DeviceMemory elsewhere(kSecond, kStatistics);
  const std::string located = error_of(
      [&] { backward({.workspace = elsewhere.data(), .workspace_size = kStatistics}); }, RAPT_INVALID_ARGUMENT);
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

// One query of four heads over a cache of one head and 2000 keys, on 10 compute units.
class FakeDecode : public Fake {
 protected:
  FakeDecode() {
    std::string rows;
    for (const char* row : {"decode gfx942 dtype=bf16 head_dim=64", "decode_combine gfx942 dtype=fp32 head_dim=32"})
      rows += std::string(row) + " features=plain block_k=32 waves=4 waves_per_eu=2 vgprs<=128 lds<=16384 " +
              "occupancy>=4 p=nearest\n";
    write_archive(archive::good_archive(archive::read_manifest("manifest", rows)));
  }

  void decode(int64_t capacity, const rapt::api::Execution& execution = {}) const {
    char* const data = static_cast<char*>(memory_.data());
    const rapt::api::Tensor q(data, rapt::kBf16, {1, 1, 4, 64}, {}, kFirst);
    const rapt::api::Tensor k(data + kRow, rapt::kBf16, {1, capacity, 1, 64}, {}, kFirst);
    const rapt::api::Tensor out(data + kBytes - kRow, rapt::kBf16, {1, 1, 4, 64}, {}, kFirst);
    rapt::api::Attention a{.q = q, .k = k, .v = k};
    a.kv_cache = {.seqused_k = rapt::api::Tensor(data + kBytes - 2 * kRow, rapt::kInt32, {1}, {}, kFirst)};
    rapt::api::forward(a, out, {}, execution);
  }

  static constexpr size_t kPartial = size_t{4} * 8 * (64 * 4 + 8);  // 4 rows, 8 splits

 private:
  static constexpr size_t kRow = 512, kBytes = kRow * 3 + size_t{2000} * 64 * 2;
  rapt::api::DeviceMemory memory_{kFirst, kBytes};
};

TEST_F(FakeDecode, SplitsFollowFromCapacityAndDevice) {
  decode(2000);
  ASSERT_EQ(hip.launches.size(), 2U);
  EXPECT_EQ(hip.launches[0].symbol, "decode_d64_bf16_plain_k32w4");
  EXPECT_EQ(hip.launches[0].shape.grid, (Extent{8, 1, 1}));
  EXPECT_EQ(hip.launches[1].symbol, "decode_combine_d32_fp32_plain_k32w4");
  EXPECT_EQ(hip.launches[1].shape.grid, (Extent{4, 1, 1}));
  rapt_decode_args arguments;
  for (const FakeDriver::Launched& launched : hip.launches) {
    ASSERT_EQ(launched.arguments.size(), sizeof arguments);
    std::memcpy(&arguments, launched.arguments.data(), sizeof arguments);
    EXPECT_EQ(arguments.splits, 8);
    EXPECT_EQ(arguments.split_rows, 256);
    EXPECT_EQ(
        reinterpret_cast<const char*>(arguments.partial.out) - reinterpret_cast<const char*>(arguments.partial.softmax),
        4 * 8 * 8);
  }
  hip.launches.clear();
  decode(250);
  ASSERT_EQ(hip.launches.size(), 1U) << "one split needs no merging";
  std::memcpy(&arguments, hip.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.splits, 1);
  EXPECT_EQ(arguments.partial.out, nullptr);
}

// What kernels clamp lengths, pages and positions to must exist.
TEST_F(FakeDecode, SizesOfTheCacheAreChecked) {
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

TEST_F(FakeDecode, WorkspaceIsTheCallersOrTheStreams) {
  rapt::api::preload(kFirst);
  hip.calls.clear();
  decode(2000);
  EXPECT_EQ(hip.calls, (std::vector<std::string>{"allocate_async", "launch", "launch", "free_async"}));
  const rapt::api::DeviceMemory memory(kFirst, kPartial + 64);
  void* workspace = memory.data();
  size_t space = kPartial + 64;
  std::align(64, kPartial, workspace, space);
  hip.calls.clear();
  decode(2000, {.workspace = workspace, .workspace_size = kPartial});
  EXPECT_EQ(hip.calls, (std::vector<std::string>{"launch", "launch"}));
  EXPECT_EQ(
      error_of([&] { decode(2000, {.workspace = workspace, .workspace_size = kPartial - 1}); }, RAPT_INVALID_ARGUMENT),
      "execution.workspace_size is 8447, must be at least 8448");
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
  Modules &of_hip = Modules::of(kFirst), &of_cuda = Modules::of(kCuda);
  EXPECT_NE(&of_hip, &of_cuda);
  const Function on_hip = of_hip.function(0, nullptr), on_cuda = of_cuda.function(0, nullptr);
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

TEST_F(Fake, FailuresOfCheckedLengths) {
  const Tensors t(kSecond);
  for (const auto& [function, says] : {std::pair{"copy_async", "copying cu_seqlens from hip:1"},
                                       std::pair{"synchronize_stream", "waiting for cu_seqlens from hip:1"}}) {
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
