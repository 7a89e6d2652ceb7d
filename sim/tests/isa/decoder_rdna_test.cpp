// The decoder of gfx1100, gfx1151 and gfx1201, in waves of 32 and 64 lanes, against LLVM 22's disassembler. An ordinary
// run has one of the wave sizes, of the next architecture the other.
#include "sim/isa/decode.hpp"

#include "sim/tests/support/instructions/decoder_agreement.hpp"
#include "sim/tests/support/programs/kernels.hpp"
#include "sim/tests/support/instructions/rdna_words.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

class DecoderRdna : public testing::TestWithParam<std::tuple<Arch, unsigned>> {
 protected:
  DecodeMode mode() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(DecoderRdna, AgreesOverRandomWords) {
  const std::vector<Sample> samples = random_rdna_words(mode().arch, 32, 11 + mode().lanes);
  const std::vector<Disassembled> llvm = disassemble(mode().arch, mode().lanes, samples);
  Agreement agreement;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    agreement.compare(mode(), samples[i], llvm[i], llvm_exception_rdna);
  }
  EXPECT_TRUE(agreement.differences.empty()) << agreement.differences.size() << " kinds\n" << agreement.examples;
  EXPECT_GT(agreement.valid, samples.size() / 8);
  EXPECT_GT(agreement.invalid, samples.size() / 8);

  // Every row of the tables was among them, and LLVM gives it the same name.
  std::string missing;
  for (const Opcode& row : opcodes(mode().arch)) {
    const bool dual = row.format == Format::vopd;
    if (row.format != Format::unsupported && !dual && !agreement.rows.contains(&row)) {
      missing += std::string(row.name) + ' ';
    }
  }
  EXPECT_EQ(missing, "");
  RecordProperty("samples", std::to_string(samples.size()));
  RecordProperty("same", std::to_string(agreement.same));
  RecordProperty("valid", std::to_string(agreement.valid));
  for (const auto& [reason, count] : agreement.exceptions) RecordProperty(std::string(reason), std::to_string(count));
}

TEST_P(DecoderRdna, RefusesWhatCrashesLlvm) {
  for (unsigned code = 0x4e; code <= 0x52; ++code) {
    const Sample barrier{0xbe8000ff | code << 8, 5};
    EXPECT_TRUE(crashes_llvm_rdna(barrier));
    EXPECT_FALSE(decode(mode(), barrier)) << hex_words(barrier);
  }
}

TEST_P(DecoderRdna, RefusesWordsThatEndTooEarly) {
  const std::uint32_t literal[] = {0x7e0002ff}, dpp[] = {0x7e0002fa}, vop3[] = {0xd6460000};
  for (const std::span<const std::uint32_t> words : {std::span(literal), std::span(dpp), std::span(vop3)}) {
    EXPECT_FALSE(decode(mode(), words)) << hex_words(words);
  }
  EXPECT_FALSE(decode(mode(), {}));
}

const char* const kernels = R"(
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float2_ __attribute__((ext_vector_type(2)));
struct Pair { double value; long index; };
__device__ __attribute__((noinline)) Pair larger(Pair a, Pair b) { return a.value > b.value ? a : b; }
extern "C" __global__ void reduce(const double* in, Pair* out, uint* counts, uint n) {
  __shared__ Pair shared[256];
  Pair best = {-1e300, -1};
  for (uint i = TID + 256 * BID; i < n; i += 4096) best = larger(best, {in[i], (long)i});
  shared[TID] = best;
  SYNC();
  for (uint step = 128; step > 0; step >>= 1) {
    if (TID < step) shared[TID] = larger(shared[TID], shared[TID + step]);
    SYNC();
  }
  if (TID == 0) { out[BID] = shared[0]; __atomic_fetch_add(counts, 1u, __ATOMIC_RELAXED); }
}
extern "C" __global__ void halves(const _Float16* a, const _Float16* b, _Float16* out, float2_* pairs, int select) {
  half4 x = ((const half4*)a)[TID], y = ((const half4*)b)[TID], z;
  switch (select) {
    case 0: z = x + y; break;
    case 1: z = x * y - x; break;
    case 2: z = __builtin_elementwise_max(x, -y); break;
    default: for (int i = 0; i < 4; ++i) z[i] = (_Float16)__builtin_sqrtf((float)x[i]) / y[3 - i];
  }
  ((half4*)out)[TID] = z;
  pairs[TID] = pairs[TID + 64] * pairs[TID + 128] + pairs[TID + 192] - pairs[TID + 256];
}
extern "C" __global__ void integers(const int* a, ulong* out, signed char* bytes, ushort* shorts, int divisor) {
  int local[32];
  for (int i = 0; i < 32; ++i) local[i] = a[i * 64 + TID] / divisor + (a[TID] % 7 << (i & 15));
  ulong sum = 0;
  for (int i = 0; i < 32; ++i) sum = sum * 31 + (ulong)(uint)local[a[i] & 31] * (ulong)(uint)local[i];
  out[TID] = sum >> (TID & 63);
  bytes[TID] = (signed char)(sum >> 8);
  shorts[TID] = (ushort)__builtin_popcountll(sum) + (ushort)(__builtin_clz((uint)sum | 1) - bytes[TID + 64]);
}
#if !defined(WAVE64)
extern "C" __global__ void matrix(const half16* a, const half16* b, float8* c) {
  float8 sum = c[TID];
#if defined(__GFX12__)
  const half8* a8 = (const half8*)a;
  const half8* b8 = (const half8*)b;
  for (int k = 0; k < 8; ++k) sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a8[32 * k + TID], b8[32 * k + TID], sum);
#else
  for (int k = 0; k < 8; ++k) sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[32 * k + TID], b[32 * k + TID], sum);
#endif
  c[TID] = sum;
}
#endif
)";

TEST_P(DecoderRdna, AgreesOverCompiledCode) {
  const std::string lanes = mode().lanes == 64 ? " -mwavefrontsize64 -DWAVE64" : "";
  // An ordinary run has each compiler at one level, another one for the next architecture.
  auto number = static_cast<std::size_t>(mode().arch);
  for (const std::string compiler : {"clang-22", "clang-19"}) {
    for (const char* flags : {"-O0", "-O1", "-O3"}) {
      if (!taken(number++, 3)) continue;
      const auto object = compile(mode().arch, kernels, flags + lanes, compiler);
      const auto code = disassemble_object(mode().arch, mode().lanes, object);
      ASSERT_GT(code.size(), 300U) << compiler << flags;
      for (const Disassembled& llvm : code) {
        const auto ours = decode(mode(), llvm.words);
        ASSERT_TRUE(ours) << hex_words(llvm.words) << llvm.raw;
        EXPECT_EQ(print(mode(), *ours), llvm.text) << hex_words(llvm.words);
        EXPECT_EQ(ours->size, 4 * llvm.words.size()) << llvm.raw;
      }
    }
  }
}

std::vector<std::tuple<Arch, unsigned>> modes() {
  std::vector<std::tuple<Arch, unsigned>> list;
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151, Arch::gfx1201})
    for (const unsigned lanes : {32U, 64U})
      if (taken(static_cast<std::size_t>(arch) + lanes / 64, 2)) list.emplace_back(arch, lanes);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Rdna, DecoderRdna, testing::ValuesIn(modes()), [](const auto& test) {
  return std::string(name(std::get<0>(test.param))) + "_wave" + std::to_string(std::get<1>(test.param));
});

}  // namespace
}  // namespace rapt::sim::test
