#include "sim/validate/input/csv.hpp"

#include <algorithm>

namespace rapt::sim::validate {
namespace {

// Splits the text into records; keeps the line numbers for messages.
class Reader {
 public:
  Reader(std::string_view text, const CsvTable& table) : text_(text), table_(table) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the mark that spreadsheets put before UTF-8
  }

  bool done() const { return at_ == text_.size(); }

  CsvTable::Record record() {
    CsvTable::Record record{line_, {}};
    do record.fields.push_back(field());
    while (take(','));
    end_of_line();
    return record;
  }

 private:
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
    if (end < text_.size() && text_[end] == '"') table_.fail(line_, "a quotation mark inside an unquoted field");
    std::string value(text_.substr(at_, end - at_));
    at_ = end;
    return value;
  }

  std::string quoted() {
    const unsigned begin = line_;
    std::string value;
    while (!done()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return value;
      if (c == '\n') ++line_;
      value += c;
    }
    table_.fail(begin, "a quoted field does not end");
  }

  void end_of_line() {
    if (done()) return;
    const bool carriage_return = take('\r');
    if (!take('\n') && !(carriage_return && done())) table_.fail(line_, "text behind a quoted field");
    ++line_;
  }

  std::string_view text_;
  const CsvTable& table_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file) : file_(std::move(file)) {
  Reader reader(text, *this);
  if (reader.done()) fail(1, "there is no header");
  header_ = reader.record().fields;
  for (auto name = header_.begin(); name != header_.end(); ++name)
    if (std::find(header_.begin(), name, *name) != name) fail(1, "two columns are called '" + *name + "'");
  while (!reader.done()) {
    Record record = reader.record();
    if (record.fields.size() == 1 && record.fields[0].empty()) continue;  // an empty line
    if (record.fields.size() != header_.size())
      fail(record.line, std::to_string(record.fields.size()) + " fields, but the header has " +
                            std::to_string(header_.size()) + " columns");
    records_.push_back(std::move(record));
  }
}

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) fail(1, "no column is called '" + std::string(name) + "'");
  return static_cast<std::size_t>(found - header_.begin());
}

void CsvTable::fail(unsigned line, const std::string& what) const {
  throw InputError("'" + file_ + "', line " + std::to_string(line) + ": " + what);
}

}  // namespace rapt::sim::validate
