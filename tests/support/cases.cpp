#include "support/cases.hpp"

#include <cctype>

namespace test {

namespace {

using enum Kind;
using enum Layout;

// '*' is the type. Every result has enough elements for its largest error to be meaningful: over a handful of elements,
// one set of roundings is twice another by chance. Hence the many heads, most of all with a sink.
const Case kOptions[] = {
    {"b1 hq1 hk1 sq1 sk1 d1 *"},
    {"b2 hq4 hk4 sq9 sk9 d8 *", normal, heads_first},
    {"b2 hq4 hk4 sq33 sk70 d16 *", outliers, padded},
    {"b2 hq4 hk4 sq70 sk33 d16 *"},
    // causality, both alignments; more queries than keys leaves rows with nothing to attend
    {"b2 hq4 hk4 sq33 sk33 d16 * causal", outliers},
    {"b1 hq8 hk8 sq17 sk31 d20 dv12 * causal", normal, padded},
    {"b1 hq8 hk4 sq31 sk17 d20 dv12 * causal"},
    {"b1 hq8 hk4 sq17 sk31 d12 dv20 * causal-tl", normal, heads_first},
    {"b1 hq8 hk8 sq31 sk17 d16 * causal-tl"},
    // windows
    {"b1 hq8 hk8 sq40 sk40 d16 * window=4,4"},
    {"b1 hq8 hk8 sq40 sk40 d16 * window=0,0", outliers},
    {"b1 hq8 hk8 sq33 sk65 d16 * window=-1,3"},
    {"b1 hq8 hk8 sq65 sk33 d16 * window=5,-1"},
    {"b1 hq8 hk8 sq20 sk50 d16 * causal window=7,0", poison_unseen},
    {"b1 hq8 hk8 sq50 sk20 d16 * causal-tl window=7,9"},
    {"b1 hq8 hk8 sq50 sk20 d16 * window-tl=7,9"},
    {"b1 hq8 hk8 sq20 sk50 d16 * window-tl=-1,5", poison_unseen},
    {"b1 hq8 hk8 sq20 sk70 d16 * window=3,3", poison_unseen, padded},
    // heads
    {"b2 hq6 hk2 sq19 sk23 d16 *"},
    {"b2 hq8 hk1 sq19 sk23 d16 * causal", outliers, padded},
    {"b1 hq10 hk10 sq1 sk40 d16 *"},
    {"b1 hq12 hk3 sq1 sk77 d24 * causal", normal, heads_first},
    // bias in every broadcast form
    {"b2 hq4 hk4 sq17 sk21 d16 * bias=b1h1", normal, padded},
    {"b2 hq4 hk2 sq17 sk21 d16 * bias=b1hN", outliers},
    {"b2 hq4 hk4 sq17 sk21 d16 * bias=bNh1"},
    {"b2 hq4 hk2 sq17 sk21 d16 * bias=bNhN", hostile_bias, padded},
    {"b2 hq4 hk4 sq17 sk21 d16 * bias=b1h1q1", hostile_bias},
    {"b2 hq4 hk4 sq17 sk21 d16 * bias=b1hNq1"},
    {"b2 hq4 hk4 sq17 sk21 d16 * bias=bNh1q1", hostile_bias, heads_first},
    {"b2 hq4 hk4 sq17 sk21 d16 * causal bias=bNhNq1"},
    // masks
    {"b2 hq4 hk4 sq17 sk37 d16 * mask=bNh1q1", poison_unseen},
    {"b2 hq4 hk4 sq17 sk37 d16 * mask=bNhN", masked_rows, padded},
    {"b2 hq4 hk2 sq17 sk37 d16 * causal mask=b1h1", masked_rows},
    {"b2 hq4 hk2 sq17 sk37 d16 * bias=bNh1 mask=b1hN", hostile_bias, heads_first},
    // ALiBi, softcap, sink, scale, dropout
    {"b1 hq8 hk8 sq33 sk33 d16 * alibi"},
    {"b2 hq4 hk2 sq17 sk33 d16 * causal alibi", outliers},
    {"b2 hq4 hk4 sq33 sk20 d16 * causal-tl alibi"},
    {"b1 hq8 hk8 sq33 sk33 d16 * softcap=5", outliers},
    {"b1 hq8 hk8 sq33 sk33 d16 * causal bias=b1hN softcap=2.5"},
    {"b1 hq16 hk16 sq33 sk33 d16 * sink", normal, padded},
    {"b2 hq24 hk8 sq33 sk17 d16 * causal sink", outliers},
    {"b2 hq16 hk16 sq17 sk37 d16 * mask=bNhN sink", masked_rows},
    {"b1 hq8 hk8 sq17 sk17 d16 * scale=0.3"},
    {"b1 hq8 hk8 sq17 sk17 d16 * scale=-0.2"},
    {"b1 hq8 hk8 sq17 sk17 d16 * causal scale=0"},
    {"b2 hq4 hk2 sq37 sk41 d16 * drop=0.1"},
    {"b2 hq4 hk2 sq37 sk41 d16 dv8 * causal drop=0.5", outliers, padded},
    // lengths
    {"b1 hq8 hk4 sq5 sk0 d16 *"},
    {"b1 hq8 hk4 sq0 sk5 d16 *"},
    {"b1 hq16 hk8 sq3 sk0 d16 * sink"},
    {"b0 hq2 hk1 sq3 sk3 d16 *"},
    {"b4 hq2 hk1 sq19 sk40 d16 * varlen=5:5,0:7,19:40,3:0", normal, padded},
    {"b3 hq4 hk2 sq33 sk33 d16 * causal varlen=33:20,1:33,7:7", outliers},
    {"b3 hq4 hk4 sq21 sk30 d16 * causal window=6,0 alibi varlen=21:21,4:30,20:9", normal, heads_first},
    {"b2 hq16 hk16 sq9 sk12 d16 * bias=bNhN mask=b1hN sink drop=0.2 varlen=9:3,2:12", masked_rows},
    {"b2 hq4 hk2 sq9 sk37 d16 * paged=8"},
    {"b3 hq4 hk2 sq9 sk37 d16 * causal paged=5 det", normal, padded},
    {"b3 hq16 hk4 sq1 sk37 d16 dv24 * causal window=20,0 sink varlen=1:37,1:0,1:12 paged=16"},
    // numbers
    {"b1 hq8 hk8 sq33 sk65 d16 *", large},
    {"b1 hq8 hk8 sq33 sk65 d16 * causal", large},
    {"b1 hq8 hk4 sq33 sk65 d16 *", identical},
    {"b1 hq8 hk4 sq33 sk165 d16 *", constant_v},
    {"b1 hq8 hk4 sq33 sk33 d16 * causal", poison_seen},
    {"b2 hq4 hk2 sq33 sk33 d16 * mask=bNh1 drop=0.5", poison_seen, padded},
    // together
    {"b2 hq16 hk8 sq23 sk29 d20 dv12 * causal window=9,0 bias=b1hN mask=bNh1 alibi softcap=8 sink drop=0.2 scale=0.4",
     outliers, padded},
    {"b2 hq16 hk4 sq29 sk23 d12 dv20 * window=9,4 bias=bNhNq1 mask=bNhN alibi softcap=8 sink drop=0.2 det",
     masked_rows},
};

constexpr int64_t kEdges[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};
constexpr int64_t kHeadDims[] = {1, 5, 7, 20, 32, 33, 64, 80, 100, 128, 160, 192, 256, 257, 512, 576};
const char* const kTypes[] = {"fp32", "bf16", "fp16"};

std::string with_type(std::string text, const std::string& dtype) { return text.replace(text.find('*'), 1, dtype); }

std::string sizes(int64_t b, int64_t hq, int64_t hk, int64_t sq, int64_t sk, int64_t d) {
  std::string text;
  for (const auto& [name, size] : {std::pair{"b", b}, {" hq", hq}, {" hk", hk}, {" sq", sq}, {" sk", sk}, {" d", d}})
    (text += name) += std::to_string(size);
  return text;
}

// Each edge as both lengths, combined with its neighbour, and with a decoding query.
void add_edges(std::vector<Case>& all) {
  constexpr Kind kKinds[] = {normal, outliers};
  constexpr Layout kLayouts[] = {compact, padded, heads_first};
  size_t turn = 0;
  for (const char* type : kTypes)
    for (int64_t n : kEdges) {
      ++turn;
      const std::string t = std::string(" ") + type;
      const Kind kind = kKinds[turn % 2];
      const Layout layout = kLayouts[turn % 3];
      all.push_back({sizes(1, 8, 4, n, n, 32) + t + (turn % 2 ? " causal" : ""), kind, layout});
      all.push_back({sizes(2, 2, 2, n, n + 1, 64) + t + (turn % 2 ? "" : " causal"), kind});
      all.push_back({sizes(3, 16, 4, turn % 4 ? 1 : 3, n, 64) + t + (turn % 3 ? "" : " causal"), kind, layout});
    }
}

void add_head_dims(std::vector<Case>& all) {
  size_t turn = 0;
  for (const char* type : kTypes)
    for (int64_t d : kHeadDims) {
      ++turn;
      const std::string t = std::string(" ").append(type), other = std::to_string(d == 64 ? 40 : 64);
      const char* causal = turn % 2 ? " causal" : "";
      all.push_back({sizes(1, 4, 2, 35, 67, d).append(t).append(causal), turn % 3 ? normal : outliers, padded});
      all.push_back({sizes(1, 4, 4, 18, 50, d).append(" dv").append(other).append(t)});
    }
}

// Gradients of such inputs exceed fp16's range where float32 has lost their cancellation.
void add_huge(std::vector<Case>& all) {
  for (const char* type : {"fp32", "bf16"})
    for (const char* text : {"b1 hq8 hk8 sq33 sk65 d64 *", "b1 hq8 hk4 sq33 sk33 d128 * causal drop=0.2",
                             "b2 hq8 hk4 sq1 sk65 d128 * sink"})
      all.push_back({with_type(text, type), huge});
}

// Multi-head latent attention: the prefill, and decoding, where every query head attends the same compressed keys.
void add_latent(std::vector<Case>& all) {
  for (const std::string type : kTypes) {
    all.push_back({sizes(1, 4, 4, 35, 67, 192) + " dv128 " + type + " causal", outliers, padded});
    all.push_back({sizes(2, 128, 1, 1, 70, 576) + " dv512 " + type + " paged=16", outliers});
    all.push_back({sizes(1, 16, 1, 2, 300, 576) + " dv512 " + type + " causal", normal, padded});
    all.push_back({sizes(1, 8, 1, 2, 70, 576) + " dv512 " + type + " causal paged=16"});
  }
}

}  // namespace

std::string name_of(const Case& c) {
  static constexpr const char* kKindNames[] = {"",
                                               "_outliers",
                                               "_large",
                                               "_huge",
                                               "_identical",
                                               "_constant_v",
                                               "_hostile_bias",
                                               "_masked_rows",
                                               "_poison_unseen",
                                               "_poison_seen"};
  static constexpr const char* kLayoutNames[] = {"", "_heads_first", "_padded", "", "_spaced"};
  std::string name;
  for (char x : c.problem) name += std::isalnum(static_cast<unsigned char>(x)) ? x : x == '-' ? 'm' : '_';
  return name + kKindNames[static_cast<size_t>(c.kind)] + kLayoutNames[static_cast<size_t>(c.layout)];
}

std::vector<Case> option_cases(const std::string& dtype) {
  std::vector<Case> all;
  for (const Case& c : kOptions) all.push_back({with_type(c.problem, dtype), c.kind, c.layout});
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* type : kTypes)
    for (const Case& c : option_cases(type)) all.push_back(c);
  add_edges(all);
  add_head_dims(all);
  add_huge(all);
  add_latent(all);
  return all;
}

std::vector<Case> nightly_cases() {
  static const char* const kMasks[] = {"", " causal", " causal-tl", " window=13,5", " causal window=40,0"};
  static const char* const kExtras[] = {
      "",           " bias=bNh1", " mask=bNhN", " alibi",
      " softcap=6", " sink",      " drop=0.25", " bias=b1hNq1 mask=b1h1q1 alibi softcap=9 sink drop=0.1"};
  static constexpr int64_t kLengths[][2] = {{1, 130}, {64, 64}, {100, 37}, {63, 193}, {130, 1}, {129, 257}};
  static constexpr int64_t kDims[] = {24, 64, 100, 128};
  std::vector<Case> all;
  size_t turn = 0;
  for (const char* type : kTypes)
    for (const auto& [q, k] : kLengths)
      for (const char* mask : kMasks)
        for (const char* extra : kExtras) {
          ++turn;
          const std::string text =
              sizes(1 + turn % 2, 8, turn % 3 ? 4 : 8, q, k, kDims[turn % 4]) + " " + type + mask + extra;
          const Layout layout = turn % 5 == 0 ? padded : turn % 5 == 1 ? heads_first : compact;
          all.push_back({text, turn % 2 ? outliers : normal, layout});
        }
  for (const char* type : kTypes) {
    all.push_back({sizes(1, 2, 1, 1000, 1000, 64) + " " + type + " causal", outliers});
    all.push_back({sizes(1, 1, 1, 4, 65536, 64) + " " + type, normal});
    all.push_back({sizes(1, 1, 1, 700, 900, 512) + " " + type, normal});
  }
  return all;
}

}  // namespace test
