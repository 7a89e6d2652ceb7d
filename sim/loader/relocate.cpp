// The dynamic section of a code object: its symbols and relocations (AMDGPUUsage, "Relocation Records").
#include "sim/loader/image.hpp"

#include <algorithm>

namespace rapt::sim {

namespace {

constexpr std::size_t longest_name = 1U << 16;

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

void Image::read_dynamic(const Elf64_Phdr& dynamic) {
  const auto bytes = memory();
  std::uint64_t rela = 0, rela_size = 0, plt = 0, plt_size = 0, hash = 0, gnu_hash = 0, names = 0, names_size = 0;
  std::uint64_t symbols = 0;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_memsz; at += sizeof(Elf64_Dyn)) {
    const auto entry = bytes.at<Elf64_Dyn>(dynamic.p_vaddr + at);
    if (entry.d_tag == DT_NULL) break;
    switch (entry.d_tag) {
      case DT_PLTRELSZ: plt_size = entry.d_un.d_val; break;
      case DT_HASH: hash = entry.d_un.d_val; break;
      case DT_STRTAB: names = entry.d_un.d_val; break;
      case DT_SYMTAB: symbols = entry.d_un.d_val; break;
      case DT_RELA: rela = entry.d_un.d_val; break;
      case DT_RELASZ: rela_size = entry.d_un.d_val; break;
      case DT_STRSZ: names_size = entry.d_un.d_val; break;
      case DT_JMPREL: plt = entry.d_un.d_val; break;
      case DT_GNU_HASH: gnu_hash = entry.d_un.d_val; break;
      case DT_RELAENT:
        if (entry.d_un.d_val != sizeof(Elf64_Rela)) broken("relocations of a wrong size");
        break;
      case DT_SYMENT:
        if (entry.d_un.d_val != sizeof(Elf64_Sym)) broken("dynamic symbols of a wrong size");
        break;
      case DT_REL: broken("relocations without addends, which AMD GPU objects do not have");
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
  const Bytes records(bytes.part(table, count * sizeof(Elf64_Sym)), "dynamic symbols");
  const Bytes text(bytes.part(names, names_size), "dynamic symbol names");
  for (std::uint64_t i = 0; i < count; i++) {
    const auto record = records.at<Elf64_Sym>(i * sizeof(Elf64_Sym));
    DynamicSymbol symbol{text.text(record.st_name)};
    if (symbol.name.size() > longest_name) broken("a symbol's name is too long");
    symbol.defined = record.st_shndx != SHN_UNDEF && record.st_shndx < SHN_LORESERVE;
    symbol.object = ELF64_ST_TYPE(record.st_info) == STT_OBJECT;
    symbol.weak = ELF64_ST_BIND(record.st_info) == STB_WEAK;
    symbol.size = record.st_size;
    if (symbol.defined) symbol.address = base() + record.st_value;
    if (symbol.defined && !holds(symbol.address, symbol.size))
      broken("symbol " + std::string(symbol.name) + " at " + hex(record.st_value) + " is outside the segments");
    symbols_.push_back(std::move(symbol));
  }
}

void Image::relocate(std::uint64_t table, std::uint64_t size) {
  if (size == 0) return;
  if (size > file_size_) broken("more relocations than the file has bytes");
  if (size % sizeof(Elf64_Rela) != 0) broken("half a relocation");
  // Copied first: relocations may change the data that they are stored in.
  const auto part = memory().part(table, size);
  const std::vector<std::byte> copy(part.begin(), part.end());
  const Bytes records(copy, "relocations");
  for (std::uint64_t at = 0; at < size; at += sizeof(Elf64_Rela)) apply(records.at<Elf64_Rela>(at));
}

void Image::apply(const Elf64_Rela& relocation) {
  if (ELF64_R_TYPE(relocation.r_info) == none) return;
  std::uint64_t symbol = 0;
  if (ELF64_R_SYM(relocation.r_info) != 0) {
    if (ELF64_R_SYM(relocation.r_info) >= symbols_.size()) broken("relocation of a symbol that is not there");
    const auto& target = symbols_[ELF64_R_SYM(relocation.r_info)];
    if (!target.defined && !target.weak) broken("undefined symbol " + std::string(target.name));
    symbol = target.address;
  }
  const std::uint64_t place = base() + relocation.r_offset;
  const std::uint64_t absolute = symbol + static_cast<std::uint64_t>(relocation.r_addend);
  const std::uint64_t relative = absolute - place;

  const auto store = [&](std::uint64_t value, unsigned bytes) {
    if (!holds(place, bytes)) broken("relocation at " + hex(relocation.r_offset) + " is outside the segments");
    std::memcpy(base_ + relocation.r_offset, &value, bytes);
  };
  switch (ELF64_R_TYPE(relocation.r_info)) {
    case abs32_lo:
    case abs32: store(absolute, 4); break;
    case abs32_hi: store(absolute >> 32, 4); break;
    case abs64: store(absolute, 8); break;
    case rel32: {
      const auto distance = static_cast<std::int64_t>(relative);
      if (distance != static_cast<std::int32_t>(distance))
        broken("32-bit relative relocation at " + hex(relocation.r_offset) + " does not reach its target");
      store(relative, 4);
      break;
    }
    case rel32_lo: store(relative, 4); break;
    case rel32_hi: store(relative >> 32, 4); break;
    case rel64: store(relative, 8); break;
    case relative64: store(base() + static_cast<std::uint64_t>(relocation.r_addend), 8); break;
    default:
      broken("relocation of type " + std::to_string(ELF64_R_TYPE(relocation.r_info)) + " at " +
             hex(relocation.r_offset) + " is not known, or not one for the loader");
  }
}

}  // namespace rapt::sim
