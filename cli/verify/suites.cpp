#include "cli/verify/suites.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

using enum InputKind;

// In every list, {} stands for each type in turn.
const VerifyCase kQuick[] = {
    {"b1 hq2 hk2 sq128 sk128 d64 {}"},
    {"b1 hq2 hk2 sq200 sk200 d64 {} causal"},
    {"b2 hq4 hk2 sq65 sk130 d128 {} causal"},
    {"b1 hq8 hk2 sq1 sk300 d128 {} causal"},
    {"b2 hq2 hk2 sq77 sk77 d40 {} window=16,0 sink"},
};

const VerifyCase kOptions[] = {
    {"b2 hq2 hk2 sq70 sk33 d32 {} causal-tl"},
    {"b1 hq2 hk2 sq90 sk90 d64 dv96 {} window=20,7"},
    {"b2 hq4 hk2 sq67 sk131 d64 {} causal bias=bNhN"},
    {"b2 hq4 hk2 sq67 sk131 d64 {} bias=b1h1q1 softcap=5"},
    {"b2 hq4 hk2 sq67 sk131 d64 {} mask=bNh1", masked_rows},
    {"b2 hq4 hk4 sq100 sk100 d64 {} causal alibi"},
    {"b2 hq4 hk1 sq100 sk100 d64 {} sink drop=0.2 scale=0.1"},
    {"b3 hq4 hk2 sq90 sk140 d64 {} causal varlen=90:90,1:140,33:2"},
    {"b2 hq8 hk2 sq3 sk210 d128 {} causal paged=16"},
    {"b2 hq2 hk1 sq50 sk60 d64 {} causal window=9,0 bias=bNh1 mask=b1hN alibi softcap=20 sink drop=0.1", masked_rows},
};

// If every gradient of a tensor is zero, X_plain's error can be zero too, and the rule allows nothing. So saturated
// softmax has enough rows for some nonzero gradient, and constant v is for the forward pass.
const VerifyCase kHostile[] = {
    {"b2 hq8 hk8 sq150 sk150 d64 {}", large},
    {"b2 hq8 hk8 sq150 sk150 d64 {} causal", large},
    {"b1 hq2 hk2 sq64 sk150 d64 {}", huge, true},
    {"b1 hq2 hk2 sq64 sk150 d128 {} causal", huge, true},
    {"b1 hq2 hk2 sq1 sk150 d128 {}", huge, true},
    {"b1 hq2 hk2 sq150 sk150 d128 {}", identical},
    {"b1 hq8 hk4 sq33 sk165 d16 {}", constant_v, true},
    {"b1 hq8 hk4 sq40 sk3000 d16 {}", constant_v, true},
    {"b1 hq2 hk1 sq150 sk400 d128 {} causal", outliers},
    {"b1 hq1 hk1 sq3000 sk3000 d16 {} causal", outliers},
    {"b2 hq2 hk2 sq40 sk40 d64 {} bias=bNhN", masked_rows},
    {"b2 hq2 hk2 sq40 sk40 d64 {} mask=bNhN sink", masked_rows},
    {"b1 hq1 hk1 sq1 sk1 d1 {}"},
    {"b2 hq4 hk4 sq20 sk30 d512 {}"},
    {"b1 hq2 hk1 sq5 sk0 d16 {}"},
    {"b1 hq2 hk1 sq0 sk5 d16 {}"},
    {"b1 hq2 hk2 sq300 sk20 d64 {} causal"},
    {"b4 hq2 hk1 sq50 sk70 d64 {} causal varlen=50:50,0:70,7:0,1:1"},
    {"b1 hq2 hk2 sq64 sk64 d3 dv5 {}"},
    {"b1 hq1 hk1 sq100 sk100 d257 {} causal"},
    {"b2 hq8 hk8 sq70 sk70 d512 {}", outliers},
    {"b4 hq6 hk2 sq1 sk2000 d72 {}", outliers},
    {"b2 hq8 hk8 sq40 sk40 d64 {} softcap=0.5 scale=3", outliers},
};

// Each kind of GPU kernel once, small enough for a slow host to compute the right answer in seconds.
const VerifyCase kDoctor[] = {
    {"b1 hq4 hk2 sq200 sk200 d64 bf16 causal"},
    {"b2 hq4 hk4 sq150 sk300 d128 fp16"},
    {"b1 hq2 hk2 sq100 sk131 d96 bf16 bias=b1hN softcap=20"},
    {"b1 hq2 hk1 sq70 sk70 d256 bf16 causal alibi"},
    {"b3 hq4 hk2 sq90 sk140 d128 bf16 causal varlen=90:90,1:140,33:2"},
    {"b1 hq2 hk2 sq65 sk65 d128 fp32 window=16,0 sink"},
    {"b1 hq1 hk1 sq40 sk80 d512 fp16"},
};

void append(std::vector<VerifyCase>& cases, std::span<const VerifyCase> list) {
  for (const VerifyCase& c : list)
    for (const char* dtype : {"fp32", "bf16", "fp16"})
      cases.push_back({fmt::format(fmt::runtime(c.problem), dtype), c.kind, c.forward_only});
}

// Lengths around the edges of every tile, each with a length that is not near an edge.
void append_edges(std::vector<VerifyCase>& cases) {
  for (const char* dtype : {"fp32", "bf16", "fp16"})
    for (const int edge : {8, 16, 32, 64, 128, 256, 512})
      for (const int s : {edge - 1, edge, edge + 1}) {
        cases.push_back({fmt::format("b1 hq2 hk1 sq{} sk{} d64 {} causal", s, s, dtype)});
        cases.push_back({fmt::format("b1 hq1 hk1 sq{} sk{} d{} {}", s, s + 37, std::min(s, 300), dtype)});
      }
}

}  // namespace

const std::vector<std::string>& suite_names() {
  static const std::vector<std::string> kNames = {"quick", "options", "edges", "hostile", "doctor", "all"};
  return kNames;
}

std::vector<VerifyCase> suite(const std::string& name) {
  std::vector<VerifyCase> cases;
  const bool all = name == "all";
  if (all || name == "quick") append(cases, kQuick);
  if (all || name == "options") append(cases, kOptions);
  if (all || name == "edges") append_edges(cases);
  if (all || name == "hostile") append(cases, kHostile);
  if (all || name == "doctor") cases.insert(cases.end(), std::begin(kDoctor), std::end(kDoctor));
  if (cases.empty())
    throw InputError(fmt::format("suite '{}' is unknown; use {}", name, fmt::join(suite_names(), ", ")));
  return cases;
}

}  // namespace rapt::cli
