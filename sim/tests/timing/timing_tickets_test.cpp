// Kernels whose workgroups draw tickets: their forecasts are the same on any number of host threads.
#include "sim/tests/support/profiled_code.hpp"
#include "sim/tests/support/programs/kernels.hpp"
#include "sim/timing/code_flow.hpp"
#include "sim/timing/launch_time.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace rapt::sim::test {
namespace {

const timing::Chip& mi300x() { return *timing::find_chip(Arch::gfx942, "mi300x"); }

// Tiles of different lengths. A group of `drawn` takes the next one, a group of `dealt` every n-th.
constexpr const char* source = R"(
  __device__ void work(float* out, unsigned tile) {
    float sum = 0;
    for (unsigned n = 0; n < 50 + tile * 37 % 400; ++n) sum = sum * 1.5f + out[n];
    out[tile * 64 + __builtin_amdgcn_workitem_id_x()] = sum;
  }
  extern "C" __global__ void drawn(unsigned* next, float* out, unsigned tiles, unsigned) {
    for (;;) {
      unsigned tile = 0;
      if (__builtin_amdgcn_workitem_id_x() == 0)
        tile = __hip_atomic_fetch_add(next, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
      tile = __builtin_amdgcn_readfirstlane(tile);
      if (tile >= tiles) return;
      work(out, tile);
    }
  }
  extern "C" __global__ void dealt(unsigned*, float* out, unsigned tiles, unsigned groups) {
    for (unsigned tile = __builtin_amdgcn_workgroup_id_x(); tile < tiles; tile += groups) work(out, tile);
  }
)";

struct Timed {
  double microseconds = 0;
  std::uint64_t instructions = 0;
  bool several_threads = false;
};

// In a process of its own, because the number of threads is read once.
Timed on_threads(const char* threads, const Module& module, const char* kernel) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("RAPT_SIM_THREADS", threads, 1);
    constexpr unsigned groups = 304, tiles = 900;
    const Buffer<unsigned> next(std::vector<unsigned>{0});
    const Buffer<float> out(std::vector<float>(tiles * 64));
    const auto forecast =
        module.launch(kernel, {groups, 1, 1}, {64, 1, 1}, 0, next.data(), out.data(), tiles, groups).forecast;
    const Timed timed{forecast->microseconds, forecast->instructions,
                      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) > 1};
    ::_exit(::write(pipe[1], &timed, sizeof timed) == sizeof timed ? 0 : 1);
  }
  ::close(pipe[1]);
  Timed timed;
  EXPECT_EQ(::read(pipe[0], &timed, sizeof timed), static_cast<ssize_t>(sizeof timed));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return timed;
}

TEST(TimedTickets, TakeTheSameTimeOnAnyNumberOfThreads) {
  Module module(Arch::gfx942, source);
  module.time({&mi300x(), false});
  const Timed one = on_threads("1", module, "drawn");
  EXPECT_GT(one.microseconds, 0);
  for (const bool sample_only : {false, true}) {
    module.time({&mi300x(), sample_only});
    for (const char* threads : {"1", "2", "4", "4"}) {
      const Timed timed = on_threads(threads, module, "drawn");
      EXPECT_EQ(timed.microseconds, one.microseconds) << threads << " threads, sample " << sample_only;
      EXPECT_EQ(timed.instructions, one.instructions) << threads << " threads, sample " << sample_only;
      EXPECT_FALSE(timed.several_threads);
    }
  }
}

TEST(TimedTickets, OtherKernelsRunOnSeveralThreads) {
  Module module(Arch::gfx942, source);
  module.time({&mi300x(), false});
  const Timed one = on_threads("1", module, "dealt"), four = on_threads("4", module, "dealt");
  EXPECT_EQ(four.microseconds, one.microseconds);
  EXPECT_FALSE(one.several_threads);
  EXPECT_TRUE(four.several_threads);
}

// Groups that run at once draw in turn, so that none does the work of others. Tiles of different lengths then end
// sooner than if each group had the same number of them.
TEST(TimedTickets, BalanceTheLengthsOfTiles) {
  Module module(Arch::gfx942, source);
  module.time({&mi300x(), false});
  const Timed drawn = on_threads("1", module, "drawn"), dealt = on_threads("1", module, "dealt");
  EXPECT_LT(drawn.microseconds, dealt.microseconds);
  EXPECT_GT(drawn.microseconds, 0.5 * dealt.microseconds);
}

TEST(Tickets, AreFoundInTheCode) {
  const auto found = [](Arch arch, const std::string& text) {
    const ProfiledCode code(arch, text);
    return timing::draws_tickets(timing::reached(code.program(), code.program().base()).value());
  };
  const std::string end = "\ns_endpgm\n";
  const std::string add = "global_atomic_add v1, v0, v2, s[2:3] sc0",
                    swap = "global_atomic_cmpswap v1, v0, v[2:3], s[2:3] sc0";
  EXPECT_TRUE(found(Arch::gfx942, add + end));
  EXPECT_TRUE(found(Arch::gfx942, swap + end));
  EXPECT_TRUE(found(Arch::gfx1100, "global_atomic_add_u32 v1, v0, v2, s[2:3] glc" + end));
  EXPECT_TRUE(found(Arch::gfx1201, "global_atomic_add_u32 v1, v0, v2, s[2:3] th:TH_ATOMIC_RETURN" + end));
  EXPECT_TRUE(found(Arch::gfx942, "buffer_atomic_add v1, off, s[4:7], 0 sc0" + end));
  // Nothing is returned, or only to the workgroup.
  EXPECT_FALSE(found(Arch::gfx942, "global_atomic_add v0, v2, s[2:3]" + end));
  EXPECT_FALSE(found(Arch::gfx942, "ds_add_rtn_u32 v1, v0, v2" + end));
  // Behind branches, or where none leads to.
  EXPECT_TRUE(found(Arch::gfx942, "s_cbranch_scc1 there" + end + "there: " + add + end));
  EXPECT_TRUE(found(Arch::gfx942, "back: s_cbranch_scc1 back\n" + add + end));
  EXPECT_FALSE(found(Arch::gfx942, "s_branch there\n" + add + "\nthere:" + end));
  EXPECT_FALSE(found(Arch::gfx942, end + add + end));
}

}  // namespace
}  // namespace rapt::sim::test
