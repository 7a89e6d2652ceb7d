// The decoder of gfx906, gfx908, gfx90a, gfx942 and gfx950 against LLVM 22's disassembler.
#include "sim/isa/decode.hpp"

#include "sim/tests/support/instructions/gfx9_words.hpp"
#include "sim/tests/support/programs/kernels.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rapt::sim::test {
namespace {

std::string hex(std::span<const std::uint32_t> words) {
  std::string out;
  for (const std::uint32_t word : words) {
    char text[16];
    std::snprintf(text, sizeof text, "%08x ", word);
    out += text;
  }
  return out;
}

class DecoderGfx9 : public testing::TestWithParam<Arch> {
 protected:
  DecodeMode mode() const { return {GetParam(), 64}; }
  std::string text(const Instruction& instruction) const { return print(mode(), instruction); }
};

struct Agreement {
  std::map<std::string, unsigned> differences;  // by kind and mnemonic, with an example of each in `examples`
  std::string examples;
  std::set<const Opcode*> rows;  // rows that were decoded
  std::map<std::string_view, unsigned> exceptions;
  unsigned valid = 0, invalid = 0;

  void differ(const std::string& kind, std::string_view text, const std::string& example) {
    if (differences[kind + std::string(text.substr(0, text.find(' ')))]++ == 0) examples += kind + example + '\n';
  }
};

// Images, export, interpolation and GWS are known only by name.
bool agrees_by_name(const Instruction& instruction, const Disassembled& llvm) {
  return instruction.opcode->format == Format::unsupported &&
         (llvm.text.empty() || llvm.text.starts_with(instruction.opcode->name));
}

void compare(DecodeMode mode, const Sample& sample, const Disassembled& llvm, Agreement& agreement) {
  const std::optional<Instruction> ours = decode(mode, sample);
  const std::string text = ours ? print(mode, *ours) : "";
  const std::string example = hex(sample) + "\n  LLVM: " + llvm.raw + "\n  ours: " + text;
  if (ours && agrees_by_name(*ours, llvm)) return;
  const Exception exception = llvm_exception(mode.arch, sample, llvm);
  if (exception.expect != Expect::same) {
    ++agreement.exceptions[exception.reason];
    if (exception.expect == Expect::refused && ours) agreement.differ("not refused ", text, example);
    if (exception.expect == Expect::decoded && !ours) agreement.differ("not decoded ", llvm.raw, example);
    return;
  }
  (llvm.text.empty() ? agreement.invalid : agreement.valid)++;
  if (text != llvm.text) agreement.differ("text ", llvm.text.empty() ? text : llvm.text, example);
  if (!ours || text != llvm.text) return;
  if (ours->size != 4 * llvm.words.size()) agreement.differ("size ", text, example);
  agreement.rows.insert(ours->opcode);
}

TEST_P(DecoderGfx9, AgreesOverRandomWords) {
  const std::vector<Sample> samples = random_gfx9_words(8, 20260);
  const std::vector<Disassembled> llvm = disassemble(mode().arch, 64, samples);
  Agreement agreement;
  for (std::size_t i = 0; i < samples.size(); ++i) compare(mode(), samples[i], llvm[i], agreement);
  EXPECT_TRUE(agreement.differences.empty()) << agreement.examples;
  EXPECT_GT(agreement.valid, samples.size() / 8);
  EXPECT_GT(agreement.invalid, samples.size() / 8);

  // Every row of the tables was among them, and LLVM gives it the same name.
  std::string missing;
  for (const Opcode& row : opcodes(mode().arch)) {
    if (row.format != Format::unsupported && !agreement.rows.contains(&row)) missing += std::string(row.name) + ' ';
  }
  EXPECT_EQ(missing, "");
  for (const auto& [reason, count] : agreement.exceptions) RecordProperty(std::string(reason), std::to_string(count));
}

TEST_P(DecoderGfx9, RefusesWhatCrashesLlvm) {
  const Sample words[] = {
      {0x7e0002f9, 0x00060702},  // v_mov_b32_sdwa with a destination select of 7
      {0x7e0002f9, 0x00070602},  // ... a source select of 7
      {0xd1fd0000, 0x000000ff},  // v_lshl_add_u32 with a literal, which VOP3 does not have
      {0xd3d40000, 0x1bff2780},  // v_mfma with a literal
      {0xd03a00ff, 0x04020100},  // v_cmpx_lg_f16 into a literal
      {0xe0500000, 0xff020402},  // buffer_load_dword with a literal offset
      {0xd3ad0000, 0x04020000},  // v_mfma_f32_16x16x128_f8f6f4 of scalars
  };
  for (const Sample& sample : words) {
    EXPECT_TRUE(crashes_llvm(sample)) << hex(sample);
    EXPECT_FALSE(decode(mode(), sample)) << hex(sample);
  }
}

TEST_P(DecoderGfx9, RefusesWordsThatEndTooEarly) {
  const std::uint32_t literal[] = {0x7e0002ff}, vop3[] = {0xd1fd0000}, load[] = {0xdc500000};
  for (const std::span<const std::uint32_t> words : {std::span(literal), std::span(vop3), std::span(load)}) {
    EXPECT_FALSE(decode(mode(), words)) << hex(words);
  }
  EXPECT_FALSE(decode(mode(), {}));
}

const char* const kernels = R"(
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));
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
extern "C" __global__ void halves(const _Float16* a, const _Float16* b, _Float16* out, int select) {
  half4 x = ((const half4*)a)[TID], y = ((const half4*)b)[TID], z;
  switch (select) {
    case 0: z = x + y; break;
    case 1: z = x * y - x; break;
    case 2: z = __builtin_elementwise_max(x, -y); break;
    default: for (int i = 0; i < 4; ++i) z[i] = (_Float16)__builtin_sqrtf((float)x[i]) / y[3 - i];
  }
  ((half4*)out)[TID] = z;
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
#if !defined(__gfx906__)
extern "C" __global__ void matrix(const half4* a, const half4* b, float4_* c) {
  float4_ sum = c[TID];
  for (int k = 0; k < 8; ++k) sum = __builtin_amdgcn_mfma_f32_16x16x16f16(a[64 * k + TID], b[64 * k + TID], sum, 0, 0, 0);
  c[TID] = sum;
}
#endif
)";

TEST_P(DecoderGfx9, AgreesOverCompiledCode) {
  // An ordinary run has each compiler at one level, another one for the next architecture.
  auto number = static_cast<std::size_t>(mode().arch);
  for (const std::string compiler : {"clang-22", "clang-19"}) {
    if (compiler == "clang-19" && mode().arch == Arch::gfx950) continue;  // it does not support it
    for (const char* flags : {"-O0", "-O1", "-O3"}) {
      if (!taken(number++, 3)) continue;
      const auto code = disassemble_object(mode().arch, 64, compile(mode().arch, kernels, flags, compiler));
      ASSERT_GT(code.size(), 300U) << compiler << flags;
      for (const Disassembled& llvm : code) {
        const auto ours = decode(mode(), llvm.words);
        ASSERT_TRUE(ours) << hex(llvm.words) << llvm.raw;
        EXPECT_EQ(text(*ours), llvm.text) << hex(llvm.words);
        EXPECT_EQ(ours->size, 4 * llvm.words.size()) << llvm.raw;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cdna, DecoderGfx9,
                         testing::Values(Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace rapt::sim::test
