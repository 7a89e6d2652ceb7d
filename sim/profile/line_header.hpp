// The header of a line number program: its parameters and its files.
#pragma once

#include "sim/loader/bytes.hpp"

namespace rapt::sim {

// Reads forwards; reading past the end is a LoadError.
class DwarfReader {
 public:
  explicit DwarfReader(std::span<const std::byte> bytes) : bytes_(bytes, ".debug_line"), end_(bytes.size()) {}

  bool done() const { return at_ >= end_; }
  std::uint64_t position() const { return at_; }
  void go_to(std::uint64_t position) { at_ = position; }
  template <typename T>
  T take() {
    const T value = bytes_.at<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  std::uint64_t unsigned_leb();
  std::int64_t signed_leb();
  std::string_view text();
  std::span<const std::byte> part(std::uint64_t size);
  std::uint64_t offset(bool wide) { return wide ? take<std::uint64_t>() : take<std::uint32_t>(); }

 private:
  Bytes bytes_;
  std::uint64_t at_ = 0, end_;
};

struct DebugStrings {
  Bytes strings, line_strings;
};

struct LineHeader {
  unsigned version = 0, minimum_length = 1, line_range = 1, opcode_base = 1;
  int line_base = 0;
  std::vector<std::uint8_t> operand_counts;  // of standard opcode n at n - 1
  std::vector<std::string> directories, files;
  unsigned first_file = 1;  // the number of files[0]
};
// One of 12 in version 4 and 5; others are a LoadError. `wide`: 64-bit DWARF. Ends at the program's first opcode.
LineHeader read_line_header(DwarfReader& reader, bool wide, const DebugStrings& strings);

}  // namespace rapt::sim
