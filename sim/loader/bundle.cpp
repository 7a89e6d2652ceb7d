#include "sim/loader/bundle.hpp"

#include "sim/loader/target.hpp"

#include <algorithm>

namespace rapt::sim {

namespace {

constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view triple = "amdgcn-amd-amdhsa-";

// The target of "hip-amdgcn-amd-amdhsa-gfx908" and "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+"; empty for the host's
// entry.
std::string_view target_of(std::string_view id) {
  const auto found = id.find(triple);
  if (found == std::string_view::npos) return {};
  id.remove_prefix(found + triple.size());
  if (!id.empty() && id.front() == '-') id.remove_prefix(1);
  return id;
}

std::span<const std::byte> select_entry(std::span<const std::byte> bytes, Arch arch) {
  std::span<const std::byte> best;
  int best_fitness = 0;
  std::string there;
  for (const auto& entry : read_bundle(bytes)) {
    const auto target = parse_target(target_of(entry.id));
    if (!target || target->processor.empty() || entry.size == 0) continue;
    there += (there.empty() ? "" : ", ") + to_string(*target);
    const int fits = fitness(*target, arch);
    if (fits <= best_fitness) continue;
    best_fitness = fits;
    best = bytes.subspan(entry.offset, entry.size);
  }
  if (best_fitness == 0)
    throw LoadError(LoadError::Kind::wrong_arch, "no code object for " + std::string(name(arch)) +
                                                     " in the bundle, which has " +
                                                     (there.empty() ? "none for AMD GPUs" : there));
  return best;
}

}  // namespace

bool is_bundle(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::vector<BundleEntry> read_bundle(std::span<const std::byte> all) {
  const Bytes bytes(all, "offload bundle");
  std::uint64_t at = magic.size();
  const auto count = bytes.at<std::uint64_t>(at);
  at += 8;
  std::vector<BundleEntry> entries;
  for (std::uint64_t i = 0; i < count; i++) {
    const auto offset = bytes.at<std::uint64_t>(at), size = bytes.at<std::uint64_t>(at + 8);
    const auto id_size = bytes.at<std::uint64_t>(at + 16);
    const auto id = bytes.part(at + 24, id_size);
    bytes.part(offset, size);
    entries.push_back({{reinterpret_cast<const char*>(id.data()), id.size()}, offset, size});
    at += 24 + id_size;
  }
  return entries;
}

std::span<const std::byte> select_code_object(std::span<const std::byte> bytes, Arch arch,
                                              std::vector<std::byte>& storage) {
  if (elf::is_elf(bytes)) return bytes;
  if (is_bundle(bytes)) return select_entry(bytes, arch);
  if (!is_compressed(bytes)) broken("neither an ELF file nor an offload bundle");
  storage = decompress_bundle(bytes);
  if (!is_bundle(storage)) broken("the compressed bundle holds something else");
  return select_entry(storage, arch);
}

namespace {

std::size_t elf_size(const std::byte* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  std::uint64_t end = sizeof(header);
  const auto extend = [&](std::uint64_t offset, std::uint64_t size) {
    if (size <= ~offset) end = std::max(end, offset + size);
  };
  extend(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  extend(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image + header.e_phoff + i * sizeof(segment), sizeof(segment));
    extend(segment.p_offset, segment.p_filesz);
  }
  for (unsigned i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NOBITS) extend(section.sh_offset, section.sh_size);
  }
  return end;
}

std::size_t bundle_size(const std::byte* image) {
  const auto word = [&](std::uint64_t at) {
    std::uint64_t value;
    std::memcpy(&value, image + at, sizeof(value));
    return value;
  };
  const std::uint64_t count = word(magic.size());
  std::uint64_t at = magic.size() + 8, end = at;
  // An id of a megabyte is not an id.
  for (std::uint64_t i = 0; i < count && i < 4096; i++) {
    if (word(at + 16) > 1U << 20) broken("offload bundle: an entry's name is too long");
    end = std::max({end, word(at) + word(at + 8), at + 24 + word(at + 16)});
    at += 24 + word(at + 16);
  }
  return end;
}

}  // namespace

std::size_t image_size(const void* image) {
  const auto* bytes = static_cast<const std::byte*>(image);
  // All three have at least 24 bytes; at first only the bytes of the magic are read.
  if (elf::is_elf({bytes, 4})) return elf_size(bytes);
  if (std::memcmp(bytes, "CCOB", 4) == 0) return compressed_size(bytes);
  if (std::memcmp(bytes, magic.data(), 4) == 0 && is_bundle({bytes, magic.size()})) return bundle_size(bytes);
  broken("neither an ELF file nor an offload bundle");
}

}  // namespace rapt::sim
