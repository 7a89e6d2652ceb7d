#include "archive/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "archive/manifest.hpp"

namespace rapt::archive {

namespace {

using nlohmann::json;

constexpr uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA, a msgpack document
constexpr uint16_t kAmdgpu = 224;       // EM_AMDGPU

class Elf {
 public:
  Elf(const std::string& name, std::span<const std::byte> bytes) : name_(name), bytes_(bytes) {}

  [[noreturn]] void fail(const std::string& what) const { throw Error(name_ + ": " + what); }

  std::span<const std::byte> part(uint64_t offset, uint64_t size, const char* what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      fail(std::string(what) + " lies beyond the end of the code object");
    return bytes_.subspan(offset, size);
  }

  template <class T>
  T read(uint64_t offset, const char* what) const {
    T value;
    std::memcpy(&value, part(offset, sizeof value, what).data(), sizeof value);
    return value;
  }

  json metadata() const {
    const auto header = read<Elf64_Ehdr>(0, "the ELF header");
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      fail("not a 64-bit ELF file");
    if (header.e_machine != kAmdgpu) fail("an ELF file, but not of AMDGPU");
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto segment = read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr), "a program header");
      if (segment.p_type != PT_NOTE) continue;
      if (const auto found = metadata_of(part(segment.p_offset, segment.p_filesz, "a note segment"))) return *found;
    }
    fail("has no AMDGPU metadata");
  }

 private:
  std::optional<json> metadata_of(std::span<const std::byte> notes) const {
    while (notes.size() >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data(), sizeof note);
      const auto padded = [](uint64_t size) { return (size + 3) / 4 * 4; };
      const uint64_t begin = sizeof note + padded(note.n_namesz), end = begin + note.n_descsz;
      if (end > notes.size()) fail("a note lies beyond the end of its segment");
      if (note.n_type == kMetadataNote) {
        const auto* data = reinterpret_cast<const uint8_t*>(notes.data());
        return json::from_msgpack(data + begin, data + end);
      }
      notes = notes.subspan(std::min<uint64_t>(padded(end), notes.size()));
    }
    return std::nullopt;
  }

  const std::string& name_;
  std::span<const std::byte> bytes_;
};

}  // namespace

KernelMetadata read_metadata(const std::string& name, std::span<const std::byte> bytes) {
  const Elf elf(name, bytes);
  try {
    const json all = elf.metadata();
    const json& kernels = all.at("amdhsa.kernels");
    if (kernels.size() != 1) elf.fail("has " + std::to_string(kernels.size()) + " kernels, must have one");
    const json& kernel = kernels.at(0);
    std::string target = all.at("amdhsa.target");  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
    target.resize(std::min(target.find(':'), target.size()));
    KernelMetadata m;
    m.target = target.substr(target.rfind('-') + 1);
    m.name = kernel.at(".name");
    m.vgprs = kernel.at(".vgpr_count");
    m.agprs = kernel.value(".agpr_count", 0);
    m.sgprs = kernel.at(".sgpr_count");
    m.vgpr_spills = kernel.at(".vgpr_spill_count");
    m.sgpr_spills = kernel.at(".sgpr_spill_count");
    m.scratch = kernel.at(".private_segment_fixed_size");
    m.lds = kernel.at(".group_segment_fixed_size");
    m.kernarg_size = kernel.at(".kernarg_segment_size");
    m.max_threads = kernel.at(".max_flat_workgroup_size");
    m.wave = kernel.at(".wavefront_size");
    m.dynamic_stack = kernel.value(".uses_dynamic_stack", false);
    for (const json& argument : kernel.value(".args", json::array())) {
      const std::string kind = argument.at(".value_kind");
      if (kind.starts_with("hidden_")) m.hidden.push_back(kind);
    }
    return m;
  } catch (const json::exception& e) {
    elf.fail(std::string("its metadata cannot be read: ") + e.what());
  }
}

}  // namespace rapt::archive
