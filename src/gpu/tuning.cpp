#include "gpu/tuning.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gpu/archive.hpp"

namespace rapt::gpu {

namespace {

constexpr std::string_view kMaskNames[] = {"none", "causal", "window"};

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  for (size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

// The first words of rows of earlier versions.
constexpr std::string_view kOldWords[] = {"split",          "split_combine", "decode",         "decode_combine",
                                          "backward_dq",    "backward_dkv",  "backward_fused", "backward_dq_round",
                                          "backward_dbias", "backward_dsink"};

// These rows fire where no other does. Split-KV takes up to 16 rows of q: its tile has 16, and reads K and V for them
// alone. It also takes caches, which only its kernels read.
constexpr std::string_view kDefaultRows =
    "forward  group_rows<17  use=split.largest    by=default\n"
    "forward                 use=forward.largest  by=default\n"
    "forward                 use=split.largest    by=default\n"
    "backward                use=fused.largest    by=default\n"
    "backward                use=apart.largest    by=default\n"
    "backward                use=alone.largest    by=default\n";

class RowParser {
 public:
  RowParser(std::string_view line, std::string where) : where_(std::move(where)) {
    const std::vector<std::string_view> words = split(line, " \t\r");
    row_.where = where_;
    for (const std::string_view word : words) row_.text += cat(row_.text.empty() ? "" : " ", word);
    if (std::ranges::find(kOldWords, words[0]) != std::end(kOldWords)) {
      row_.op = words[0].starts_with("backward") ? RAPT_BACKWARD : RAPT_FORWARD;
      row_.stale = cat("it is of an earlier version, whose rows named '", words[0], "': tune again");
      return;
    }
    if (words[0] == "backward") row_.op = RAPT_BACKWARD;
    else if (words[0] != "forward") fail(cat("'", words[0], "' must be forward or backward"));
    for (size_t i = 1; i < words.size(); ++i) word(words[i]);
    for (const auto& [name, range] : ranges_)
      if (range->below != 0 && range->least >= range->below)
        fail(cat("no number is within ", name, ">= and ", name, "<"));
    row_.stale = row_.use.stale;
    if (row_.use.kernel.empty() && row_.use.shape.empty() && row_.stale.empty()) fail("use= is missing");
    if (row_.deterministic && row_.op == RAPT_FORWARD) fail("deterministic= is for rows of backward");
    if (row_.by.empty()) fail("by= is missing: how the row was obtained");
  }
  TuningRow take() { return std::move(row_); }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(RAPT_INVALID_ARGUMENT, cat(where_, ": ", what)); }

  void word(std::string_view text) {
    const std::string_view name = text.substr(0, text.find_first_of("=<") + 1);
    if (std::ranges::find(seen_, name) != seen_.end()) fail(cat("'", name, "' is given twice"));
    seen_.push_back(name);
    const auto value = [&](std::string_view key) { return text.substr(key.size()); };
    if (text.starts_with("dtype=")) row_.dtypes = dtypes(value("dtype="));
    else if (text.starts_with("mask=")) row_.masks = masks(value("mask="));
    else if (text.starts_with("features=")) row_.features = features(value("features="));
    else if (text.starts_with("deterministic="))
      row_.deterministic = yes_or_no("deterministic", value("deterministic="));
    else if (text.starts_with("cache=")) row_.cache = yes_or_no("cache", value("cache="));
    else if (text.starts_with("packed=")) row_.packed = yes_or_no("packed", value("packed="));
    else if (text.starts_with("head_dim=")) head_dims(value("head_dim="));
    else if (text.starts_with("use=")) row_.use = use(value("use="));
    else if (text.starts_with("against=")) row_.against = use(value("against="));
    else if (text.starts_with("by=")) row_.by = value("by=");
    else if (text.starts_with("gain=")) interval(value("gain="));
    else if (text.starts_with("n=")) number(value("n="));
    else if (!range_word(text))
      fail(cat("'", text,
               "' is unknown, must begin with one of dtype= mask= features= deterministic= cache= packed= head_dim= "
               "rows>= rows< group_rows>= group_rows< seqlen_k>= seqlen_k< unit_rows>= unit_rows< groups>= groups< "
               "use= by= gain= n= against="));
  }

  bool range_word(std::string_view text) {
    for (const auto& [name, range] : ranges_) {
      if (!text.starts_with(name)) continue;
      const std::string_view rest = text.substr(name.size());
      if (rest.starts_with(">=")) return range->least = number(rest.substr(2)), true;
      if (rest.starts_with("<")) return range->below = number(rest.substr(1)), true;
    }
    return false;
  }

  // "PASS.SHAPE", "PASS.dTILE.SHAPE", a kernel's name, or "NAME:8 hexadecimal digits".
  TuningUse use(std::string_view text) const {
    TuningUse u;
    const size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::vector<std::string_view> parts = split(name, ".");
    if (parts.size() == 5) {
      u.kernel = name;
      if (colon != std::string_view::npos) u.crc32 = checksum(text, text.substr(colon + 1));
      return u;
    }
    const auto* pass = std::ranges::find(kPassNames, parts.empty() ? "" : parts[0]);
    if (pass == std::end(kPassNames) && names_no_pass(parts)) {
      u.stale = cat("it is of an earlier version, whose rows did not name a pass: use=", text, "; tune again");
      return u;
    }
    if (pass == std::end(kPassNames) || parts.size() < 2 || parts.size() > 3 || colon != std::string_view::npos)
      fail(
          cat("'", text,
              "' must be a kernel's whole name, or a pass (forward, split, apart, fused, alone) with a shape, such as ",
              "forward.largest, split.k32w4 or apart.d256.k32w8"));
    u.pass = static_cast<PassKind>(pass - std::begin(kPassNames));
    if (direction_of(u.pass) != row_.op) fail(cat("'", text, "' is no pass of this row's direction"));
    if (parts.size() == 3) u.tile = tile(parts[1]);
    u.shape = parts.back();
    return u;
  }
  // "largest", "k64w8" or "d256.k64w8" of earlier versions.
  static bool names_no_pass(const std::vector<std::string_view>& parts) {
    const auto shape = [](std::string_view t) {
      return t.size() > 1 && (t[0] == 'k' || t.starts_with("tq")) && std::isdigit(t.back());
    };
    const auto known = [&](std::string_view t) { return t == "largest" || t == "smallest" || shape(t); };
    const bool tile = parts.size() == 2 && parts[0].size() > 1 && parts[0][0] == 'd' && std::isdigit(parts[0][1]);
    return (parts.size() == 1 || tile) && known(parts.back());
  }
  int32_t tile(std::string_view text) const {
    int32_t tile = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), tile);
    if (text[0] != 'd' || error != std::errc() || end != text.data() + text.size() || tile < 1)
      fail(cat("'", text, "' must be a tile, such as d128"));
    return tile;
  }
  uint32_t checksum(std::string_view whole, std::string_view digits) const {
    uint32_t crc32 = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), crc32, 16);
    if (digits.size() != 8 || error != std::errc() || end != digits.data() + digits.size())
      fail(cat("'", whole, "' must be NAME or NAME:CRC32, of 8 hexadecimal digits"));
    return crc32;
  }
  // Checks a word for people; selection does not read it.
  void interval(std::string_view text) const {
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos) fail(cat("gain '", text, "' must be LEAST..MOST"));
    if (number(text.substr(0, dots)) > number(text.substr(dots + 2)))
      fail(cat("gain '", text, "' must be LEAST..MOST"));
  }

  uint32_t dtypes(std::string_view list) const {
    uint32_t set = 0;
    for (const std::string_view name : split(list, ",")) {
      bool known = false;
      for (const DType d : {DType::fp16, DType::bf16, DType::fp32})
        if (name == dtype_name(d)) known = set |= 1u << static_cast<int>(d);
      if (!known) fail(cat("dtype '", name, "' must be fp16, bf16 or fp32"));
    }
    if (set == 0) fail("dtype= must be some of fp16, bf16 and fp32");
    return set;
  }
  uint32_t masks(std::string_view list) const {
    uint32_t set = 0;
    for (const std::string_view name : split(list, ",")) {
      const auto* found = std::find(std::begin(kMaskNames), std::end(kMaskNames), name);
      if (found == std::end(kMaskNames)) fail(cat("mask '", name, "' must be none, causal or window"));
      set |= 1u << (found - std::begin(kMaskNames));
    }
    if (set == 0) fail("mask= must be some of none, causal and window");
    return set;
  }
  std::string features(std::string_view name) const {
    if (name != "plain" && name != "general") fail(cat("features '", name, "' must be plain or general"));
    return std::string(name);
  }
  bool yes_or_no(std::string_view name, std::string_view answer) const {
    if (answer != "yes" && answer != "no") fail(cat(name, " '", answer, "' must be yes or no"));
    return answer == "yes";
  }
  void head_dims(std::string_view range) {
    const size_t dots = range.find("..");
    row_.head_dim_least = static_cast<int64_t>(number(range.substr(0, dots)));
    row_.head_dim_most =
        dots == std::string_view::npos ? row_.head_dim_least : static_cast<int64_t>(number(range.substr(dots + 2)));
    if (row_.head_dim_least > row_.head_dim_most) fail(cat("head_dim '", range, "' must be LEAST..MOST"));
  }
  double number(std::string_view text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value > 1e9)
      fail(cat("'", text, "' must be a number above 0, up to 1e9"));
    return value;
  }

  std::string where_;
  std::vector<std::string_view> seen_;  // keys of the row: "dtype=", "groups>="
  TuningRow row_;
  const std::pair<std::string_view, TuningRange*> ranges_[5] = {{"rows", &row_.rows},
                                                                {"group_rows", &row_.group_rows},
                                                                {"seqlen_k", &row_.seqlen_k},
                                                                {"unit_rows", &row_.unit_rows},
                                                                {"groups", &row_.groups}};
};

std::string hex(uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

Tuning read_table(const std::filesystem::path& path, const std::string& origin) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(RAPT_INVALID_ARGUMENT, cat(origin, path.string(), ", which cannot be read"));
  return Tuning::parse(text, path.string());
}

Tuning of_variable(const std::string& arch) {
  const char* wish = std::getenv("RAPT_TUNING");
  if (!wish || !*wish) return {};
  std::filesystem::path path = wish;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    path /= arch;
    if (!std::filesystem::exists(path, error)) return {};  // a folder need not have every architecture
  }
  if (!std::filesystem::is_regular_file(path, error))
    throw Error(RAPT_INVALID_ARGUMENT, cat("RAPT_TUNING names ", path.string(), ", which is not a file"));
  return read_table(path, "RAPT_TUNING names ");
}

Tuning of_settings(const std::string& arch) {
  const char* settings = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (settings && *settings) folder = settings;
  else if (home && *home) folder = std::filesystem::path(home) / ".config";
  else return {};
  const std::filesystem::path path = folder / "rapt" / "tuning" / arch;
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) ? read_table(path, "the user's tuning table is ") : Tuning();
}

bool leads(const Variant& v, rapt_op op) {
  if (op == RAPT_FORWARD) return v.computes(Stage::forward) || v.computes(Stage::split);
  return v.computes(Stage::backward_dkv) || v.computes(Stage::backward_fused) || v.computes(Stage::backward_dq) ||
         v.computes(Stage::backward_short);
}

}  // namespace

bool TuningRow::holds(const Needs& n, int32_t compute_units) const {
  return op == n.op && (dtypes >> static_cast<int>(n.dtype) & 1) && (masks >> static_cast<int>(n.mask) & 1) &&
         (features.empty() || features == (n.general() ? "general" : "plain")) &&
         deterministic.value_or(n.deterministic) == n.deterministic && cache.value_or(n.cache) == n.cache &&
         packed.value_or(n.packed) == n.packed && n.tile() >= head_dim_least && n.tile() <= head_dim_most &&
         rows.holds(static_cast<double>(n.seqlen_q)) && group_rows.holds(static_cast<double>(n.group_rows())) &&
         seqlen_k.holds(static_cast<double>(n.seqlen_k)) &&
         unit_rows.holds(static_cast<double>(n.batch * n.heads_q * n.seqlen_q) / compute_units);
}

Tuning Tuning::parse(std::string_view text, const std::string& name) {
  Tuning table;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark, which some editors write
  int32_t line = 0;
  for (size_t at = 0; at < text.size();) {
    ++line;
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row = text.substr(at, end - at);
    row = row.substr(0, row.find('#'));
    if (row.find('\0') != std::string_view::npos)
      throw Error(RAPT_INVALID_ARGUMENT, cat(name, " line ", line, " has a byte of 0, must be text"));
    if (row.find_first_not_of(" \t\r") != std::string_view::npos)
      table.rows.push_back(RowParser(row, cat(name, " line ", line)).take());
    at = end + 1;
  }
  return table;
}

Tuning Tuning::of(const Archive& archive, const std::string& gpu) {
  Tuning all = of_user(gpu);
  all.add(parse(archive.tuning(), cat("tuning/", archive.arch())));
  all.add(parse(kDefaultRows, "default rows"));
  all.compare_checksums(archive.variants());
  return all;
}

void Tuning::add(Tuning more) {
  rows.insert(rows.end(), std::make_move_iterator(more.rows.begin()), std::make_move_iterator(more.rows.end()));
}

void Tuning::compare_checksums(std::span<const Variant> kernels) {
  const auto why = [&](const TuningUse& use, rapt_op op) -> std::string {
    if (use.kernel.empty()) return "";
    const auto found = std::ranges::find(kernels, use.kernel, &Variant::name);
    if (found == kernels.end()) return cat("it is about ", use.kernel, ", which the archive does not have");
    if (!leads(*found, op)) return cat(use.kernel, " leads no ", op == RAPT_FORWARD ? "forward" : "backward", " pass");
    if (!use.crc32 || found->crc32 == *use.crc32) return "";
    return cat(use.kernel, " has changed since: its checksum was ", hex(*use.crc32), ", it is ", hex(found->crc32));
  };
  for (TuningRow& row : rows) {
    if (row.stale.empty()) row.stale = why(row.use, row.op);
    if (row.stale.empty()) row.stale = why(row.against, row.op);
  }
}

Tuning Tuning::of_user(const std::string& arch) {
  const char* wish = std::getenv("RAPT_TUNING");
  if (wish && std::string_view(wish) == "none") return {};
  Tuning rows = of_variable(arch);
  rows.add(of_settings(arch));
  return rows;
}

std::string Tuning::passed_over(const TuningRow& fired, const Needs& n, int32_t compute_units) const {
  constexpr int32_t kNamed = 8;
  std::string text;
  int32_t count = 0;
  for (const TuningRow& row : rows) {
    if (&row == &fired) break;
    if (row.stale.empty() || !row.holds(n, std::max(compute_units, 1))) continue;
    if (++count <= kNamed) text += cat("; ", row.where, " was passed over: ", row.stale);
  }
  return count <= kNamed ? text : cat(text, "; and ", count - kNamed, " more were");
}

}  // namespace rapt::gpu
