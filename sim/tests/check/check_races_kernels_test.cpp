// Compiled kernels under the sanitizer's checks of races, barriers, operands and alignment: nothing is found in correct
// ones at any optimisation level, and the classic mistakes are found.
#include "sim/machine/core/fault.hpp"
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

namespace rapt::sim::test {
namespace {

// Before the library reads it.
const bool checks_on = setenv("RAPT_SIM_CHECK", "races,barriers,operands,alignment", 1) == 0;

const char* const source = R"(
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP
extern "C" __global__ void reduce(const int* in, int* out, int* total) {
  __shared__ int part[256];
  part[TID] = in[BID * 256 + TID];
  SYNC();
  for (uint step = 128; step > 0; step /= 2) {
    if (TID < step) part[TID] += part[TID + step];
    SYNC();
  }
  if (TID == 0) { out[BID] = part[0]; __hip_atomic_fetch_add(total, part[0], __ATOMIC_RELAXED, AGENT); }
}
extern "C" __global__ void transpose(const ushort* in, ushort* out) {  // 64 x 64
  __shared__ ushort tile[64][66];
  for (uint i = TID; i < 4096; i += 256) tile[i % 64][i / 64] = in[i];
  SYNC();
  for (uint i = TID; i < 4096; i += 256) out[i] = tile[i / 64][i % 64];
}
extern "C" __global__ void histogram(const uchar* in, uint* out, uint n) {
  __shared__ uint bins[256];
  bins[TID] = 0;
  SYNC();
  for (uint i = BID * 256 + TID; i < n; i += 1024) __hip_atomic_fetch_add(&bins[in[i]], 1, __ATOMIC_RELAXED, GROUP);
  SYNC();
  if (bins[TID]) __hip_atomic_fetch_add(&out[TID], bins[TID], __ATOMIC_RELAXED, AGENT);
}
extern "C" __global__ void locked(uint* lock, uint* sum) {  // by one lane of a wave
  __shared__ uint mine, gate;
  if (TID == 0) mine = 0, gate = 0;
  SYNC();
  if (TID % 64 == 0) {
    bool done = false;
    while (!done) {
      uint free = 0;
      if (__hip_atomic_compare_exchange_strong(&gate, &free, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, GROUP)) {
        mine += TID;
        __hip_atomic_store(&gate, 0, __ATOMIC_RELEASE, GROUP);
        done = true;
      }
    }
  }
  SYNC();
  if (TID == 0) {
    bool done = false;
    while (!done) {
      uint free = 0;
      if (__hip_atomic_compare_exchange_strong(lock, &free, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, AGENT)) {
        *sum += mine;
        __hip_atomic_store(lock, 0, __ATOMIC_RELEASE, AGENT);
        done = true;
      }
    }
  }
}
extern "C" __global__ void look_back(const uint* in, uint* out, uint* flags, uint* sums, uint* ticket) {
  __shared__ uint part[2][256], before, number;
  if (TID == 0) number = __hip_atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED, AGENT);
  SYNC();
  const uint group = number;
  part[0][TID] = in[group * 256 + TID];
  SYNC();
  uint from = 0;
  for (uint step = 1; step < 256; step *= 2, from ^= 1) {
    part[from ^ 1][TID] = part[from][TID] + (TID >= step ? part[from][TID - step] : 0);
    SYNC();
  }
  if (TID == 0) {
    if (group > 0)
      while (__hip_atomic_load(&flags[group - 1], __ATOMIC_ACQUIRE, AGENT) == 0) {}
    before = group > 0 ? sums[group - 1] : 0;
    sums[group] = before + part[from][255];
    __hip_atomic_store(&flags[group], 1, __ATOMIC_RELEASE, AGENT);
  }
  SYNC();
  out[group * 256 + TID] = part[from][TID] + before;
}
extern "C" __global__ void last_sums(const uint* in, uint* part, uint* count, uint* out, uint groups) {
  __shared__ uint last, all[256];
  __shared__ uint sum;
  if (TID == 0) sum = 0;
  SYNC();
  __hip_atomic_fetch_add(&sum, in[BID * 256 + TID], __ATOMIC_RELAXED, GROUP);
  SYNC();
  if (TID == 0) {
    part[BID] = sum;
    last = __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, AGENT) == groups - 1;
  }
  SYNC();
  if (!last) return;
  all[TID] = TID < groups ? part[TID] : 0;
  SYNC();
  for (uint step = 128; step > 0; step /= 2) {
    if (TID < step) all[TID] += all[TID + step];
    SYNC();
  }
  if (TID == 0) *out = all[0];
}
extern "C" __global__ void gemm(const float* a, const float* b, float* c) {  // 64 x 64 x 64, 32 x 32 per group
  __shared__ float ta[32][17], tb[16][33];
  const uint row = TID / 16 * 2, col = TID % 16 * 2, top = BID / 2 * 32, left = BID % 2 * 32;
  float sum[2][2] = {};
  for (uint k = 0; k < 64; k += 16) {
    for (uint i = TID; i < 512; i += 256) {
      ta[i / 16][i % 16] = a[(top + i / 16) * 64 + k + i % 16];
      tb[i / 32][i % 32] = b[(k + i / 32) * 64 + left + i % 32];
    }
    SYNC();
    for (uint kk = 0; kk < 16; ++kk)
      for (uint i = 0; i < 2; ++i)
        for (uint j = 0; j < 2; ++j) sum[i][j] += ta[row + i][kk] * tb[kk][col + j];
    SYNC();
  }
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 2; ++j) c[(top + row + i) * 64 + left + col + j] = sum[i][j];
}
extern "C" __global__ void float_max(const float* in, float* out) {  // a loop of compare-and-swap
  const float v = in[BID * 256 + TID];
  uint* at = (uint*)out;
  uint seen = *at;
  while (__builtin_bit_cast(float, seen) < v &&
         !__hip_atomic_compare_exchange_strong(at, &seen, __builtin_bit_cast(uint, v), __ATOMIC_RELAXED, __ATOMIC_RELAXED, AGENT)) {}
}
extern "C" __global__ void surplus(uint* out, uint n) {  // whole waves leave at the start
  __shared__ uint part[256];
  if (TID >= n) return;
  part[TID] = TID;
  SYNC();
  out[TID] = part[n - 1 - TID];
}
)";

template <typename T>
std::vector<T> zeros(std::size_t n) {
  return std::vector<T>(n);
}

struct Level {
  Arch arch;
  const char* flags;
};

class Silent : public testing::TestWithParam<Level> {};

TEST_P(Silent, OnRightKernels) {
  ASSERT_TRUE(checks_on);
  const Module module(GetParam().arch, source, GetParam().flags);
  constexpr unsigned n = 2048, groups = n / 256;
  std::vector<int> values(n);
  for (unsigned i = 0; i < n; ++i) values[i] = static_cast<int>(i * 2654435761U >> 22);
  const Buffer<int> in(values), out(zeros<int>(n)), total(zeros<int>(1));
  const int sum = std::accumulate(values.begin(), values.end(), 0);
  const auto launch = [&](const char* name, unsigned count, const auto&... arguments) {
    module.launch(name, {count, 1, 1}, {256, 1, 1}, 0, arguments...);
  };

  launch("reduce", groups, in.data(), out.data(), total.data());
  EXPECT_EQ(total[0], sum);

  std::vector<unsigned short> shorts(4096);
  std::iota(shorts.begin(), shorts.end(), 0);
  const Buffer<unsigned short> matrix(shorts), turned(zeros<unsigned short>(4096));
  launch("transpose", 1, matrix.data(), turned.data());
  for (unsigned i = 0; i < 4096; ++i) ASSERT_EQ(turned[i], i % 64 * 64 + i / 64);

  const Buffer<unsigned> bins(zeros<unsigned>(256));
  launch("histogram", 4, matrix.data(), bins.data(), 8192U);
  EXPECT_EQ(std::accumulate(bins.data(), bins.data() + 256, 0U), 8192U);

  const Buffer<unsigned> lock(zeros<unsigned>(1)), locked(zeros<unsigned>(1));
  launch("locked", groups, lock.data(), locked.data());
  EXPECT_EQ(locked[0], groups * (64 + 128 + 192));

  const Buffer<unsigned> flags(zeros<unsigned>(groups)), sums(zeros<unsigned>(groups)), ticket(zeros<unsigned>(1)),
      scanned(zeros<unsigned>(n));
  launch("look_back", groups, in.data(), scanned.data(), flags.data(), sums.data(), ticket.data());
  EXPECT_EQ(scanned[n - 1], static_cast<unsigned>(sum));

  const Buffer<unsigned> part(zeros<unsigned>(groups)), count(zeros<unsigned>(1)), result(zeros<unsigned>(1));
  launch("last_sums", groups, in.data(), part.data(), count.data(), result.data(), groups);
  EXPECT_EQ(result[0], static_cast<unsigned>(sum));

  std::vector<float> identity(4096), numbers(4096);
  for (unsigned i = 0; i < 64; ++i) identity[i * 65] = 2;
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const Buffer<float> a(identity), b(numbers), c(zeros<float>(4096));
  launch("gemm", 4, a.data(), b.data(), c.data());
  for (unsigned i = 0; i < 4096; ++i) ASSERT_EQ(c[i], 2 * numbers[i]);

  const Buffer<float> highest(zeros<float>(1));
  launch("float_max", 8, b.data(), highest.data());
  EXPECT_EQ(highest[0], 2047.0F);

  launch("surplus", 1, scanned.data(), 128U);
  EXPECT_EQ(scanned[0], 127U);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Silent,
                         testing::Values(Level{Arch::gfx90a, "-O0"}, Level{Arch::gfx90a, "-O1"},
                                         Level{Arch::gfx942, "-O0"}, Level{Arch::gfx942, "-O2"},
                                         Level{Arch::gfx942, "-O3"}, Level{Arch::gfx908, "-O3"},
                                         Level{Arch::gfx950, "-O1"}, Level{Arch::gfx1100, "-O0"},
                                         Level{Arch::gfx1100, "-O3"}, Level{Arch::gfx1151, "-O2"},
                                         Level{Arch::gfx1201, "-O0"}, Level{Arch::gfx1201, "-O3"}),
                         [](const auto& p) { return std::string(name(p.param.arch)) + "_O" + (p.param.flags + 2); });

TEST(Mistakes, AreFound) {
  const char* const mistakes = R"(
    extern "C" __global__ void no_barrier(uint* out) {
      __shared__ uint part[256];
      part[TID] = TID;
      out[BID * 256 + TID] = part[255 - TID];
    }
    extern "C" __global__ void no_second_barrier(uint* out) {
      __shared__ uint part[256];
      for (uint i = 0; i < 3; ++i) {
        part[TID] = TID + i;
        SYNC();
        out[BID * 256 + TID] += part[255 - TID];
      }
    }
    extern "C" __global__ void neighbours(uint* data) { data[BID * 256 + TID] = data[BID * 256 + TID + 1] + 1; }
    extern "C" __global__ void counts(uint* data) { data[0] += TID + BID; }
    extern "C" __global__ void diverges(uint* out) {
      __shared__ uint part[256];
      part[TID] = TID;
      if (TID < 128) { __builtin_amdgcn_s_barrier(); out[TID] = part[TID]; }
      else { __builtin_amdgcn_s_barrier(); out[TID + 1] = part[TID] + 3; }
    })";
  for (const Arch arch : {Arch::gfx90a, Arch::gfx1201}) {
    const Module module(arch, mistakes);
    const Buffer<unsigned> out(zeros<unsigned>(2048));
    const auto finding = [&](const char* name) -> std::string {
      try {
        module.launch(name, {4, 1, 1}, {256, 1, 1}, 0, out.data());
      } catch (const Fault& fault) {
        return fault.what();
      }
      return "";
    };
    for (const char* name : {"no_barrier", "no_second_barrier"})
      EXPECT_EQ(finding(name).find("data race at LDS byte "), 0U) << name << ": " << finding(name);
    for (const char* name : {"neighbours", "counts"})
      EXPECT_EQ(finding(name).find("data race at address 0x"), 0U) << name << ": " << finding(name);
    EXPECT_EQ(finding("diverges").find("barrier divergence: wave "), 0U) << finding("diverges");
  }
}

}  // namespace
}  // namespace rapt::sim::test
