// The problems of variants_test.cpp have every option that a kernel of their sort takes. No kernel runs here.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "variant.hpp"
#include "variant_cases.hpp"

namespace test {

namespace {

std::vector<Variant> every_sort() {
  const auto kernel = [](const char* name, bool general, bool scores) {
    Variant v{.arch = "any", .name = name, .dtype = "bf16", .tile = 64, .general = general, .scores = scores};
    v.backward = v.name.starts_with("backward");
    v.triton = by_triton(v.name);
    v.hopper = v.name.find("_hopper.") != v.name.npos;
    v.sums = sums_dq(v.name);
    v.keys = v.name.starts_with("backward_short.") ? 64 : 0;
    return v;
  };
  return {kernel("forward.d64.bf16.plain.k32w4", false, false),
          kernel("forward.d64.bf16.general.k32w4", true, false),
          kernel("forward.d64.bf16.plain.tq64k64w4", false, false),
          kernel("forward_hopper.d64.bf16.plain.k128w12", false, false),
          kernel("forward_hopper.d64.bf16.scores.k128w12", true, true),
          kernel("split.d64.bf16.plain.k16w4", false, false),
          kernel("split.d64.bf16.general.k16w4", true, false),
          kernel("split_combine.d32.fp32.plain.k32w4", false, false),
          kernel("backward_dq.d64.bf16.plain.k32w4", false, false),
          kernel("backward_dq.d64.bf16.general.k32w4", true, false),
          kernel("backward_dq.d64.bf16.plain.tq64k64w4", false, false),
          kernel("backward_hopper.d64.bf16.plain.k128w12", false, false),
          kernel("backward_hopper.d64.bf16.scores.k64w16", true, true),
          kernel("backward_dkv_hopper.d256.bf16.plain.k64w12", false, false),
          kernel("backward_short.d64.bf16.plain.k32w4", false, false)};
}

TEST(VariantCases, HaveEveryOptionOfTheirKernels) {
  for (const Variant& v : every_sort()) {
    std::set<std::string> options;
    std::vector<Case> cases =
        all_options_cases(v.dtype, v.tile, v.general || combines(v.name), v.name.starts_with("split"));
    if (v.hopper && takes_cache(v)) std::ranges::copy(cached_cases(v.dtype, v.tile), std::back_inserter(cases));
    if (v.sums && takes_dropout(v)) std::ranges::copy(dropout_cases(v.dtype, v.tile), std::back_inserter(cases));
    for (Case c : cases) {
      c = taken_by(c, v);
      const Problem problem(c.problem);
      EXPECT_TRUE(v.keys == 0 || problem.c.seqlen_k <= v.keys) << v << ": " << c.problem;
      options.merge(options_of(problem));
    }
    for (const std::string& option : options_taken(v)) EXPECT_TRUE(options.contains(option)) << v << ": " << option;
  }
}

}  // namespace

}  // namespace test
