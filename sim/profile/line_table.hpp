// Source lines of addresses: the section .debug_line of a code object (DWARF 4 and 5, "Line Number Information").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rapt::sim {

struct SourceLine {
  std::uint32_t file = 0, line = 0;  // file: an index of LineTable::files; line 0: the compiler names none
};

class LineTable {
 public:
  LineTable() = default;
  // The three sections, empty if there are none. Throws LoadError if they are broken.
  LineTable(std::span<const std::byte> lines, std::span<const std::byte> strings,
            std::span<const std::byte> line_strings);
  // That of an ELF file; without debug information an empty table.
  static LineTable of_file(std::span<const std::byte> elf);

  // address: as in the file, not as loaded. Null where no line is known.
  const SourceLine* find(std::uint64_t address) const;
  const std::vector<std::string>& files() const { return files_; }
  bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    std::uint64_t begin, end;
    SourceLine line;
  };
  struct Unit;
  std::uint32_t file_index(const std::string& name);
  void run(Unit& unit);

  std::vector<Range> ranges_;  // by begin
  std::vector<std::string> files_;
};

}  // namespace rapt::sim
