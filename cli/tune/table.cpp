#include "cli/tune/table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/inputs/error.hpp"
#include "common/atomic_file.hpp"

namespace rapt::cli {

namespace {

constexpr std::string_view kHead = "# Below here `rapt tune` writes. Rows above come first, and stay.";
constexpr std::string_view kNote = "# tuned on ";
constexpr std::string_view kTried = "# tried ";

// Between such rows, only the shape of the problem decides.
bool same_kind(const TuneRow& a, const TuneRow& b) {
  return a.direction == b.direction && a.dtype == b.dtype && a.features == b.features &&
         a.deterministic == b.deterministic && a.cache == b.cache && a.mask == b.mask &&
         a.head_dim_least == b.head_dim_least && a.head_dim_most == b.head_dim_most &&
         a.group_rows.has_value() == b.group_rows.has_value();
}

bool same_answer(const TuneRow& a, const TuneRow& b) {
  return a.use == b.use && a.by == b.by && a.against == b.against;
}

CellSpan around(const CellSpan& a, const CellSpan& b) { return {std::min(a.first, b.first), std::max(a.last, b.last)}; }

bool meet(const CellSpan& a, const CellSpan& b) { return a.first <= b.last && b.first <= a.last; }

bool meet(const TuneRow& a, const TuneRow& b) {
  return (!a.group_rows || !b.group_rows || meet(*a.group_rows, *b.group_rows)) && meet(a.seqlen_k, b.seqlen_k) &&
         meet(a.unit_rows, b.unit_rows);
}

// A row for both, and for the cells between them, unless one of these has another answer.
std::optional<TuneRow> joined(const TuneRow& a, const TuneRow& b, const std::vector<TuneRow>& cells) {
  if (!same_kind(a, b) || !same_answer(a, b)) return std::nullopt;
  TuneRow row = a;
  if (row.group_rows) row.group_rows = around(*a.group_rows, *b.group_rows);
  row.seqlen_k = around(a.seqlen_k, b.seqlen_k);
  row.unit_rows = around(a.unit_rows, b.unit_rows);
  row.gain = {std::min(a.gain.low, b.gain.low), std::max(a.gain.high, b.gain.high)};
  row.rounds = std::min(a.rounds, b.rounds);
  for (const TuneRow& cell : cells)  // overlap is rare, and the cheapest test
    if (meet(cell, row) && same_kind(cell, row) && !same_answer(cell, row)) return std::nullopt;
  return row;
}

// Beyond the smallest and the largest cell that was tried, its answer is the best guess. It is not for fewer rows of q,
// which have kernels of their own, nor for more rows of a split kernel, which reads K and V again for every 16.
void open_at_edges(TuneRow& row, const std::vector<TuneRow>& cells) {
  const auto open = [&](auto axis, bool below) {
    CellSpan all = axis(row);
    for (const TuneRow& cell : cells)
      if (same_kind(cell, row)) all = around(all, axis(cell));
    CellSpan span = axis(row);
    if (below && span.first == all.first) span.first = 0;
    if (span.last == all.last) span.last = kLastCell;
    return span;
  };
  row.seqlen_k = open([](const TuneRow& r) { return r.seqlen_k; }, true);
  row.unit_rows = open([](const TuneRow& r) { return r.unit_rows; }, true);
  if (row.group_rows && !row.use.starts_with("split"))
    row.group_rows = open([](const TuneRow& r) { return *r.group_rows; }, false);
}

std::vector<TuneRow> rows_of(const std::vector<TuneRow>& cells) {
  std::vector<TuneRow> rows;
  for (const TuneRow& cell : cells) {
    if (cell.use.empty()) continue;
    TuneRow row = cell;
    row.among.clear();
    for (size_t i = 0; i < rows.size();) {
      const std::optional<TuneRow> both = joined(rows[i], row, cells);
      if (!both) {
        ++i;
        continue;
      }
      row = *both;  // further rows may now join it
      rows.erase(rows.begin() + static_cast<ptrdiff_t>(i));
      i = 0;
    }
    rows.push_back(row);
  }
  for (TuneRow& row : rows) open_at_edges(row, cells);
  return rows;
}

// True for a blank line, a comment, or a row. Any other file would otherwise be taken for rows that people wrote.
bool may_be_of_a_table(std::string_view line) {
  line = line.substr(0, line.find('#'));
  if (line.find('\0') != std::string_view::npos) return false;
  return line.find_first_not_of(" \t\r") == std::string_view::npos ||
         (line.find("use=") != std::string_view::npos && line.find("by=") != std::string_view::npos);
}

std::string without_newline(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return std::string(line);
}

std::filesystem::path folder_of(const std::string& path) { return std::filesystem::absolute(path).parent_path(); }

// Locks the folder: a lock file would be left behind, and the table itself is replaced.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const std::filesystem::path folder = folder_of(path);
    fd_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0) {
      if (fd_ >= 0) close(fd_);
      throw InputError(fmt::format("{} cannot be locked to write the table {}", folder.string(), path));
    }
  }
  ~FolderLock() { close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

}  // namespace

double CellSpan::least() const { return first == 0 ? 0 : std::ldexp(0.75, first); }
double CellSpan::below() const { return last == kLastCell ? 0 : std::ldexp(0.75, last + 1); }

CellSpan cell_of(double number) {
  int cell = 0;
  while (number >= std::ldexp(0.75, cell + 1) && cell < kLastCell) ++cell;
  return {cell, cell};
}

bool TuneRow::same_cell(const TuneRow& o) const {
  return direction == o.direction && dtype == o.dtype && features == o.features && deterministic == o.deterministic &&
         cache == o.cache && mask == o.mask && head_dim_least == o.head_dim_least && head_dim_most == o.head_dim_most &&
         group_rows == o.group_rows && seqlen_k == o.seqlen_k && unit_rows == o.unit_rows;
}

const TuneRow* TuneTable::find(const TuneRow& cell) const {
  const auto found = std::ranges::find_if(cells_, [&](const TuneRow& c) { return c.same_cell(cell); });
  return found == cells_.end() ? nullptr : &*found;
}

void TuneTable::put(const TuneRow& cell) {
  std::erase_if(cells_, [&](const TuneRow& c) { return c.same_cell(cell); });
  cells_.push_back(cell);
}

void TuneTable::note(const std::string& name, const std::string& rest) {
  const std::string begin = fmt::format("{}{}", kNote, name);
  std::erase_if(notes_, [&](const std::string& line) { return line.starts_with(begin); });
  notes_.push_back(begin + rest);
}

TuneTable TuneTable::parse(std::string_view text) {
  TuneTable table;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark, which some editors write
  bool head = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (without_newline(line) == kHead) head = true;
    else if (!head) table.kept_.push_back(without_newline(line));
    else if (line.starts_with(kNote)) table.notes_.push_back(without_newline(line));
    else if (line.starts_with(kTried))
      if (const auto cell = TuneRow::parse(line.substr(kTried.size()))) table.put(*cell);
  }
  while (!table.kept_.empty() && table.kept_.back().empty()) table.kept_.pop_back();
  return table;
}

TuneTable TuneTable::read(const std::string& path) {
  std::error_code error;
  if (const auto folder = folder_of(path); access(folder.c_str(), W_OK | X_OK) != 0)
    throw InputError(fmt::format("the table's path is {}, but its folder {} cannot be written: {}", path,
                                 folder.string(), std::strerror(errno)));
  if (!std::filesystem::exists(path, error)) return {};
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError(fmt::format("the table's path is {}, must be a file", path));
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw InputError(fmt::format("{} cannot be read", path));
  TuneTable table = parse(text);
  for (size_t i = 0; i < table.kept_.size(); ++i)
    if (!may_be_of_a_table(table.kept_[i]))
      throw InputError(
          fmt::format("{} line {} is no row of a table: the path must name a table or a new file", path, i + 1));
  return table;
}

std::string TuneTable::text() const {
  std::string text;
  for (const std::string& line : kept_) text += line + "\n";
  if (!kept_.empty()) text += "\n";
  text += fmt::format("{}\n", kHead);
  for (const std::string& line : notes_) text += line + "\n";
  text += "\n";
  const auto add = [&](std::string_view begin, const std::vector<TuneRow>& rows) {
    std::vector<std::string> lines;
    for (const TuneRow& row : rows) lines.push_back(fmt::format("{}{}\n", begin, row.text()));
    std::ranges::sort(lines);
    for (const std::string& line : lines) text += line;
  };
  const std::vector<TuneRow> rows = rows_of(cells_);
  add("", rows);
  if (!rows.empty()) text += "\n";
  add(kTried, cells_);
  return text;
}

void update_table(const std::string& given, const std::function<void(TuneTable&)>& change) {
  std::error_code error;
  const bool link =
      std::filesystem::is_symlink(given, error);  // the link stays, and the file that it names is replaced
  const std::string path = link ? std::filesystem::weakly_canonical(given).string() : given;
  const FolderLock lock(path);
  TuneTable table = TuneTable::read(path);
  change(table);
  common::write_file(path, table.text());
}

}  // namespace rapt::cli
