#include "sim/profile/line_table.hpp"

#include "sim/loader/elf.hpp"
#include "sim/profile/line_header.hpp"

#include <algorithm>

namespace rapt::sim {

namespace {

constexpr unsigned copy = 1, advance_pc = 2, advance_line = 3, set_file = 4, const_add_pc = 8, fixed_advance_pc = 9;
constexpr unsigned end_sequence = 1, set_address = 2;

std::span<const std::byte> section(std::span<const std::byte> file, const Elf64_Ehdr& header, std::string_view name) {
  const Bytes bytes(file, "section headers");
  if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  const auto at = [&](unsigned n) { return bytes.at<Elf64_Shdr>(header.e_shoff + n * sizeof(Elf64_Shdr)); };
  if (header.e_shstrndx >= header.e_shnum) return {};
  const Elf64_Shdr names = at(header.e_shstrndx);
  const Bytes texts(bytes.part(names.sh_offset, names.sh_size), "section names");
  for (unsigned n = 0; n < header.e_shnum; ++n) {
    const Elf64_Shdr candidate = at(n);
    if (candidate.sh_type == SHT_NOBITS || texts.text(candidate.sh_name) != name) continue;
    if (candidate.sh_flags & SHF_COMPRESSED) broken(std::string(name) + " is compressed");
    return bytes.part(candidate.sh_offset, candidate.sh_size);
  }
  return {};
}

}  // namespace

struct LineTable::Unit {
  LineHeader header;
  std::vector<std::uint32_t> files;  // indices of the table's files
  DwarfReader reader;

  std::uint64_t address = 0, file = 1, line = 1;
  bool open = false;  // a row of this sequence has begun
  std::uint64_t begin = 0;
  SourceLine row;

  void start_sequence() { address = 0, file = 1, line = 1, open = false; }
  SourceLine here() const {
    const std::uint64_t index = file - header.first_file;
    return {index < files.size() ? files[index] : 0, static_cast<std::uint32_t>(line)};
  }
};

LineTable::LineTable(std::span<const std::byte> lines, std::span<const std::byte> strings,
                     std::span<const std::byte> line_strings) {
  const DebugStrings texts{{strings, ".debug_str"}, {line_strings, ".debug_line_str"}};
  DwarfReader reader(lines);
  files_.emplace_back("?");
  while (!reader.done()) {
    std::uint64_t size = reader.take<std::uint32_t>();
    const bool wide = size == 0xffffffff;
    if (wide) size = reader.take<std::uint64_t>();
    Unit unit{{}, {}, DwarfReader(reader.part(size)), 0, 1, 1, false, 0, {}};
    unit.header = read_line_header(unit.reader, wide, texts);
    for (const std::string& name : unit.header.files) unit.files.push_back(file_index(name));
    run(unit);
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

std::uint32_t LineTable::file_index(const std::string& name) {
  const auto index = static_cast<std::uint32_t>(std::find(files_.begin(), files_.end(), name) - files_.begin());
  if (index == files_.size()) files_.push_back(name);
  return index;
}

void LineTable::run(Unit& u) {
  const LineHeader& h = u.header;
  DwarfReader& r = u.reader;
  // A row is valid up to the next one of its sequence.
  const auto emit = [&](bool last) {
    if (u.open && u.address > u.begin) ranges_.push_back({u.begin, u.address, u.row});
    u.open = !last;
    u.begin = u.address;
    u.row = u.here();
  };
  const auto advance = [&](std::uint64_t operations) { u.address += operations * h.minimum_length; };
  while (!r.done()) {
    const unsigned opcode = r.take<std::uint8_t>();
    if (opcode >= h.opcode_base) {
      const unsigned adjusted = opcode - h.opcode_base;
      advance(adjusted / h.line_range);
      u.line += static_cast<std::uint64_t>(h.line_base + static_cast<int>(adjusted % h.line_range));
      emit(false);
    } else if (opcode == 0) {
      DwarfReader extended(r.part(r.unsigned_leb()));
      const unsigned kind = extended.take<std::uint8_t>();
      if (kind == end_sequence) emit(true), u.start_sequence();
      else if (kind == set_address) u.address = extended.take<std::uint64_t>();
    } else {
      switch (opcode) {
        case copy: emit(false); break;
        case advance_pc: advance(r.unsigned_leb()); break;
        case advance_line: u.line += static_cast<std::uint64_t>(r.signed_leb()); break;
        case set_file: u.file = r.unsigned_leb(); break;
        case const_add_pc: advance((255 - h.opcode_base) / h.line_range); break;
        case fixed_advance_pc: u.address += r.take<std::uint16_t>(); break;
        default:
          for (unsigned n = 0; n < h.operand_counts[opcode - 1]; ++n) r.unsigned_leb();
          break;
      }
    }
  }
}

LineTable LineTable::of_file(std::span<const std::byte> file) {
  const Elf64_Ehdr header = elf::header(file);
  const auto lines = section(file, header, ".debug_line");
  if (lines.empty()) return {};
  return {lines, section(file, header, ".debug_str"), section(file, header, ".debug_line_str")};
}

const SourceLine* LineTable::find(std::uint64_t address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](std::uint64_t a, const Range& range) { return a < range.begin; });
  if (after == ranges_.begin() || (--after)->end <= address || after->line.line == 0) return nullptr;
  return &after->line;
}

}  // namespace rapt::sim
