#include "variant_cases.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace test {

namespace {

using enum Kind;
using enum Layout;

// '*' is the type, "d-3" and "dv-3" are the tile minus 3. Layout padded has NaN between rows and rows at odd
// addresses. A workgroup has 32 to 256 queries, a step 32 or 64 keys.
const Case kPlain[] = {
    {"b1 hq2 hk1 sq270 sk140 d-0 *", normal, padded},
    {"b2 hq4 hk4 sq37 sk70 d-3 dv-5 * causal", outliers, heads_first},
    {"b1 hq4 hk4 sq70 sk33 d-1 * causal"},  // rows that attend nothing
    {"b1 hq4 hk4 sq33 sk100 d-0 dv8 * causal-tl", poison_unseen, padded},
    {"b1 hq8 hk4 sq33 sk45 d-0 * causal", poison_seen, padded},
    {"b1 hq4 hk4 sq90 sk70 d8 dv-0 * window-tl=9,4", outliers},
    {"b1 hq8 hk1 sq50 sk130 d-0 * causal window=40,0", poison_unseen, padded},
    {"b1 hq4 hk4 sq20 sk170 d-7 * window=3,3", poison_unseen, padded},
    {"b4 hq4 hk2 sq40 sk90 d-0 * causal varlen=5:5,0:7,40:90,3:0", normal, padded},
    {"b2 hq24 hk8 sq17 sk33 d-0 * causal sink", outliers},
    {"b1 hq16 hk8 sq3 sk0 d-0 * sink", normal, padded},
    {"b1 hq8 hk4 sq5 sk0 d-3 *"},
    {"b1 hq10 hk10 sq1 sk200 d-0 *", normal, heads_first},
    {"b1 hq4 hk4 sq33 sk65 d-0 * causal", large},
    {"b1 hq4 hk2 sq33 sk65 d-0 *", identical},
    {"b1 hq4 hk2 sq64 sk1 d-0 * scale=8"},  // lse far below 0, and keys that do not exist
    {"b1 hq16 hk2 sq33 sk165 d-0 * scale=0.3", constant_v},
};

const Case kGeneral[] = {
    {"b2 hq4 hk2 sq37 sk70 d-0 * bias=b1hN", outliers, padded},
    {"b2 hq4 hk4 sq17 sk41 d-3 * bias=bNhN", hostile_bias, padded},
    {"b2 hq4 hk4 sq17 sk70 d-0 * causal bias=b1h1q1", hostile_bias, heads_first},
    {"b2 hq4 hk4 sq17 sk37 d-0 * bias=bNh1q1"},
    {"b2 hq4 hk4 sq33 sk70 d-5 * mask=bNhN", masked_rows, padded},
    {"b2 hq4 hk4 sq17 sk97 d-0 * mask=bNh1q1", poison_unseen},
    {"b2 hq4 hk2 sq37 sk33 d-0 dv-3 * mask=bNh1 drop=0.5", poison_seen, padded},
    {"b2 hq4 hk2 sq33 sk70 d-0 * causal alibi", outliers},
    {"b1 hq8 hk8 sq33 sk70 d-0 * softcap=5", outliers, padded},
    {"b1 hq4 hk4 sq33 sk100 d-0 * causal-tl softcap=6", poison_unseen, padded},
    {"b2 hq4 hk2 sq70 sk41 d-0 dv-8 * drop=0.2", normal, padded},
    {"b1 hq2 hk1 sq140 sk270 d-0 * causal drop=0.3"},  // with several tiles of all kernels
    {"b1 hq8 hk8 sq17 sk33 d-0 * scale=-0.2"},
    {"b1 hq8 hk8 sq17 sk33 d-0 * causal scale=0"},
    {"b2 hq16 hk16 sq9 sk12 d-0 * bias=bNhN mask=b1hN sink drop=0.2 varlen=9:3,2:12", masked_rows},
    {"b3 hq4 hk4 sq21 sk30 d-0 * causal window=6,0 alibi varlen=21:21,4:30,20:9", normal, heads_first},
    {"b2 hq4 hk2 sq23 sk70 d-0 dv-3 * causal window=9,0 bias=b1hN mask=bNh1 alibi softcap=8 sink drop=0.2 scale=0.4",
     outliers, padded},
    {"b1 hq1 hk1 sq33 sk37 d4 * drop=0.85"},     // P must be scaled before it is rounded
    {"b1 hq4 hk4 sq33 sk70 d-0 * softcap=128"},  // far above all logits, where a rough tanh is wrong by the most
};

// For kernels that take dropout and no other option of general kernels.
const Case kDropout[] = {
    {"b2 hq4 hk2 sq150 sk270 d-0 dv-8 * causal drop=0.2 scale=0.4", outliers, padded},
    {"b1 hq4 hk1 sq270 sk140 d-0 * drop=0.5", normal, heads_first},
    {"b2 hq4 hk4 sq37 sk70 d-3 * causal-tl drop=0.1", poison_unseen, padded},
    {"b1 hq8 hk4 sq33 sk45 d-0 * causal drop=0.4", poison_seen, padded},
    {"b1 hq4 hk4 sq70 sk33 d-1 * causal drop=0.3"},  // rows that attend nothing
    {"b1 hq2 hk2 sq130 sk129 d-0 * drop=0.85", large},
    {"b1 hq4 hk2 sq64 sk1 d-0 * drop=0.7"},
    {"b3 hq4 hk2 sq200 sk270 d-0 * causal drop=0.2 varlen=131:7,200:270,1:129", outliers, padded},
};

// Several tiles of keys add to each row of dq, in a fixed order. In some steps the first tile that adds is not the
// first of its head.
const Case kInOrder[] = {
    {"b2 hq4 hk2 sq700 sk900 d-0 * causal det"},
    {"b1 hq6 hk2 sq520 sk390 d-0 * det", outliers},
    {"b2 hq4 hk4 sq640 sk640 d-0 * window=130,20 det"},
    {"b1 hq2 hk2 sq300 sk900 d-0 * causal-tl det"},  // keys without queries
    {"b3 hq4 hk2 sq500 sk600 d-0 * causal varlen=500:600,30:400,300:70 det"},
};

// Keys in pages that hold whole tiles of them.
const Case kCached[] = {
    {"b2 hq4 hk2 sq150 sk600 d-0 * causal paged=128", outliers},
    {"b3 hq4 hk2 sq70 sk500 d-0 dv-8 * causal window=200,0 sink varlen=70:500,1:0,33:130 paged=256", poison_unseen},
    {"b2 hq4 hk4 sq40 sk300 d-0 * varlen=40:300,17:64 paged=128", poison_seen},
    {"b1 hq8 hk8 sq130 sk128 d-0 * paged=384", normal, heads_first},
};

// Every option at once, for kernels of each sort. Other lists have options alone and a few together.
const Case kAllPlain{"b2 hq4 hk2 sq23 sk70 d-0 dv-3 * causal window=9,0 sink scale=0.4 varlen=23:70,9:41", outliers,
                     padded};
const Case kAllGeneral{
    "b2 hq4 hk2 sq23 sk70 d-0 dv-3 * causal window=9,0 bias=bNhN mask=bNh1 alibi softcap=8 sink drop=0.2 scale=0.4 "
    "varlen=23:70,9:41",
    outliers, padded};
const Case kAllSplit{"b3 hq8 hk2 sq1 sk600 d-0 * causal window=300,0 sink scale=0.3 varlen=1:600,1:0,1:12 paged=16"};
const Case kAllGeneralSplit{
    "b2 hq4 hk2 sq3 sk600 d-0 * causal window=300,0 bias=bNhN mask=bNh1 alibi softcap=8 sink drop=0.2 scale=0.4 "
    "varlen=3:600,2:70",
    outliers, padded};

// Few queries, long KV: several splits, of 256 keys or more.
const Case kSplit[] = {
    {"b2 hq8 hk2 sq3 sk700 d-0 * causal sink", outliers, padded},
    {"b1 hq16 hk1 sq1 sk900 d-0 dv-5 *", normal, heads_first},
    {"b3 hq4 hk2 sq2 sk600 d-0 * causal paged=16", outliers},
    {"b2 hq6 hk2 sq7 sk530 d-3 * window=60,0 paged=48", poison_unseen},
    {"b2 hq4 hk4 sq4 sk800 d-0 * causal varlen=4:800,1:300"},
    {"b1 hq8 hk8 sq5 sk600 d-0 * causal", poison_seen},
    {"b2 hq12 hk2 sq2 sk530 d-1 dv8 * causal", large, padded},
    {"b3 hq16 hk4 sq1 sk600 d-0 * causal window=300,0 sink varlen=1:600,1:0,1:12 paged=16"},
    {"b1 hq4 hk4 sq1 sk900 d-0 dv8 * window=100,0", poison_unseen},
    {"b1 hq4 hk2 sq7 sk515 d8 dv-0 *", identical},
};
const Case kGeneralSplit[] = {
    {"b2 hq8 hk2 sq2 sk640 d-0 * alibi softcap=9 paged=32"},
    {"b2 hq8 hk2 sq2 sk530 d-0 * bias=bNhN", hostile_bias, padded},
    {"b1 hq6 hk2 sq3 sk700 d-0 dv-3 * causal mask=bNhN drop=0.2 softcap=4 sink", masked_rows, padded},
    {"b2 hq4 hk1 sq4 sk600 d-0 * mask=b1h1 drop=0.5", poison_seen},
    {"b2 hq8 hk2 sq3 sk600 d-0 * causal bias=bNhN mask=bNh1 alibi softcap=8 sink drop=0.2 scale=0.4", outliers, padded},
    {"b1 hq4 hk2 sq1 sk600 d-0 * bias=b1h1", hostile_bias},
    {"b2 hq8 hk2 sq1 sk530 d-0 * causal alibi drop=0.2 paged=16"},
};

// Logits of 1e8 and more: rounding their maximum is worth a factor of 2^100 and more.
const Case kHuge[] = {
    {"b1 hq2 hk1 sq33 sk70 d-0 *", huge, padded},
    {"b1 hq4 hk4 sq70 sk37 d-0 * causal", huge},
    {"b1 hq4 hk2 sq3 sk700 d-0 * causal scale=4000", large, padded},
};

constexpr int64_t kEdges[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};

// The table's text with its type and head dims filled in.
Case filled(const Case& c, const std::string& dtype, int64_t tile) {
  std::istringstream words(c.problem);
  std::string text;
  for (std::string word; words >> word;) {
    if (!text.empty()) text += ' ';
    const size_t digits = word.starts_with("d-") ? 2 : word.starts_with("dv-") ? 3 : 0;
    if (word == "*") text += dtype;
    else if (digits > 0) text += word.substr(0, digits - 1) + std::to_string(tile - std::stoll(word.substr(digits)));
    else text += word;
  }
  return {text, c.kind, c.layout};
}

std::string lengths(int64_t sq, int64_t sk) {
  return "b1 hq4 hk2 sq" + std::to_string(sq) + " sk" + std::to_string(sk);
}

}  // namespace

bool general(const Problem& problem) {
  const rapt_problem& p = problem.c;
  return p.has_bias || p.has_mask || p.has_alibi || p.softcap != 0 || p.dropout != 0 ||
         (p.has_scale && p.softmax_scale <= 0);
}

std::vector<Case> variant_cases(const std::string& dtype, int64_t tile, bool with_general) {
  std::vector<Case> all;
  for (const Case& c : kPlain) all.push_back(filled(c, dtype, tile));
  if (!with_general) return all;
  for (const Case& c : kGeneral) all.push_back(filled(c, dtype, tile));
  return all;
}

std::vector<Case> dropout_cases(const std::string& dtype, int64_t tile) {
  std::vector<Case> all;
  for (const Case& c : kDropout) all.push_back(filled(c, dtype, tile));
  return all;
}

std::vector<Case> ordered_cases(const std::string& dtype, int64_t tile) {
  std::vector<Case> all;
  for (const Case& c : kInOrder) all.push_back(filled(c, dtype, tile));
  return all;
}

std::vector<Case> cached_cases(const std::string& dtype, int64_t tile) {
  std::vector<Case> all;
  for (const Case& c : kCached) all.push_back(filled(c, dtype, tile));
  return all;
}

std::vector<Case> huge_cases(const Variant& v, int64_t tile) {
  std::vector<Case> all;
  // In fp16 gradients of such logits exceed the range where float32 has lost their cancellation. Triton's kernels do
  // not meet the rule yet (docs/nvidia.md).
  if (v.triton || combines(v.name) || (v.backward && v.dtype == "fp16")) return all;
  for (const Case& c : kHuge) all.push_back(filled(c, v.dtype, tile));
  return all;
}

std::vector<Case> all_options_cases(const std::string& dtype, int64_t tile, bool with_general, bool split) {
  std::vector<Case> all;
  if (split || !with_general) all.push_back(filled(split ? kAllSplit : kAllPlain, dtype, tile));
  if (with_general) all.push_back(filled(split ? kAllGeneralSplit : kAllGeneral, dtype, tile));
  return all;
}

std::vector<Case> split_cases(const std::string& dtype, int64_t tile, bool with_general) {
  std::vector<Case> all;
  for (const Case& c : kSplit) all.push_back(filled(c, dtype, tile));
  if (!with_general) return all;
  for (const Case& c : kGeneralSplit) all.push_back(filled(c, dtype, tile));
  return all;
}

std::vector<Case> long_variant_cases(const std::string& dtype, int64_t tile, bool with_general) {
  std::vector<Case> all;
  for (const Case& c : option_cases(dtype)) {
    const Problem problem(c.problem);
    if (problem.c.page > 0) continue;  // split_cases() has pages that GPU kernels take
    if (with_general || !general(problem)) all.push_back(c);
  }
  for (const int64_t n : kEdges) {
    all.push_back(filled({lengths(n, n) + " d-0 * causal", outliers, padded}, dtype, tile));
    all.push_back(filled({lengths(n, n + 37) + " d-5 dv-0 *"}, dtype, tile));
  }
  return all;
}

std::set<std::string> options_of(const Problem& problem) {
  const rapt_problem& p = problem.c;
  std::set<std::string> names;
  for (const auto& [has, name] : {std::pair{p.causal != 0, "causal"},
                                  {p.has_window != 0, "window"},
                                  {p.has_sink != 0, "sink"},
                                  {p.has_scale != 0, "scale"},
                                  {problem.packed(), "varlen"},
                                  {p.page > 0, "paged"},
                                  {p.has_bias != 0, "bias"},
                                  {p.has_mask != 0, "mask"},
                                  {p.has_alibi != 0, "alibi"},
                                  {p.softcap != 0, "softcap"},
                                  {p.dropout != 0, "dropout"}})
    if (has) names.insert(name);
  return names;
}

namespace {

// Options of general kernels that kernels with features scores lack. Some of them take dropout.
bool not_of_scores(const std::string& word, bool drops = false) {
  return (word.starts_with("drop=") && !drops) || word.starts_with("scale=-") || word == "scale=0";
}

// The layout, or one with aligned rows.
Layout aligned(const std::string& problem, Layout layout) {
  const bool scores = problem.find(" bias=") != problem.npos || problem.find(" mask=") != problem.npos;
  return scores || layout == padded ? spaced : layout;
}

}  // namespace

Case for_triton(const Case& c, int64_t tile) {
  std::istringstream words(c.problem);
  std::string text;
  for (std::string word; words >> word;) {
    const auto is_number = [&](size_t at) { return word.size() > at && std::isdigit(word[at]); };
    if (word == "sink" || (word.starts_with("dv") && is_number(2))) continue;
    if (word.starts_with("d") && is_number(1)) word = "d" + std::to_string(tile);
    text += (text.empty() ? "" : " ") + word;
  }
  return {text, c.kind, aligned(text, c.layout)};
}

Case for_hopper(const Case& c, const Variant& v) {
  std::istringstream words(c.problem);
  std::string text, head_dim;
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find_first_of("0123456789"));
    if ((v.backward && !v.sums && word.starts_with("varlen=")) || not_of_scores(word, !v.backward || takes_dropout(v)))
      continue;
    if (v.backward && word == "sink" && !takes_sink(v)) continue;
    if (word == "sq0") word = "sq1";
    if (word == "sk0") word = "sk1";
    if (name == "d" || name == "dv") {
      const std::string eights = std::to_string((std::stoi(word.substr(name.size())) + 7) / 8 * 8);
      if (name == "d") head_dim = eights;
      else if (eights == head_dim) continue;  // a text does not repeat it
      word = name + eights;
    }
    text += (text.empty() ? "" : " ") + word;
  }
  return {text, c.kind, aligned(text, c.layout)};
}

Case for_short(const Case& c, const Variant& v) {
  const auto fitting = [&](const std::string& keys) {
    return std::to_string(std::min<int64_t>(std::stoll(keys), v.keys));
  };
  std::istringstream words(c.problem);
  std::string text;
  for (std::string word; words >> word;) {
    if (word == "sink") continue;
    if (word.starts_with("sk")) word = "sk" + fitting(word.substr(2));
    if (word.starts_with("varlen=")) {
      std::istringstream sequences(word.substr(7));
      word = "varlen=";
      for (std::string one; std::getline(sequences, one, ',');) {
        const size_t colon = one.find(':');
        word += (word.ends_with('=') ? "" : ",") + one.substr(0, colon + 1) + fitting(one.substr(colon + 1));
      }
    }
    text += (text.empty() ? "" : " ") + word;
  }
  return {text, c.kind, c.layout};
}

Case taken_by(const Case& c, const Variant& v) {
  return v.triton ? for_triton(c, v.tile) : v.hopper ? for_hopper(c, v) : v.keys > 0 ? for_short(c, v) : c;
}

}  // namespace test
