// The dynamic section of a code object: its symbols and relocations (AMDGPUUsage, "Relocation Records").
#include "sim/loader/image.hpp"

#include <algorithm>

namespace rapt::sim {

namespace {

struct DynamicEntry {
  std::int64_t tag;
  std::uint64_t value;
};

constexpr std::size_t longest_name = 1U << 16;

enum Tag : std::int64_t {
  tag_null = 0,
  tag_plt_size = 2,
  tag_hash = 4,
  tag_names = 5,
  tag_symbols = 6,
  tag_rela = 7,
  tag_rela_size = 8,
  tag_rela_entry = 9,
  tag_names_size = 10,
  tag_symbol_entry = 11,
  tag_rel = 17,
  tag_plt = 23,
  tag_gnu_hash = 0x6ffffef5,
};

enum RelocationType : std::uint32_t {
  none = 0,
  abs32_lo = 1,
  abs32_hi = 2,
  abs64 = 3,
  rel32 = 4,
  rel64 = 5,
  abs32 = 6,
  rel32_lo = 10,
  rel32_hi = 11,
  relative64 = 13,
};

}  // namespace

void Image::read_dynamic(const elf::Segment& dynamic) {
  const auto bytes = memory();
  std::uint64_t rela = 0, rela_size = 0, plt = 0, plt_size = 0, hash = 0, gnu_hash = 0, names = 0, names_size = 0;
  std::uint64_t symbols = 0;
  for (std::uint64_t at = 0; at + sizeof(DynamicEntry) <= dynamic.memory_size; at += sizeof(DynamicEntry)) {
    const auto entry = bytes.at<DynamicEntry>(dynamic.address + at);
    if (entry.tag == tag_null) break;
    switch (entry.tag) {
      case tag_plt_size: plt_size = entry.value; break;
      case tag_hash: hash = entry.value; break;
      case tag_names: names = entry.value; break;
      case tag_symbols: symbols = entry.value; break;
      case tag_rela: rela = entry.value; break;
      case tag_rela_size: rela_size = entry.value; break;
      case tag_names_size: names_size = entry.value; break;
      case tag_plt: plt = entry.value; break;
      case tag_gnu_hash: gnu_hash = entry.value; break;
      case tag_rela_entry:
        if (entry.value != sizeof(elf::Relocation)) broken("relocations of a wrong size");
        break;
      case tag_symbol_entry:
        if (entry.value != sizeof(elf::Symbol)) broken("dynamic symbols of a wrong size");
        break;
      case tag_rel: broken("relocations without addends, which AMD GPU objects do not have");
      default: break;
    }
  }
  if (symbols != 0) read_symbols(symbols, symbol_count(hash, gnu_hash), names, names_size);
  relocate(rela, rela_size);
  relocate(plt, plt_size);
}

// The dynamic section does not say how many symbols there are; the hash tables do.
std::uint64_t Image::symbol_count(std::uint64_t hash, std::uint64_t gnu_hash) const {
  const auto bytes = memory();
  if (hash != 0) return bytes.at<std::uint32_t>(hash + 4);
  if (gnu_hash == 0) broken("dynamic symbols without a hash table");
  const auto buckets = bytes.at<std::uint32_t>(gnu_hash), first = bytes.at<std::uint32_t>(gnu_hash + 4);
  const auto words = bytes.at<std::uint32_t>(gnu_hash + 8);
  const std::uint64_t table = gnu_hash + 16 + std::uint64_t{words} * 8, chains = table + std::uint64_t{buckets} * 4;
  if (buckets > file_size_) broken("dynamic symbols: a hash table larger than the file");
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < buckets; i++)
    last = std::max<std::uint64_t>(last, bytes.at<std::uint32_t>(table + std::uint64_t{i} * 4));
  if (last < first) return first;
  while ((bytes.at<std::uint32_t>(chains + (last - first) * 4) & 1) == 0)
    if (++last > file_size_) broken("dynamic symbols: a hash chain without end");
  return last + 1;
}

void Image::read_symbols(std::uint64_t table, std::uint64_t count, std::uint64_t names, std::uint64_t names_size) {
  const auto bytes = memory();
  if (count > file_size_) broken("more dynamic symbols than the file has bytes");
  const Bytes records(bytes.part(table, count * sizeof(elf::Symbol)), "dynamic symbols");
  const Bytes text(bytes.part(names, names_size), "dynamic symbol names");
  for (std::uint64_t i = 0; i < count; i++) {
    const auto record = records.at<elf::Symbol>(i * sizeof(elf::Symbol));
    DynamicSymbol symbol{text.text(record.name)};
    if (symbol.name.size() > longest_name) broken("a symbol's name is too long");
    symbol.defined = record.section != elf::section_undefined && record.section < elf::section_reserved;
    symbol.object = record.type() == elf::symbol_object;
    symbol.weak = record.binding() == elf::binding_weak;
    symbol.size = record.size;
    if (symbol.defined) symbol.address = base() + record.value;
    if (symbol.defined && !holds(symbol.address, symbol.size))
      broken("symbol " + std::string(symbol.name) + " at " + hex(record.value) + " lies outside the segments");
    symbols_.push_back(std::move(symbol));
  }
}

void Image::relocate(std::uint64_t table, std::uint64_t size) {
  if (size == 0) return;
  if (size > file_size_) broken("more relocations than the file has bytes");
  if (size % sizeof(elf::Relocation) != 0) broken("half a relocation");
  // Copied first: a relocation may lie in what relocations change.
  const auto part = memory().part(table, size);
  const std::vector<std::byte> copy(part.begin(), part.end());
  const Bytes records(copy, "relocations");
  for (std::uint64_t at = 0; at < size; at += sizeof(elf::Relocation)) apply(records.at<elf::Relocation>(at));
}

void Image::apply(const elf::Relocation& relocation) {
  if (relocation.type() == none) return;
  std::uint64_t symbol = 0;
  if (relocation.symbol() != 0) {
    if (relocation.symbol() >= symbols_.size()) broken("relocation of a symbol that is not there");
    const auto& target = symbols_[relocation.symbol()];
    if (!target.defined && !target.weak) broken("undefined symbol " + std::string(target.name));
    symbol = target.address;
  }
  const std::uint64_t place = base() + relocation.offset;
  const std::uint64_t absolute = symbol + static_cast<std::uint64_t>(relocation.addend);
  const std::uint64_t relative = absolute - place;

  const auto store = [&](std::uint64_t value, unsigned bytes) {
    if (!holds(place, bytes)) broken("relocation at " + hex(relocation.offset) + " lies outside the segments");
    std::memcpy(base_ + relocation.offset, &value, bytes);
  };
  switch (relocation.type()) {
    case abs32_lo:
    case abs32: store(absolute, 4); break;
    case abs32_hi: store(absolute >> 32, 4); break;
    case abs64: store(absolute, 8); break;
    case rel32: {
      const auto distance = static_cast<std::int64_t>(relative);
      if (distance != static_cast<std::int32_t>(distance))
        broken("32-bit relative relocation at " + hex(relocation.offset) + " does not reach its target");
      store(relative, 4);
      break;
    }
    case rel32_lo: store(relative, 4); break;
    case rel32_hi: store(relative >> 32, 4); break;
    case rel64: store(relative, 8); break;
    case relative64: store(base() + static_cast<std::uint64_t>(relocation.addend), 8); break;
    default:
      broken("relocation of type " + std::to_string(relocation.type()) + " at " + hex(relocation.offset) +
             " is not known, or not one for the loader");
  }
}

}  // namespace rapt::sim
