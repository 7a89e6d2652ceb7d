#include "gpu/tuning.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"

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
    if (row_.use.empty()) fail("use= is missing");
    if (row_.by.empty()) fail("by= is missing: how the row was obtained");
    if (row_.use == "forward" && row_.stage != Stage::decode) fail("use=forward is for rows of decode");
    if (row_.use == "apart" && row_.stage != Stage::backward_fused) fail("use=apart is for rows of backward_fused");
    if (row_.use == "forward" && (row_.groups_least > 0 || row_.groups_below > 0))
      fail("groups are those of the kernel that the row names, use=forward names none");
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
    else if (text.starts_with("rows>=")) row_.rows_least = number(value("rows>="));
    else if (text.starts_with("rows<")) row_.rows_below = number(value("rows<"));
    else if (text.starts_with("groups>=")) row_.groups_least = number(value("groups>="));
    else if (text.starts_with("groups<")) row_.groups_below = number(value("groups<"));
    else if (text.starts_with("use=")) row_.use = value("use=");
    else if (text.starts_with("by=")) row_.by = value("by=");
    else
      fail(cat("'", text,
               "' is unknown, must begin with one of dtype= mask= features= head_dim= rows>= rows< groups>= "
               "groups< use= by="));
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
      fail(cat("'", text, "' must be a number above 0"));
    return value;
  }

  std::string where_;
  std::vector<std::string_view> seen_;  // keys of the row: "dtype=", "groups>="
  TuningRow row_;
};

}  // namespace

bool TuningRow::unconditional() const {
  return dtypes == ~0u && masks == ~0u && features.empty() && head_dim_least <= 1 && head_dim_most >= kMaxHeadDim &&
         rows_least == 0 && rows_below == 0 && groups_least == 0 && groups_below == 0 &&
         (use == "largest" || use == "smallest");
}

Tuning Tuning::parse(std::string_view text, const std::string& name, Extent extent) {
  Tuning table;
  int32_t line = 0;
  for (size_t at = 0; at < text.size();) {
    ++line;
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row = text.substr(at, end - at);
    row = row.substr(0, row.find('#'));
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

Tuning Tuning::of_user(const std::string& arch) {
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
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(RAPT_INVALID_ARGUMENT, cat("RAPT_TUNING names ", path.string(), ", which cannot be read"));
  return parse(text, path.string(), Extent::part);
}

}  // namespace rapt::gpu
