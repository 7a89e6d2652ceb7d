// AMD kernels: the metadata note of their ELF files, and the rules for their resources.

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/siblings.hpp"
#include "packer/compiled.hpp"
#include "packer/elf.hpp"
#include "packer/occupancy.hpp"

namespace rapt::archive {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA, a msgpack document
constexpr uint16_t kAmdgpu = 224;       // EM_AMDGPU

// The metadata note of AMDGPU, a msgpack document.
class AmdElf : public Elf {
 public:
  AmdElf(const std::string& name, std::span<const std::byte> bytes) : Elf(name, bytes) {}

  json metadata() const {
    const Elf64_Ehdr header = this->header(kAmdgpu, "AMDGPU");
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
      if (end > notes.size()) fail("a note extends beyond the end of its segment");
      if (note.n_type == kMetadataNote) {
        const auto* data = reinterpret_cast<const uint8_t*>(notes.data());
        return json::from_msgpack(data + begin, data + end);
      }
      notes = notes.subspan(std::min<uint64_t>(padded(end), notes.size()));
    }
    return std::nullopt;
  }
};

class AmdKernel final : public Compiled {
 public:
  AmdKernel(const std::string& target, const json& kernel, int given);
  std::vector<std::string> violations(const Row& row, const Architecture& arch) const override;
  ordered_json block(const Row& row, const Architecture& arch) const override;

 private:
  Occupancy occupancy_of(const Row& row, const Architecture& arch) const {
    return occupancy(arch, resources.registers, sgprs_, resources.shared_memory, row.waves);
  }

  // Waves per SIMD on each GPU that runs this code object too.
  std::vector<std::pair<std::string, int>> occupancies_of_siblings(const Row& row, const Architecture& arch) const;

  int agprs_, sgprs_, vgpr_spills_, sgpr_spills_, scratch_;
  bool dynamic_stack_;
  std::vector<std::string> hidden_;  // the kinds of its hidden arguments
};

AmdKernel::AmdKernel(const std::string& target, const json& kernel, int given)
    : agprs_(kernel.value(".agpr_count", 0)),
      sgprs_(kernel.at(".sgpr_count")),
      vgpr_spills_(kernel.at(".vgpr_spill_count")),
      sgpr_spills_(kernel.at(".sgpr_spill_count")),
      scratch_(kernel.at(".private_segment_fixed_size")),
      dynamic_stack_(kernel.value(".uses_dynamic_stack", false)) {
  const std::string processor = target.substr(0, target.find(':'));  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  resources.target = processor.substr(processor.rfind('-') + 1);
  resources.name = kernel.at(".name");
  resources.lanes = kernel.at(".wavefront_size");
  resources.max_threads = kernel.at(".max_flat_workgroup_size");
  resources.registers = kernel.at(".vgpr_count");
  resources.shared_memory = kernel.at(".group_segment_fixed_size").get<int>() + given;
  resources.spills = vgpr_spills_ + sgpr_spills_;
  resources.argument_size = kernel.at(".kernarg_segment_size");
  for (const json& argument : kernel.value(".args", json::array())) {
    const std::string kind = argument.at(".value_kind");
    if (kind.starts_with("hidden_")) hidden_.push_back(kind);
  }
}

std::vector<std::string> AmdKernel::violations(const Row& row, const Architecture& arch) const {
  std::vector<std::string> found;
  const auto number = [](int value) { return std::to_string(value); };
  const auto none = [&](const char* what, int value) {
    if (value != 0) found.push_back(what + (" is " + number(value)) + ", allowed is 0");
  };
  none("spilled VGPRs", vgpr_spills_);
  if (row.by_triton()) at_most(found, "spilled SGPRs", sgpr_spills_, row.budget.sgpr_spills);
  else none("spilled SGPRs", sgpr_spills_);
  none("scratch bytes per lane", scratch_);
  if (dynamic_stack_) found.emplace_back("it needs a stack of unknown size");
  if (!hidden_.empty())
    found.push_back("hidden arguments are " + number(static_cast<int>(hidden_.size())) + " (" + hidden_[0] +
                    ", ...), allowed is 0");
  at_most(found, "vgprs", resources.registers, row.budget.registers);
  at_most(found, "agprs", agprs_, row.budget.agprs);
  at_most(found, "sgprs", sgprs_, row.budget.sgprs);
  at_most(found, "lds", resources.shared_memory, row.budget.lds);
  const Occupancy o = occupancy_of(row, arch);
  if (o.waves < row.budget.occupancy)
    found.push_back("occupancy is " + number(o.waves) + " waves per SIMD, the row requires at least " +
                    number(row.budget.occupancy) + " (registers allow " + number(o.by_registers) +
                    " waves per SIMD, LDS " + (o.by_lds == INT_MAX ? "any number" : number(o.by_lds)) +
                    " workgroups of " + number(row.waves) + " waves)");
  for (const auto& [name, waves] : occupancies_of_siblings(row, arch))
    if (waves == 0)
      found.push_back("no workgroup fits on a unit of " + name + ", which runs the code of " + std::string(arch.name));
  return found;
}

ordered_json AmdKernel::block(const Row& row, const Architecture& arch) const {
  const int own = occupancy_of(row, arch).waves;
  ordered_json block = {{"agprs", agprs_}, {"sgprs", sgprs_}, {"occupancy", own}};
  for (const auto& [name, waves] : occupancies_of_siblings(row, arch))
    if (waves != own) block["siblings"][name] = waves;
  return block;
}

std::vector<std::pair<std::string, int>> AmdKernel::occupancies_of_siblings(const Row& row,
                                                                            const Architecture& arch) const {
  std::vector<std::pair<std::string, int>> found;
  for (const Architecture& sibling : architectures::kSiblingTable)
    if (code_of(sibling.name) == arch.name) found.emplace_back(sibling.name, occupancy_of(row, sibling).waves);
  return found;
}

}  // namespace

std::unique_ptr<Compiled> read_amd(const std::string& name, std::span<const std::byte> bytes, int given) {
  const AmdElf elf(name, bytes);
  try {
    const json all = elf.metadata();
    const json& kernels = all.at("amdhsa.kernels");
    if (kernels.size() != 1) elf.fail("has " + std::to_string(kernels.size()) + " kernels, must have one");
    return std::make_unique<AmdKernel>(all.at("amdhsa.target"), kernels.at(0), given);
  } catch (const json::exception& e) {
    elf.fail(std::string("its metadata cannot be read: ") + e.what());
  }
}

}  // namespace rapt::archive
