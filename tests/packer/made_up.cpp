#include "made_up.hpp"

#include <elf.h>

#include <cstring>
#include <random>

#include "packer/pack.hpp"
#include "kernels/abi.h"

namespace rapt::archive {

using nlohmann::json;

json good_metadata(const Row& row) {
  const json kernel = {{".name", row.symbol()},
                       {".vgpr_count", 120},
                       {".agpr_count", 16},
                       {".sgpr_count", 40},
                       {".vgpr_spill_count", 0},
                       {".sgpr_spill_count", 0},
                       {".private_segment_fixed_size", 0},
                       {".group_segment_fixed_size", 16384},
                       {".kernarg_segment_size", sizeof(rapt_forward_args)},
                       {".max_flat_workgroup_size", row.waves * 64},
                       {".wavefront_size", 64},
                       {".uses_dynamic_stack", false},
                       {".args", {{{".value_kind", "by_value"}, {".offset", 0}}}}};
  return {{"amdhsa.target", "amdgcn-amd-amdhsa--gfx942:xnack-"}, {"amdhsa.kernels", {kernel}}};
}

std::vector<std::byte> code_object(const json& metadata, size_t size) {
  const std::vector<uint8_t> document = json::to_msgpack(metadata);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 224;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  const Elf64_Nhdr note{7, static_cast<uint32_t>(document.size()), 32};
  constexpr char owner[8] = "AMDGPU";
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = sizeof note + sizeof owner + document.size();

  std::vector<std::byte> file;
  const auto put = [&](const void* data, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    file.insert(file.end(), begin, begin + bytes);
  };
  put(&header, sizeof header);
  put(&segment, sizeof segment);
  put(&note, sizeof note);
  put(owner, sizeof owner);
  put(document.data(), document.size());
  std::mt19937 random(static_cast<unsigned>(size));
  for (size_t i = 0; i < size; ++i) file.push_back(static_cast<std::byte>(random() & 255));
  return file;
}

std::vector<Row> good_rows() {
  return read_manifest(
      "manifest",
      "forward gfx942 dtype=bf16 head_dim=64 features=plain block_k=64 waves=4 waves_per_eu=2"
      " vgprs<=128 lds<=16384 occupancy>=4 p=nearest\n"
      "forward gfx942 dtype=fp16 head_dim=128 features=general block_k=32 waves=8 waves_per_eu=2 head_slices=2"
      " vgprs<=128 lds<=16384 occupancy>=4 p=truncated\n");
}

std::string good_archive() {
  Contents contents{"gfx942", "a compiler", "# tuning\n", {}};
  for (const Row& row : good_rows())
    contents.objects.push_back({row.name(), code_object(good_metadata(row), 1000 + static_cast<size_t>(row.head_dim))});
  return pack("manifest", good_rows(), contents);
}

}  // namespace rapt::archive
