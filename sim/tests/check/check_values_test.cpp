// The sanitizer's check of values that were never written: that it reports, with the names of register, lane and
// kernel, and that it reports nothing if undefined bits decide nothing.
#include "sim/machine/core/fault.hpp"
#include "sim/tests/support/programs/attention.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rapt::sim::test {
namespace {

// Before the first kernel reads the variable; the library itself was loaded earlier.
const bool enabled = setenv("RAPT_SIM_CHECK", "values", 1) == 0 && (Memory::set_tracking(true), true);

class Values : public testing::TestWithParam<int> {
 protected:
  Arch arch() const { return static_cast<Arch>(GetParam()); }

  // What the check reports for a kernel `k(const uint* in, uint* out)`, launched with one group of 128 threads; "" for
  // nothing. `in` and `out` have 4096 dwords each: the first 2048 of `in` are written, none of `out`.
  std::string finding(const std::string& source, const std::string& flags = "-O1") const {
    const Module module(arch(), "extern \"C\" __global__ void k(const uint* in, uint* out) {" + source + "}", flags);
    const Buffer<std::uint32_t> in(4096), out(4096);
    for (unsigned n = 0; n < 2048; ++n) in[n] = n * 3;
    Memory::process().mark_written(reinterpret_cast<std::uint64_t>(in.data()), 2048 * 4);
    try {
      module.launch("k", {1, 1, 1}, {128, 1, 1}, 0, in.data(), out.data());
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::check) << fault.what();
      return fault.what();
    }
    return "";
  }
  static void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }
};

TEST_P(Values, AreSilentWhereAllIsWritten) { EXPECT_EQ(finding("out[TID] = in[TID] + 1;"), ""); }

TEST_P(Values, ReportGlobalMemoryNeverWrittenThatIsStored) {
  const std::string text = finding("out[TID] = in[TID * 32] + 1;");  // lane 64 is the first beyond what is written
  expect_part(text, "was never written and is stored");
  expect_part(text, "at k+0x");
  expect_part(text, is_cdna(arch()) ? "wave 1, lane 0" : "wave 2, lane 0");
}

TEST_P(Values, ReportLdsNeverWrittenThatIsStored) {
  const std::string text = finding("__shared__ uint s[256]; s[TID] = in[TID]; SYNC(); out[TID] = s[TID + 1] * 5;");
  expect_part(text, "was never written and is stored");
  expect_part(text, "lane " + std::to_string(is_cdna(arch()) ? 63 : 31));
}

TEST_P(Values, ReportAddresses) {
  expect_part(finding("out[in[TID + 2000] & 1023] = TID;"), "takes part in an address");
}

TEST_P(Values, ReportBranches) {
  const std::string text = finding("uint v = in[3000]; for (uint n = 0; n < (v & 7); ++n) out[n * 128 + TID] = n;");
  EXPECT_TRUE(text.find("decides a branch") != std::string::npos ||
              text.find("decides which lanes") != std::string::npos)
      << text;
}

TEST_P(Values, ReportDivergentBranches) {
  const std::string text = finding("if (in[TID + 2000] > 5) out[TID] = in[TID];");
  EXPECT_TRUE(text.find("decides a branch") != std::string::npos ||
              text.find("decides which lanes") != std::string::npos)
      << text;
}

TEST_P(Values, AreSilentWhereUndefinedBitsDecideNothing) {
  EXPECT_EQ(finding("out[TID] = in[TID + 2000] & 0;"), "");
  EXPECT_EQ(finding("uint v = in[TID * 20]; out[TID] = TID < 100 ? v : 7u;"), "");
  EXPECT_EQ(finding("uint v = in[3000]; out[TID] = (in[TID] & 0xffff) | ((v & 0) << 16);"), "");
}

TEST_P(Values, FollowUndefinedValuesThroughLds) {
  EXPECT_EQ(finding("__shared__ uint s[128]; s[TID] = in[TID * 32]; SYNC(); if (TID < 64) out[TID] = s[TID];"), "");
  expect_part(finding("__shared__ uint s[128]; s[TID] = in[TID * 32]; SYNC(); out[TID] = s[127 - TID];"),
              "was never written and is stored");
}

TEST_P(Values, FollowUndefinedValuesThroughPrivateMemory) {
  const char* spills = "volatile uint a[8]; a[TID & 7] = in[TID * 32]; a[(TID + 1) & 7] = 5; ";
  EXPECT_EQ(finding(std::string(spills) + "out[TID] = a[(TID + 1) & 7];", "-O0"), "");
  expect_part(finding(std::string(spills) + "out[TID] = a[TID & 7];", "-O0"), "was never written and is stored");
}

TEST_P(Values, HalvesAreTrackedApart) {
  EXPECT_EQ(finding("ushort* o = (ushort*)out; const ushort* h = (const ushort*)in;"
                    "uint both = h[4090 + (TID & 7)] << 0; both &= 0xffff; uint v = both << 16 | h[TID];"
                    "o[TID] = (ushort)v;"),
            "");
}

TEST_P(Values, AreSilentOnAttention) {
  Attention attention(arch(), 256, 1);
  attention.run();
  EXPECT_LT(attention.error().out, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Values, testing::Range(0, arch_count),
                         [](const auto& p) { return std::string(name(static_cast<Arch>(p.param))); });

}  // namespace
}  // namespace rapt::sim::test
