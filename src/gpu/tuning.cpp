#include "gpu/tuning.hpp"

#include <algorithm>
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

class RowParser {
 public:
  RowParser(std::string_view line, std::string where) : where_(std::move(where)) {
    const std::vector<std::string_view> words = split(line, " \t\r");
    row_.where = where_;
    row_.stage = stage(words[0]);
    for (const std::string_view word : words) row_.text += cat(row_.text.empty() ? "" : " ", word);
    for (size_t i = 1; i < words.size(); ++i) word(words[i]);
    for (const auto& [name, range] : ranges_)
      if (range->below != 0 && range->least >= range->below)
        fail(cat("no number is within ", name, ">= and ", name, "<"));
    if (row_.use.name.empty()) fail("use= is missing");
    if (row_.by.empty()) fail("by= is missing: how the row was obtained");
    if (row_.use.name == "forward" && row_.stage != Stage::split) fail("use=forward is for rows of split");
    if (row_.use.name == "apart" && row_.stage != Stage::backward_fused)
      fail("use=apart is for rows of backward_fused");
    if (row_.leaves() && !row_.groups.any())
      fail(cat("groups are those of the kernel that the row names, use=", row_.use.name, " names none of its stage"));
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
    else if (text.starts_with("head_dim=")) head_dims(value("head_dim="));
    else if (text.starts_with("use=")) row_.use = kernel(value("use="));
    else if (text.starts_with("against=")) row_.against = kernel(value("against="));
    else if (text.starts_with("by=")) row_.by = value("by=");
    else if (text.starts_with("gain=")) interval(value("gain="));
    else if (text.starts_with("n=")) number(value("n="));
    else if (!range_word(text))
      fail(cat("'", text,
               "' is unknown, must begin with one of dtype= mask= features= head_dim= rows>= rows< seqlen_k>= "
               "seqlen_k< unit_rows>= unit_rows< groups>= groups< use= by= gain= n= against="));
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

  // "NAME" or "NAME:8 hexadecimal digits".
  TuningKernel kernel(std::string_view text) const {
    const size_t colon = text.find(':');
    TuningKernel k{std::string(text.substr(0, colon)), std::nullopt};
    if (colon == std::string_view::npos) return k;
    const std::string_view digits = text.substr(colon + 1);
    uint32_t crc32 = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), crc32, 16);
    if (digits.size() != 8 || error != std::errc() || end != digits.data() + digits.size())
      fail(cat("'", text, "' must be NAME or NAME:CRC32, of 8 hexadecimal digits"));
    k.crc32 = crc32;
    return k;
  }
  // For people; selection does not read it.
  void interval(std::string_view text) const {
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos) fail(cat("gain '", text, "' must be LEAST..MOST"));
    if (number(text.substr(0, dots)) > number(text.substr(dots + 2)))
      fail(cat("gain '", text, "' must be LEAST..MOST"));
  }

  Stage stage(std::string_view name) const {
    std::string names;
    for (const auto& known : operations::kStages) {
      if (known.name == name) return known.stage;
      names += cat(names.empty() ? "" : ", ", known.name);
    }
    fail(cat("'", name, "' is not a stage, must be one of ", names));
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
  const std::pair<std::string_view, TuningRange*> ranges_[4] = {
      {"rows", &row_.rows}, {"seqlen_k", &row_.seqlen_k}, {"unit_rows", &row_.unit_rows}, {"groups", &row_.groups}};
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
  return Tuning::parse(text, path.string(), Tuning::Extent::part);
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

}  // namespace

bool TuningRow::unconditional() const {
  return dtypes == ~0u && masks == ~0u && features.empty() && head_dim_least <= 1 && head_dim_most >= kMaxHeadDim &&
         rows.any() && seqlen_k.any() && unit_rows.any() && groups.any() &&
         (use.name == "largest" || use.name == "smallest");
}

std::string_view TuningRow::leaves_to() const {
  const bool is_dq = stage == Stage::backward_fused && use.name.starts_with("backward_dq.");
  return is_dq ? std::string_view(use.name) : std::string_view();
}

bool TuningRow::leaves() const { return use.name == "forward" || use.name == "apart" || !leaves_to().empty(); }

Tuning Tuning::parse(std::string_view text, const std::string& name, Extent extent) {
  Tuning table;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark, of some editors
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
  if (extent == Extent::part) return table;
  for (const auto& [stage, stage_name] : operations::kStages)
    if (const TuningRow* const last = table.last_of(stage); last && !last->unconditional())
      throw Error(RAPT_INVALID_ARGUMENT, cat(name, ": the last row of ", stage_name, " must match every problem: '",
                                             stage_name, " use=smallest by=...' or use=largest"));
  return table;
}

const TuningRow* Tuning::last_of(Stage stage) const {
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [&](const TuningRow& row) { return row.stage == stage; });
  return last == rows.rend() ? nullptr : &*last;
}

void Tuning::compare_checksums(std::span<const Variant> variants) {
  const auto why = [&](const TuningKernel& kernel) -> std::string {
    if (!kernel.crc32) return "";
    const auto found = std::ranges::find(variants, kernel.name, &Variant::name);
    if (found == variants.end()) return cat("it is about ", kernel.name, ", which the archive has not");
    if (found->crc32 == *kernel.crc32) return "";
    return cat(kernel.name, " has changed since: its checksum was ", hex(*kernel.crc32), ", it is ", hex(found->crc32));
  };
  for (TuningRow& row : rows) {
    row.stale = why(row.use);
    if (row.stale.empty()) row.stale = why(row.against);
  }
}

Tuning Tuning::of_user(const std::string& arch) {
  const char* wish = std::getenv("RAPT_TUNING");
  if (wish && std::string_view(wish) == "none") return {};
  Tuning rows = of_variable(arch);
  const Tuning more = of_settings(arch);
  rows.rows.insert(rows.rows.end(), more.rows.begin(), more.rows.end());
  return rows;
}

}  // namespace rapt::gpu
