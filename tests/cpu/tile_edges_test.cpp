// Lengths and head dims around the 16 rows and 32 elements of AMX's tiles, on the tiers that compute with tiles.
#include <gtest/gtest.h>

#include "support/allowance.hpp"

namespace test {

namespace {

std::vector<std::string> tile_backends(const Problem& problem) {
  std::vector<std::string> names;
  for (const std::string& name : backends(problem))
    if (name.starts_with("cpu.amx")) names.push_back(name);
  return names;
}

void check(const std::string& text, Layout layout) {
  const Problem problem(text);
  const Inputs inputs = make_inputs(problem, Kind::normal, layout);
  const Oracle oracle(inputs);
  for (const std::string& backend : tile_backends(problem))
    for (const Measure& m :
         oracle.measure(run(inputs, {.backend = backend, .layout = layout, .given = &oracle.given()})))
      EXPECT_TRUE(m.ok()) << backend << ", " << text << ", " << m.text();
}

class TileEdges : public testing::Test {
 protected:
  void SetUp() override {
    if (tile_backends(Problem("b1 hq1 hk1 sq1 sk1 d1 bf16")).empty())
      GTEST_SKIP() << "no tier with tiles runs here: neither AMX's nor its twin";
  }
};

// Heads that share nothing, 17 rows and more per key head, so that no problem takes the decode path.
TEST_F(TileEdges, OfLengths) {
  for (const char* keys : {"1", "2", "15", "16", "17", "31", "32", "33", "48", "127", "129", "145"})
    for (const char* queries : {"17", "32", "33", "129"})
      check(std::string("b2 hq4 hk4 sq") + queries + " sk" + keys + " d32 bf16", Layout::compact);
}

TEST_F(TileEdges, OfOneQuery) {
  for (const char* keys : {"1", "16", "33", "100"})
    check(std::string("b2 hq40 hk2 sq1 sk") + keys + " d64 bf16", Layout::compact);
}

TEST_F(TileEdges, OfHeadDims) {
  for (const char* dim :
       {"8", "15", "16", "24", "31", "32", "33", "40", "64", "72", "80", "112", "256", "272", "512", "576"})
    for (const char* rest : {" bf16", " bf16 causal"})
      check(std::string("b1 hq4 hk4 sq37 sk45 d") + dim + rest, Layout::padded);
}

TEST_F(TileEdges, OfDifferentHeadDims) {
  for (const char* dims :
       {"d8 dv40", "d40 dv8", "d64 dv16", "d80 dv112", "d192 dv128", "d256 dv24", "d24 dv512", "d576 dv512"})
    for (const char* rest : {" bf16", " bf16 causal"})
      check(std::string("b1 hq4 hk4 sq50 sk35 ") + dims + rest, Layout::compact);
}

TEST_F(TileEdges, OfWindowsAndSplits) {
  for (const char* text :
       {"b1 hq4 hk4 sq200 sk300 d32 bf16 window=9,20", "b1 hq4 hk4 sq300 sk300 d48 bf16 causal window=17,0",
        "b1 hq2 hk1 sq40 sk2100 d32 bf16 causal", "b3 hq4 hk2 sq70 sk100 d40 bf16 causal varlen=70:1,17:33,40:100"})
    check(text, Layout::compact);
}

// dP - delta of a row that attends one key is exactly 0, wherever the key is in a tile.
TEST_F(TileEdges, RowsOfOneKeyHaveNoGradientOfQAndK) {
  for (const char* text : {"b1 hq4 hk4 sq70 sk70 d64 bf16 window=0,0", "b1 hq4 hk4 sq40 sk40 d40 bf16 window=0,0",
                           "b2 hq4 hk4 sq40 sk1 d512 bf16", "b1 hq4 hk4 sq40 sk1 d8 dv72 bf16"}) {
    const Inputs inputs = make_inputs(Problem(text), Kind::outliers);
    for (const std::string& backend : tile_backends(inputs.problem)) {
      const Results results = run(inputs, {.backend = backend});
      for (const Tensor* gradient : {&results.dq, &results.dk})
        for (double x : gradient->values()) ASSERT_EQ(x, 0) << backend << ", " << text;
    }
  }
}

}  // namespace

}  // namespace test
