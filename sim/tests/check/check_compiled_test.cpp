// Compilers never use data before its wait, nor a result within its hazard window. So both checks find nothing along
// the text of many kernels, nor when some of them run.
#include "sim/tests/support/programs/attention.hpp"
#include "sim/tests/support/check_run.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace rapt::sim::test {
namespace {

const bool enabled = setenv("RAPT_SIM_CHECK", "waits,hazards", 1) == 0;

// Division, transcendentals, lane exchange, branches, calls, private memory, atomics, flat pointers, halves, bytes.
const char* const common = R"(
  typedef _Float16 h;
  typedef h h2 __attribute__((ext_vector_type(2)));
  typedef float f4 __attribute__((ext_vector_type(4)));
  extern "C" __global__ void divide(float* o, const float* a, double* d, const double* b, int* i, uint n) {
    for (uint k = TID; k < n; k += 64) {
      o[k] = a[k] / (a[k + 1] + 3) + __builtin_sqrtf(a[k]) + __builtin_amdgcn_exp2f(a[k]) * __builtin_amdgcn_rcpf(a[k]);
      d[k] = b[k] / b[k + 1] + __builtin_sqrt(b[k]);
      i[k] = i[k] / (i[k + 1] | 1) ^ i[k] % (i[k + 2] | 5);
    }
  }
  extern "C" __global__ void exchange(int* o, const int* a) {
    int v = a[TID];
    v += __builtin_amdgcn_update_dpp(0, v, 0x111, 15, 15, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 15, 15, false);
    const int s = __builtin_amdgcn_readlane(v, 5), f = __builtin_amdgcn_readfirstlane(v + 1);
    v = __builtin_amdgcn_ds_bpermute(v * 4, v) + s;
    v += __builtin_amdgcn_readlane(v, f & 31);
    o[TID] = v + a[f & 63];
  }
  extern "C" __global__ void branch(float* o, const int* a, const float* x) {
    int v = a[TID] & 1023;
    float y = x[TID];
    while (v > 0) {
      if (v & 1) y = y * 1.5f + 1;
      else if (v % 3 == 0) y = __builtin_amdgcn_rcpf(y) + x[v & 63];
      else y -= __builtin_amdgcn_sqrtf(y + v);
      v >>= 1;
      if (y > 1000) break;
    }
    switch (a[TID] & 7) {
      case 0: y += 1; break;
      case 1: y = x[3]; break;
      case 2: y *= a[7]; break;
      case 5: y = -y; break;
      default: y += o[TID];
    }
    o[TID] = y;
  }
  __device__ __attribute__((noinline)) float callee(float x, const float* p) {
    return p[(int)x & 63] * x + __builtin_amdgcn_logf(x);
  }
  extern "C" __global__ void call(float* o, const float* a, uint n) {
    float r = a[TID];
    for (uint k = 0; k < n; ++k) {
      r = callee(r, a);
      if (r > 3) r += callee(r + 1, a);
    }
    o[TID] = r;
  }
  extern "C" __global__ void indexed(int* o, const int* a, uint n) {
    int buffer[24];
    for (uint k = 0; k < 24; ++k) buffer[k] = a[(k * n + TID) & 63];
    int sum = 0;
    for (uint k = 0; k < 24; ++k) sum += buffer[(uint)(a[k] + TID) % 24];
    o[TID] = sum;
  }
  extern "C" __global__ void shared(float* o, const float* a, int* counter) {
    __shared__ float s[64];
    s[TID] = a[TID];
    SYNC();
    float r = 0;
    for (uint k = 0; k < 16; ++k) r += s[(TID * 7 + k) & 63] * s[k];
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
    const float* p = (TID & 1) ? s : a;
    r += p[TID ^ 3];
    SYNC();
    o[TID] = r + __atomic_exchange_n(counter + 1, 5, __ATOMIC_ACQ_REL);
  }
  extern "C" __global__ void narrow(h* o, const h* a, const h2* b, ushort* u, signed char* c) {
    const h x = a[TID], y = a[TID + 64];
    h2 r = b[TID] * b[TID + 1] + b[TID];
    r.x += r.y;
    const h2 t = h2{r.y, x} * b[TID];
    o[TID] = x * y + (x > y ? r.x : t.y) + __builtin_amdgcn_rcph(x);
    u[TID] = u[TID] * 3 + (u[TID + 64] >> 3);
    c[TID] = c[TID + 64] + c[TID] * 5;
  }
  extern "C" __global__ void wide(f4* o, const f4* a, uint n) {
    f4 x = a[TID];
    for (uint k = 0; k < n; ++k) {
      o[TID * n + k] = x;
      x = x * x + a[k];
    }
  })";

// Matrix products of every length, whose results are used as C, as A or B, by arithmetic and by stores.
const char* const cdna_products = R"(
  typedef h h4 __attribute__((ext_vector_type(4)));
  typedef float f16 __attribute__((ext_vector_type(16)));
  typedef float f32 __attribute__((ext_vector_type(32)));
  extern "C" __global__ void product(float* o, const h4* a, const float* x, uint n) {
    f4 c = {}, s = {};
    f16 d = {}, g = {};
    f32 e = {};
    for (uint i = 0; i < n; ++i) {
      c = __builtin_amdgcn_mfma_f32_16x16x16f16(a[i + TID], a[i], c, 0, 0, 0);
      d = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i], a[i + TID], d, 0, 0, 0);
      s = __builtin_amdgcn_mfma_f32_4x4x1f32(x[i], x[TID], s, 0, 0, 0);
      if (i & 1) c = c * c[1];
      d[3] += s[1];
      e = __builtin_amdgcn_mfma_f32_32x32x1f32(x[i], x[i + 1], e, 0, 0, 0);
      g = __builtin_amdgcn_mfma_f32_32x32x2f32(c[0], s[2], g, 0, 0, 0);
      const h4 t = {(h)c[0], (h)c[1], (h)c[2], (h)d[0]};
      s = __builtin_amdgcn_mfma_f32_4x4x4f16(t, a[i], s, 0, 0, 0);
    }
    for (uint i = 0; i < 4; ++i) o[TID * 4 + i] = c[i] + s[i];
    for (uint i = 0; i < 16; ++i) o[TID * 16 + i + 256] = d[i] * g[i];
    for (uint i = 0; i < 32; ++i) o[TID * 32 + i + 1280] = e[i];
  })";

const char* const f64_products = R"(
  typedef double d4 __attribute__((ext_vector_type(4)));
  extern "C" __global__ void product64(double* o, const double* a, uint n) {
    d4 c = {};
    double s = 0;
    for (uint i = 0; i < n; ++i) {
      c = __builtin_amdgcn_mfma_f64_16x16x4f64(a[i], a[i + TID], c, 0, 0, 0);
      s = __builtin_amdgcn_mfma_f64_4x4x4f64(a[i], c[0], s, 0, 0, 0);
      if (i & 1) s = __builtin_fma(s, a[i], c[1]);
      c[2] *= s;
    }
    for (uint i = 0; i < 4; ++i) o[TID * 4 + i] = c[i] + s;
  })";

const char* const gfx940_products = R"(
  typedef h h8 __attribute__((ext_vector_type(8)));
  extern "C" __global__ void sparse(f4* o, const h4* a, const h8* b, const int* q, uint n) {
    f4 c = {};
    f16 d = {};
    for (uint i = 0; i < n; ++i) {
      c = __builtin_amdgcn_smfmac_f32_16x16x32_f16(a[i], b[i], c, q[i], 0, 0);
      c[1] += 1;
      d = __builtin_amdgcn_smfmac_f32_32x32x16_f16(a[i + TID], b[i], d, q[i] + (int)c[2], 0, 0);
      o[i] = c * d[3];
    }
  }
  extern "C" __global__ void bytes(int* o, const float* a) {
    int r = __builtin_amdgcn_cvt_pk_fp8_f32(a[TID], a[TID + 1], 0, false);
    r = __builtin_amdgcn_cvt_pk_fp8_f32(a[TID + 2], a[TID + 3], r, true);
    o[TID] = r + 1;
    r = __builtin_amdgcn_cvt_sr_fp8_f32(a[TID], r, r, 3);
    o[TID + 64] = r + __builtin_amdgcn_readfirstlane(r);
  }
  #if __clang_major__ > 19  // which fails on this
  extern "C" __global__ void fill(float* o, const float* a, uint n) {
    __shared__ float s[64];
    for (uint i = 0; i < n; ++i) {
      __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void*)(a + TID + i * 64),
                                       (__attribute__((address_space(3))) void*)s, 4, 0, 0);
      SYNC();
      o[i * 64 + TID] = s[(TID + 3) & 63];
      SYNC();
    }
  }
  #endif
  )";

const char* const rdna_products = R"(
  #ifdef __gfx1201__
  typedef h factor __attribute__((ext_vector_type(8)));
  #define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12
  #else
  typedef h factor __attribute__((ext_vector_type(16)));
  #define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32
  #endif
  typedef float f8 __attribute__((ext_vector_type(8)));
  extern "C" __global__ void product(float* o, const factor* a, uint n) {
    f8 c = {}, d = {};
    for (uint i = 0; i < n; ++i) {
      c = WMMA(a[i], a[i + 1], c);
      d = WMMA(*(factor*)&c, a[i], d);
      d = WMMA(*(factor*)&d, a[i], d);
    }
    for (uint i = 0; i < 8; ++i) o[TID * 8 + i] = d[i];
  })";

std::string source(Arch arch, unsigned lanes) {
  std::string text = common;
  if (is_cdna(arch) && arch != Arch::gfx906) text += cdna_products;
  if (is_cdna(arch) && !contains(before_gfx90a, arch)) text += f64_products;
  if (arch == Arch::gfx942 || arch == Arch::gfx950) text += gfx940_products;
  if (is_rdna(arch) && lanes == 32) text += rdna_products;
  return text;
}

// What the checks find along the text as if no conditional branch were taken; they start again after an end.
std::set<std::string> walk(Arch arch, unsigned lanes, const std::vector<std::byte>& object, std::size_t& instructions) {
  const auto code = CodeObject::load(object, arch, 0);
  const auto* words = reinterpret_cast<const std::uint32_t*>(code->text().data());
  const std::size_t count = code->text().size() / 4;
  std::set<std::string> findings;
  Workgroup group;
  group.waves.resize(1);
  Wave& wave = group.waves[0];
  wave.arch = arch;
  wave.lanes = lanes;
  std::deque<Entry> entries;
  std::vector<std::unique_ptr<Observer>> checks;
  const auto begin = [&] {
    checks.clear();
    checks.push_back(make_wait_check(group));
    checks.push_back(make_hazard_check(group));
  };
  begin();
  for (std::size_t n = 0; n < count;) {
    auto instruction = decode({arch, lanes}, {words + n, std::min<std::size_t>(5, count - n)});
    n += instruction ? instruction->size / 4 : 1;
    if (!instruction) {
      begin();
      continue;
    }
    ++instructions;
    const Entry& entry = entries.emplace_back(make_entry({arch, lanes}, std::move(*instruction)));
    try {
      for (const auto& check : checks) check->before(wave, entry);
    } catch (const Fault& fault) {
      findings.insert(std::string(fault.what()) + ": " + print({arch, lanes}, entry.instruction));
      begin();
    }
    const std::string_view name = entry.instruction.opcode->name;
    if (name == "s_branch" || name == "s_endpgm" || name.starts_with("s_setpc")) begin();
  }
  return findings;
}

class Compiled : public testing::TestWithParam<int> {
 protected:
  Arch arch() const { return static_cast<Arch>(GetParam()); }

  void expect_silence(const std::string& flags, const std::string& compiler, unsigned lanes) const {
    SCOPED_TRACE(compiler + " " + flags);
    std::size_t instructions = 0;
    const auto findings = walk(arch(), lanes, compile(arch(), source(arch(), lanes), flags, compiler), instructions);
    EXPECT_GT(instructions, 1000U);
    for (const std::string& finding : findings) ADD_FAILURE() << finding;
  }
};

// An ordinary run has one of the levels and one of the compilers, others for the next architecture.
TEST_P(Compiled, TextIsClean) {
  auto level = static_cast<std::size_t>(arch()), compiler_number = level;
  for (const char* flags : {"-O0", "-O1", "-O3"})
    if (taken(level++, 3)) expect_silence(flags, "clang-22", default_lanes(arch()));
  if (arch() != Arch::gfx950 && taken(compiler_number, 2)) expect_silence("-O3", "clang-19", default_lanes(arch()));
  if (is_cdna(arch())) return;
  for (const char* compiler : {"clang-22", "clang-19"})
    if (taken(compiler_number++, 2)) expect_silence("-O3 -mwavefrontsize64", compiler, 64);
}

TEST_P(Compiled, RunsAreClean) {
  const Module module(arch(), source(arch(), default_lanes(arch())), "-O1");
  const Buffer<float> floats(std::vector<float>(4096, 1.25F)), out(8192);
  const Buffer<double> doubles(std::vector<double>(1024, 1.5)), out64(1024);
  const Buffer<int> ints(std::vector<int>(4096, 1234567)), out_ints(4096);
  const auto launch = [&](const char* kernel, const auto&... arguments) {
    EXPECT_NO_THROW(module.launch(kernel, {1, 1, 1}, {64, 1, 1}, 0, arguments...)) << kernel;
  };
  launch("divide", out.data(), floats.data(), out64.data(), doubles.data(), out_ints.data(), 200U);
  launch("exchange", out_ints.data(), ints.data());
  launch("branch", out.data(), ints.data(), floats.data());
  launch("call", out.data(), floats.data(), 5U);
  launch("indexed", out_ints.data(), ints.data(), 3U);
  launch("shared", out.data(), floats.data(), out_ints.data());
  launch("narrow", out.data(), floats.data(), floats.data(), out_ints.data(), ints.data());
  launch("wide", out.data(), floats.data(), 7U);
  if (is_rdna(arch())) launch("product", out.data(), floats.data(), 9U);
  else if (arch() != Arch::gfx906) launch("product", out.data(), floats.data(), floats.data(), 9U);
}

// Shows that the checks work: assembly with one misplaced instruction.
TEST_P(Compiled, RunsWithoutWaitsAreFound) {
  const char* const load = is_cdna(arch()) ? "global_load_dword" : "global_load_b32";
  const char* const add = is_cdna(arch()) ? "v_add_u32" : "v_add_nc_u32";
  const char* const wait = arch() == Arch::gfx1201 ? "s_wait_loadcnt 0x0" : "s_waitcnt vmcnt(0)";
  for (const bool early : {true, false}) {
    const std::string first = std::string(add) + " %0, 1, %0", assembly = std::string(load) + " %0, %1, off\\n";
    const Module module(arch(), "extern \"C\" __global__ void k(const uint* in, uint* out) { uint v; asm volatile(\"" +
                                    assembly + (early ? first + "\\n" + wait : wait + std::string("\\n") + first) +
                                    "\" : \"=&v\"(v) : \"v\"(in + TID)); out[TID] = v; }");
    const Buffer<std::uint32_t> in(std::vector<std::uint32_t>(64, 5)), out(64);
    std::string found;
    try {
      module.launch("k", {1, 1, 1}, {64, 1, 1}, 0, in.data(), out.data());
    } catch (const Fault& fault) {
      found = fault.what();
    }
    if (!early) EXPECT_EQ(found + std::to_string(out[63]), "6");
    else
      EXPECT_TRUE(found.find("before the wait for " + std::string(load)) != found.npos &&
                  found.find("at k+0x") != found.npos)
          << found;
  }
}

TEST_P(Compiled, AttentionIsClean) { EXPECT_NO_THROW(Attention(arch(), 256, 1).run()); }

INSTANTIATE_TEST_SUITE_P(Architectures, Compiled, testing::Range(0, arch_count),
                         [](const auto& p) { return std::string(name(static_cast<Arch>(p.param))); });

}  // namespace
}  // namespace rapt::sim::test
