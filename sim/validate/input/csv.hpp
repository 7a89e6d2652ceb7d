// Comma-separated values (RFC 4180) with a header: fields may be quoted, and columns are found by name.
#pragma once

#include "sim/validate/input/input_error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rapt::sim::validate {

class CsvTable {
 public:
  struct Record {
    unsigned line;  // where it begins, from 1
    std::vector<std::string> fields;
  };

  // `file` is what messages call the text. Each record must have as many fields as the header.
  CsvTable(std::string_view text, std::string file);

  std::size_t column(std::string_view name) const;  // InputError if there is none of that name
  const std::vector<Record>& records() const { return records_; }
  [[noreturn]] void fail(unsigned line, const std::string& what) const;

 private:
  std::string file_;
  std::vector<std::string> header_;
  std::vector<Record> records_;
};

}  // namespace rapt::sim::validate
