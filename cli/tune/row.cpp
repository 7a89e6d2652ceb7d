// Rows of a tuned table as text.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/tune/table.hpp"

namespace rapt::cli {

namespace {

std::string conditions(const char* name, const CellSpan& span) {
  std::string words;
  if (span.first > 0) words += fmt::format(" {}>={}", name, span.least());
  if (span.last < kLastCell) words += fmt::format(" {}<{}", name, span.below());
  return words;
}

// The cell that this number bounds; empty if no cell has this bound.
std::optional<int> cell_at(double bound) {
  const double cell = std::log2(bound / 0.75);
  if (!(cell >= 0) || cell > 40 || cell != std::floor(cell)) return std::nullopt;
  return static_cast<int>(cell);
}

template <class Number>
bool read(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

template <class Number>
bool read_pair(std::string_view text, Number& first, Number& second) {
  const size_t dots = text.find("..");
  return dots != std::string_view::npos && read(text.substr(0, dots), first) && read(text.substr(dots + 2), second);
}

// Reads one of a span's two words; each may be missing.
bool read_bound(std::string_view word, std::string_view name, CellSpan& span) {
  if (!word.starts_with(name)) return false;
  word.remove_prefix(name.size());
  const bool least = word.starts_with(">=");
  double bound = 0;
  if ((!least && !word.starts_with("<")) || !read(word.substr(least ? 2 : 1), bound)) return false;
  const std::optional<int> cell = cell_at(bound);
  if (!cell) return false;
  if (least) return span.first = *cell, true;
  if (*cell == 0) return false;
  return span.last = *cell - 1, true;
}

class Reader {
 public:
  Reader() { row_.seqlen_k = row_.unit_rows = kAll; }

  // False for a word that TuneRow::text does not write.
  bool word(std::string_view word) {
    const auto value = [&](std::string_view key) { return word.substr(key.size()); };
    CellSpan rows = row_.group_rows.value_or(kAll);
    if (read_bound(word, "group_rows", rows)) return row_.group_rows = rows, true;
    if (read_bound(word, "seqlen_k", row_.seqlen_k) || read_bound(word, "unit_rows", row_.unit_rows)) return true;
    for (const auto& [key, text] : {std::pair<std::string_view, std::string&>{"dtype=", row_.dtype},
                                    {"features=", row_.features},
                                    {"deterministic=", row_.deterministic},
                                    {"cache=", row_.cache},
                                    {"mask=", row_.mask},
                                    {"use=", row_.use},
                                    {"by=", row_.by},
                                    {"against=", row_.against},
                                    {"among=", row_.among}})
      if (word.starts_with(key)) return text = value(key), true;
    if (word.starts_with("head_dim=")) return read_pair(value("head_dim="), row_.head_dim_least, row_.head_dim_most);
    if (word.starts_with("gain=")) return read_pair(value("gain="), row_.gain.low, row_.gain.high);
    if (word.starts_with("n=")) return read(value("n="), row_.rounds);
    return false;
  }
  std::optional<TuneRow> take(std::string_view direction) {
    row_.direction = direction;
    const bool whole = (direction == "forward" || direction == "backward") && !row_.dtype.empty() &&
                       !row_.mask.empty() && row_.head_dim_most >= row_.head_dim_least && !row_.by.empty() &&
                       row_.rounds > 0 && !row_.against.empty();
    return whole ? std::optional(row_) : std::nullopt;
  }

 private:
  static constexpr CellSpan kAll = {0, kLastCell};
  TuneRow row_;
};

}  // namespace

std::string TuneRow::text() const {
  std::string line =
      fmt::format("{} dtype={} head_dim={}..{} mask={}", direction, dtype, head_dim_least, head_dim_most, mask);
  if (!features.empty()) line += " features=" + features;
  if (!deterministic.empty()) line += " deterministic=" + deterministic;
  if (!cache.empty()) line += " cache=" + cache;
  if (group_rows) line += conditions("group_rows", *group_rows);
  line += conditions("seqlen_k", seqlen_k) + conditions("unit_rows", unit_rows);
  if (!use.empty()) line += " use=" + use;
  line += fmt::format(" by={} gain={:.3f}..{:.3f} n={} against={}", by, gain.low, gain.high, rounds, against);
  return among.empty() ? line : line + " among=" + among;
}

std::optional<TuneRow> TuneRow::parse(std::string_view line) {
  Reader reader;
  std::string_view direction;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find_first_of(" \r"));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.empty()) continue;
    if (direction.empty()) direction = word;
    else if (!reader.word(word)) return std::nullopt;
  }
  return reader.take(direction);
}

}  // namespace rapt::cli
