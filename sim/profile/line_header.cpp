#include "sim/profile/line_header.hpp"

namespace rapt::sim {
namespace {

constexpr unsigned content_path = 1, content_directory = 2;
constexpr unsigned form_data2 = 0x05, form_data4 = 0x06, form_data8 = 0x07, form_string = 0x08, form_block = 0x09,
                   form_data1 = 0x0b, form_strp = 0x0e, form_udata = 0x0f, form_data16 = 0x1e, form_line_strp = 0x1f;

struct Value {
  std::uint64_t number = 0;
  std::string text;
};

Value read_form(DwarfReader& r, std::uint64_t form, bool wide, const DebugStrings& strings) {
  switch (form) {
    case form_string: return {0, std::string(r.text())};
    case form_strp: return {0, std::string(strings.strings.text(r.offset(wide)))};
    case form_line_strp: return {0, std::string(strings.line_strings.text(r.offset(wide)))};
    case form_data1: return {r.take<std::uint8_t>(), {}};
    case form_data2: return {r.take<std::uint16_t>(), {}};
    case form_data4: return {r.take<std::uint32_t>(), {}};
    case form_data8: return {r.take<std::uint64_t>(), {}};
    case form_udata: return {r.unsigned_leb(), {}};
    case form_data16: r.part(16); return {};
    case form_block: r.part(r.unsigned_leb()); return {};
    default: broken(".debug_line: unknown form " + hex(form));
  }
}

std::string join(const std::vector<std::string>& directories, std::uint64_t directory, const std::string& name) {
  if (name.starts_with('/') || directory >= directories.size() || directories[directory].empty()) return name;
  return directories[directory] + "/" + name;
}

// Version 5: a description of the columns, then the rows.
std::vector<std::string> read_entries(DwarfReader& r, bool wide, const DebugStrings& strings,
                                      const std::vector<std::string>* directories) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> columns(r.take<std::uint8_t>());
  for (auto& [content, form] : columns) content = r.unsigned_leb(), form = r.unsigned_leb();
  const std::uint64_t count = r.unsigned_leb();
  if (columns.empty() && count != 0) broken(".debug_line: entries without a description");
  std::vector<std::string> names;
  for (std::uint64_t n = 0; n < count; ++n) {
    Value path, directory;
    for (const auto& [content, form] : columns) {
      Value value = read_form(r, form, wide, strings);
      if (content == content_path) path = std::move(value);
      if (content == content_directory) directory = std::move(value);
    }
    names.push_back(directories ? join(*directories, directory.number, path.text) : path.text);
  }
  return names;
}

// Version 4: strings up to an empty one. Directory 0, the compilation's, is not in the list.
void read_lists(DwarfReader& r, LineHeader& header) {
  header.directories.emplace_back();
  for (auto text = r.text(); !text.empty(); text = r.text()) header.directories.emplace_back(text);
  for (auto text = r.text(); !text.empty(); text = r.text()) {
    const std::string name(text);
    const std::uint64_t directory = r.unsigned_leb();
    r.unsigned_leb();  // time
    r.unsigned_leb();  // size
    header.files.push_back(join(header.directories, directory, name));
  }
}

}  // namespace

std::uint64_t DwarfReader::unsigned_leb() {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return value;
  }
}

std::int64_t DwarfReader::signed_leb() {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) != 0) continue;
    if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
    return static_cast<std::int64_t>(value);
  }
}

std::string_view DwarfReader::text() {
  const std::string_view text = bytes_.text(at_);
  at_ += text.size() + 1;
  return text;
}

std::span<const std::byte> DwarfReader::part(std::uint64_t size) {
  const auto part = bytes_.part(at_, size);
  at_ += size;
  return part;
}

LineHeader read_line_header(DwarfReader& r, bool wide, const DebugStrings& strings) {
  LineHeader header;
  header.version = r.take<std::uint16_t>();
  if (header.version != 4 && header.version != 5)
    broken(".debug_line: version " + std::to_string(header.version) + ", versions 4 and 5 are known");
  if (header.version == 5) r.part(2);  // sizes of addresses and segments
  const std::uint64_t length = r.offset(wide);
  const std::uint64_t begin = r.position();
  header.minimum_length = r.take<std::uint8_t>();
  r.part(2);  // operations of an instruction; whether rows begin as statements
  header.line_base = r.take<std::int8_t>();
  header.line_range = r.take<std::uint8_t>();
  header.opcode_base = r.take<std::uint8_t>();
  if (header.line_range == 0 || header.opcode_base == 0) broken(".debug_line: a header without ranges of opcodes");
  for (unsigned n = 1; n < header.opcode_base; ++n) header.operand_counts.push_back(r.take<std::uint8_t>());
  if (header.version == 5) {
    header.first_file = 0;
    header.directories = read_entries(r, wide, strings, nullptr);
    header.files = read_entries(r, wide, strings, &header.directories);
  } else {
    read_lists(r, header);
  }
  if (r.position() - begin > length) broken(".debug_line: a header longer than it says");
  r.go_to(begin);
  r.part(length);
  return header;
}

}  // namespace rapt::sim
